"""The jobs of several drivers are seen and steered at one address, while drivers come and go."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from tests.executors.driver.reports import views
from tests.executors.driver.rest.client import Client, ShownJob, answered, served
from tests.executors.driver.rest.test_routes import wait_for_result

from penstock.cli.jobs.gateway import Gateway
from penstock.common.job_status import JobStatus
from penstock.executors.driver.rest.access import Access
from penstock.executors.driver.rest.exchange import Answer, Request, RequestRefusedError
from penstock.executors.driver.rest.routes import Api
from penstock.executors.driver.rest.server import RestServer

ONE, TWO = "1" * 32, "2" * 32


def job(job_id: str, started: int = views.STARTED) -> ShownJob:
    return ShownJob(views.view(job_id=job_id, started=started))


@contextmanager
def gateway(*drivers: int | str) -> Iterator[Client]:
    """Serve the jobs of the drivers at some ports."""
    found = Gateway(f"127.0.0.1:{driver}" for driver in drivers)
    try:
        with answered(found) as client:
            yield client
    finally:
        found.close()


@pytest.fixture
def closed() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_what_all_drivers_know_is_put_together(closed: int) -> None:
    older, newer = job(ONE), job(TWO, views.STARTED + 5)
    with (
        served(older) as one,
        served(newer, ShownJob(views.view(status=JobStatus.FAILED))) as two,
        gateway(one.port, closed, two.port) as ask,
    ):
        jobs = ask("/v1/jobs/overview").body["jobs"]
        assert {found["id"] for found in ask("/jobs").body["jobs"]} == {ONE, TWO, views.JOB_ID}
        overview = ask("/overview").body
        config = ask("/config").body
        managers = ask("/taskmanagers").body["taskmanagers"]

    assert [found["jid"] for found in jobs] == [TWO, ONE, views.JOB_ID]
    assert (overview["jobs-running"], overview["jobs-failed"]) == (2, 1)
    assert (overview["taskmanagers"], overview["flink-version"]) == (2, config["flink-version"])
    assert [one["id"].partition(":")[0] for one in managers] == ["127.0.0.1"] * 2


def test_what_is_about_a_job_is_passed_on_to_its_driver() -> None:
    first, second = job(ONE), job(TWO)
    with served(first) as one, served(second) as two, gateway(one.port, two.port) as ask:
        view = ask(f"/jobs/{TWO}/view")
        known = ask(f"/jobs/{TWO}/view", headers={"If-None-Match": view.headers["etag"]})
        begun = ask(f"/jobs/{TWO}/savepoints", "POST", {"target-directory": "/s"})
        path = f"/jobs/{TWO}/savepoints/{begun.body['request-id']}"
        saved = wait_for_result(ask, path)
        metrics = ask(f"/jobs/{TWO}/metrics?get=uptime,numRestarts").body
        assert ask(f"/jobs/{ONE}?mode=cancel", "PATCH").status == 202
        refused = ask(f"/jobs/{TWO}", "PATCH", headers={"Origin": "http://evil.example"})
        wrong = ask(f"/jobs/{TWO}?mode=stop", "PATCH")

    assert (view.body["job_id"], known.status, known.body) == (TWO, 304, "")
    assert saved["operation"]["location"] == "/s/savepoint-1"
    assert first.savepoints == []
    assert [one["directory"] for one in second.savepoints] == ["/s"]
    assert {one["id"] for one in metrics} == {"uptime", "numRestarts"}
    assert first.shown.status is JobStatus.CANCELED
    assert second.shown.status is JobStatus.RUNNING
    assert (refused.status, wrong.status) == (403, 410)


def test_a_driver_that_comes_later_is_found_and_one_that_goes_is_missed(closed: int) -> None:
    with gateway(closed) as ask, ExitStack() as runs:
        assert ask("/jobs/overview").body == {"jobs": []}
        assert ask(f"/jobs/{ONE}").status == 404

        api = Api(lambda: [job(ONE)])
        server = RestServer(api, Access(), "127.0.0.1", [closed])
        runs.callback(server.close)
        assert ask(f"/jobs/{ONE}/status").body == {"status": "RUNNING"}

        runs.close()
        gone = ask(f"/jobs/{ONE}")
        assert ask("/jobs").body == {"jobs": []}

    assert gone.status == 404
    assert gone.body["errors"] == [
        f"Job {ONE} not found: its driver, at 127.0.0.1:{closed}, has ended"
    ]


def test_all_who_ask_at_once_for_a_job_whose_driver_has_ended_are_told_so(
    closed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2)

    def refuse(request: Request, *_: object) -> Answer:
        if request.path.endswith("/status"):
            both.wait(60)
        raise ConnectionRefusedError

    monkeypatch.setattr("penstock.cli.jobs.gateway._pass_on", refuse)
    found = Gateway([f"127.0.0.1:{closed}"])
    found._of_jobs[ONE] = f"127.0.0.1:{closed}"
    with closing(found), ThreadPoolExecutor() as threads:
        status = Request("GET", f"/jobs/{ONE}/status")
        for answer in [threads.submit(found.answer, status) for _ in range(2)]:
            with pytest.raises(RequestRefusedError, match="has ended"):
                answer.result(60)


def test_a_token_is_the_driver_s_and_whoever_sends_it_sees_its_jobs() -> None:
    token = {"Authorization": "Bearer abc"}
    with (
        served(job(ONE)) as one,
        served(job(TWO), access=Access(token="abc")) as two,
        gateway(one.port, two.port) as ask,
        gateway(two.port) as only,
    ):
        assert [found["id"] for found in ask("/jobs").body["jobs"]] == [ONE]
        assert len(ask("/jobs", headers=token).body["jobs"]) == 2
        assert ask(f"/jobs/{TWO}").status == 401
        assert ask(f"/jobs/{TWO}", headers=token).status == 200
        refused = only("/jobs/overview")

    assert refused.status == 401
    assert "www-authenticate" in refused.headers


def test_a_savepoint_is_deleted_by_one_of_the_drivers(tmp_path: Path, closed: int) -> None:
    asked = {"savepoint-path": str(tmp_path / "none")}
    with (
        served(access=Access(token="abc")) as one,
        served() as two,
        gateway(closed, one.port, two.port) as ask,
        gateway(one.port) as only,
    ):
        found = ask("/savepoint-disposal", "POST", asked)
        result = wait_for_result(ask, f"/savepoint-disposal/{found.body['request-id']}")
        unknown = ask(f"/savepoint-disposal/{'0' * 32}")
        refused = only("/savepoint-disposal", "POST", asked)

    assert "no complete savepoint" in result["operation"]["failure-cause"]["stack-trace"]
    assert (unknown.status, refused.status) == (401, 401)


def test_the_page_is_there_and_what_no_driver_can_say_for_all_is_not() -> None:
    with served(job(ONE)) as one, gateway(one.port) as ask:
        assert ask("/").headers["content-type"].startswith("text/html")
        assert ask("/metrics").status == 404
        assert ask("/nowhere").status == 404


def test_a_gateway_among_the_drivers_of_another_is_none() -> None:
    with served(job(ONE)) as one, gateway(one.port) as inner, gateway(inner.port) as outer:
        assert inner("/jobs").body != {"jobs": []}
        assert outer("/jobs").body == {"jobs": []}


def test_what_listens_there_and_is_no_driver_is_left_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, gateway(other.getsockname()[1]) as ask:
        other.listen()
        other.close()
        assert ask("/jobs").body == {"jobs": []}
