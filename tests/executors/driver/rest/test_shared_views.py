"""However many pages ask, a view is made once in a while, and what is said is never old."""

from __future__ import annotations

import dataclasses
import gc
import threading
import weakref

import pytest
from tests.executors.driver.reports import views
from tests.executors.driver.rest.client import ShownJob, served

from penstock.common.job_status import JobStatus
from penstock.executors.driver.reports.job_view import JobView
from penstock.executors.driver.rest.exchange import Request
from penstock.executors.driver.rest.shared_views import SharedViews

PATH = f"/jobs/{views.JOB_ID}/view"


class CountedJob(ShownJob):
    """A job that runs: each view of it is another."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def view(self) -> JobView:
        self.asked += 1
        return dataclasses.replace(self.shown, records_in=self.asked)


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_all_who_ask_within_half_a_second_share_one_view() -> None:
    clock, job = Clock(), CountedJob()
    shared = SharedViews(clock)

    first = shared.answer(job, Request("GET", PATH))
    clock.now += 0.49
    assert shared.answer(job, Request("GET", PATH)).body is first.body
    assert job.asked == 1
    clock.now += 0.01
    assert shared.answer(job, Request("GET", PATH)).body != first.body
    assert job.asked == 2


@pytest.mark.parametrize("asks_for_json", [True, False])
def test_the_longer_a_view_takes_the_longer_it_is_shown(asks_for_json: bool) -> None:
    clock, job, spent = Clock(), CountedJob(), Clock()
    shared = SharedViews(clock, spent)

    def view() -> JobView:
        spent.now += 0.05
        return CountedJob.view(job)

    job.view = view  # type: ignore[method-assign]

    def ask() -> None:
        if asks_for_json:
            shared.answer(job, Request("GET", PATH))
        else:
            shared.view(job)

    for _ in range(1_000):  # a hundred seconds
        ask()
        clock.now += 0.1
    assert job.asked * 0.05 / 100 == pytest.approx(0.005)


def test_a_page_of_metrics_takes_a_hundredth_of_the_time() -> None:
    clock, spent, made = Clock(), Clock(), []
    shared = SharedViews(clock, spent)

    def page() -> bytes:
        spent.now += 0.1
        made.append(clock.now)
        return b"%d" % len(made)

    found = set()
    for _ in range(100):
        found.add(shared.metrics(page))
        clock.now += 5
    assert len(found) == len(made) == 50
    shared.forget()
    assert shared.metrics(page) == b"51"


def test_that_a_job_begins_and_ends_is_seen_at_once() -> None:
    job, shared = CountedJob(), SharedViews(Clock())
    assert shared.view(job).status is JobStatus.RUNNING
    job.cancel()
    assert shared.view(job).status is JobStatus.CANCELED


def test_who_steers_is_shown_the_job_as_it_is_then() -> None:
    job = CountedJob()
    with served(job) as client:
        client(PATH)
        client(PATH)
        asked = job.asked
        job.shown = dataclasses.replace(job.shown, phase="stopping")
        job.may_write.clear()
        client(f"/jobs/{views.JOB_ID}/savepoints", "POST", {"target-directory": "there"})
        assert client(PATH).body["phase"] == "stopping"
        job.may_write.set()
    assert asked == 1


def test_routes_of_flink_share_it_too() -> None:
    job = CountedJob()
    with served(job) as client:
        for path in ("", "/checkpoints", "/view", "/config", "/plan"):
            assert client(f"/jobs/{views.JOB_ID}{path}").status == 200
        client("/jobs/overview")
        client("/metrics")
    assert job.asked == 1


def test_those_who_ask_while_it_is_made_wait_for_it() -> None:
    clock, job = Clock(), CountedJob()
    begun, may_end = threading.Event(), threading.Event()

    def view() -> JobView:
        begun.set()
        assert may_end.wait(30)
        return CountedJob.view(job)

    job.view = view  # type: ignore[method-assign]
    shared = SharedViews(clock)
    found: list[bytes] = []
    asking = [
        threading.Thread(target=lambda: found.append(shared.answer(job, Request("GET", PATH)).body))
        for _ in range(5)
    ]
    for thread in asking:
        thread.start()
    assert begun.wait(30)
    # Nobody waits for another job's.
    assert shared.answer(ShownJob(), Request("GET", PATH)).status == 200
    may_end.set()
    for thread in asking:
        thread.join(30)

    assert job.asked == 1
    assert len(found) == 5
    assert len(set(found)) == 1


def test_what_is_known_already_is_not_sent_again() -> None:
    clock, job = Clock(), CountedJob()
    shared = SharedViews(clock)
    tag = shared.answer(job, Request("GET", PATH)).headers["ETag"]
    known = Request("GET", PATH, headers={"if-none-match": tag})

    again = shared.answer(job, known)
    assert (again.status, again.body) == (304, b"")
    clock.now += 1
    assert shared.answer(job, known).status == 200


def test_a_job_that_has_ended_is_encoded_once() -> None:
    clock, job = Clock(), ShownJob()
    shared = SharedViews(clock)
    first = shared.answer(job, Request("GET", PATH))
    clock.now += 60
    assert shared.answer(job, Request("GET", PATH)).body is first.body


def test_nothing_is_kept_of_a_job_that_is_forgotten() -> None:
    shared, job = SharedViews(), ShownJob()
    shared.answer(job, Request("GET", PATH))
    gone = weakref.ref(job)
    del job
    gc.collect()
    assert gone() is None


def test_the_head_of_a_view_and_its_tag_go_through_the_server() -> None:
    with served(ShownJob()) as client:
        full = client(PATH)
        head = client(PATH, "HEAD")
        known = client(PATH, headers={"If-None-Match": full.headers["etag"]})

    assert (head.status, head.body) == (200, "")
    assert head.headers["content-length"] == full.headers["content-length"]
    assert (known.status, known.body) == (304, "")
