"""Jobs are followed by one thread, from their start to their end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import pytest
from tests.executors.driver.reports.views import view

from penstock.common.configuration import Configuration
from penstock.common.job_status import JobStatus
from penstock.executors.driver.progress.progress import Followers
from penstock.executors.driver.reports.job_view import JobView

SECONDS = 30
"""How long a test waits for what comes at once, if all is well."""


class Heard:
    """Where jobs are shown: tells what is.

    Args:
        seconds: After how many seconds a job is shown anew.
    """

    def __init__(self, seconds: float = 0.001) -> None:
        self.seconds = seconds
        self.shown: list[tuple[str, bool]] = []
        self.left: list[str | None] = []
        self.thread: threading.Thread | None = None
        self.was_shown = threading.Semaphore(0)

    def show(self, view: Callable[[], JobView], *, is_awaited: bool) -> None:
        self.thread = threading.current_thread()
        self.shown.append((view().name, is_awaited))
        self.was_shown.release()

    def leave(self, text: str | None) -> bool:
        self.left.append(text)
        return text is not None

    def wait_until_shown(self) -> None:
        for _ in range(2):  # the first may have been under way
            assert self.was_shown.acquire(timeout=SECONDS)


class Fares:
    """A job that is followed."""

    def __init__(self, view: Callable[[], JobView] = view) -> None:
        self.view = view
        self.has_ended = False


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> list[Heard]:
    """Where the jobs that a test follows are shown, the first at the end."""
    found: list[Heard] = []
    module = "penstock.executors.driver.progress.progress"
    monkeypatch.setattr(f"{module}.place_for", lambda _: found.pop())
    return found


def test_a_job_is_shown_until_it_has_ended(places: list[Heard]) -> None:
    places.append(heard := Heard())
    job = Followers().follow(Fares(), Configuration())
    heard.wait_until_shown()
    assert heard.shown[-1] == ("fares", False)
    with job.awaited():
        heard.was_shown = threading.Semaphore(0)
        heard.wait_until_shown()
        assert heard.shown[-1] == ("fares", True)
    job.end()
    assert heard.thread is not None
    heard.thread.join(SECONDS)
    assert not heard.thread.is_alive()
    assert heard.left == ["fares: ended after 1 min · 30 records · 2 epochs · " + REST]


REST = (
    "2 dropped as late at 'Sum' · 1 restart · 80 B of state · "
    "checkpoint: epoch 3 in file:/checkpoints/fares, where the next start goes on"
)


def test_of_a_job_that_did_not_start_nothing_is_said(places: list[Heard]) -> None:
    places.append(heard := Heard(SECONDS))
    Followers().follow(Fares(), Configuration()).end(has_started=False)
    assert (heard.shown, heard.left) == ([], [None])


def test_a_second_end_is_none(places: list[Heard]) -> None:
    places.append(heard := Heard(SECONDS))
    job = Followers().follow(Fares(lambda: view(status=JobStatus.FINISHED)), Configuration())
    job.end()
    job.end(has_started=False)
    (text,) = heard.left
    assert text is not None
    assert text.startswith("fares: finished after 1 min")


def test_a_job_is_followed_no_longer_than_it_runs_though_nobody_says_that_it_has_ended(
    places: list[Heard],
) -> None:
    places.append(heard := Heard())
    job = Fares()
    followed = Followers().follow(job, Configuration())
    heard.wait_until_shown()
    job.view = lambda: view(status=JobStatus.FINISHED)
    job.has_ended = True
    assert heard.thread is not None
    heard.thread.join(SECONDS)
    assert not heard.thread.is_alive()
    followed.end()
    (text,) = heard.left
    assert text is not None
    assert text.startswith("fares: finished after 1 min")
    assert followed.is_told


def test_one_thread_follows_all_jobs_and_another_those_that_come_later(places: list[Heard]) -> None:
    first, second, third = Heard(), Heard(), Heard()
    places += [third, second, first]
    followers = Followers()
    jobs = [followers.follow(Fares(), Configuration()) for _ in range(2)]
    first.wait_until_shown()
    second.wait_until_shown()
    thread = first.thread
    assert thread is second.thread
    for job in jobs:
        job.end()
    assert thread is not None
    thread.join(SECONDS)
    later = followers.follow(Fares(), Configuration())
    third.wait_until_shown()
    assert third.thread is not thread
    later.end()


def test_a_job_that_is_shown_seldom_keeps_no_other_waiting(places: list[Heard]) -> None:
    seldom, often = Heard(10 * SECONDS), Heard()
    places += [often, seldom]
    followers = Followers()
    jobs = [followers.follow(Fares(), Configuration()) for _ in range(2)]
    often.wait_until_shown()
    assert seldom.shown == []
    for job in jobs:
        job.end()


def test_no_job_fails_with_its_line(places: list[Heard], caplog: pytest.LogCaptureFixture) -> None:
    said = "there is no view"

    def broken() -> JobView:
        raise ValueError(said)

    places.append(heard := Heard(SECONDS))
    job = Followers().follow(Fares(broken), Configuration())
    with caplog.at_level(logging.WARNING, "penstock"):
        for _ in range(3):
            job.show()
        said = "nor is there an end"
        job.end()
    assert [record.exc_info is not None for record in caplog.records] == [True, True]
    assert ("there is no view" in caplog.text, said in caplog.text) == (True, True)
    assert (heard.shown, heard.left) == ([], [])


def test_a_job_that_is_to_be_quiet_has_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "penstock.executors.driver.progress.progress"
    monkeypatch.setattr(f"{module}.place_for", lambda _: None)
    before = threading.active_count()
    job = Followers().follow(Fares(), Configuration())
    assert threading.active_count() == before
    with job.awaited():
        job.show()
    job.end()
