"""Jobs are cancelled, stopped and saved as Flink's clients ask for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.executors.driver.reports import views
from tests.executors.driver.rest.client import Client, ShownJob, served
from tests.executors.driver.rest.shapes import differences, shape
from tests.executors.driver.rest.test_routes import wait_for_result

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.savepoint import write_savepoint
from penstock.checkpoint.storage import LocalStorage
from penstock.common.job_status import JobStatus
from penstock.errors import SavepointError

JOB = f"/jobs/{views.JOB_ID}"


def done(client: Client, path: str, body: Any) -> Any:
    """Ask for something, and return what came of it."""
    begun = client(path, "POST", body)
    assert begun.status == 202
    results = f"{JOB}/savepoints" if path.endswith("/stop") else path
    return wait_for_result(client, f"{results}/{begun.body['request-id']}")


def written(folder: Path) -> str:
    """Write a savepoint, and return where it is."""
    storage = LocalStorage(str(folder / "job"))
    write_savepoint(storage, EpochRecord(1), LocalStorage(str(folder / "savepoint")))
    return str(folder / "savepoint")


@pytest.mark.parametrize("query", ["", "?mode=cancel", "?mode=CANCEL"])
def test_a_job_is_cancelled(query: str) -> None:
    with served(ShownJob()) as client:
        assert client(f"{JOB}{query}", "PATCH").status == 202
        assert client(f"{JOB}/status").body == {"status": "CANCELED"}
        assert client(f"{JOB}{query}", "PATCH").status == 202


def test_a_job_that_has_finished_cannot_be_cancelled() -> None:
    with served(ShownJob(views.view(status=JobStatus.FINISHED))) as client:
        reply = client(JOB, "PATCH")

    assert reply.status == 409
    assert reply.body["errors"] == ["The job cannot be cancelled any more: it is FINISHED."]


@pytest.mark.parametrize(("mode", "status"), [("stop", 410), ("other", 400)])
def test_a_job_is_not_ended_in_other_ways(mode: str, status: int) -> None:
    with served(ShownJob()) as client:
        assert client(f"{JOB}?mode={mode}", "PATCH").status == status
        assert client(f"{JOB}/status").body == {"status": "RUNNING"}


@pytest.mark.parametrize(
    ("path", "body", "asked"),
    [
        (
            "savepoints",
            {"target-directory": "/s", "cancel-job": False},
            {"directory": "/s", "stops": False, "ends_event_time": False},
        ),
        (
            "savepoints",
            {"target-directory": "/s", "cancel-job": True},
            {"directory": "/s", "stops": True, "ends_event_time": False},
        ),
        (
            "stop",
            {"targetDirectory": "/s", "drain": True, "formatType": "CANONICAL"},
            {"directory": "/s", "stops": True, "ends_event_time": True},
        ),
        (
            "stop",
            {"targetDirectory": "/s"},
            {"directory": "/s", "stops": True, "ends_event_time": False},
        ),
    ],
)
def test_a_savepoint_is_written_where_it_was_asked_for(
    path: str, body: Any, asked: dict[str, Any]
) -> None:
    job = ShownJob()
    with served(job) as client:
        found = done(client, f"{JOB}/{path}", body)

    assert found["operation"] == {"location": "/s/savepoint-1"}
    assert job.savepoints == [asked]


def test_without_a_directory_the_configured_one_is_taken() -> None:
    key = "execution.checkpointing.savepoint-dir"
    job = ShownJob(views.view(configuration={key: "/usual"}))
    with served(job) as client:
        assert done(client, f"{JOB}/stop", None)["operation"]["location"] == "usual/savepoint-1"
    assert job.savepoints[0]["directory"] is None


def test_without_any_directory_a_savepoint_is_refused() -> None:
    job = ShownJob()
    with served(job) as client:
        reply = client(f"{JOB}/savepoints", "POST", {})

    assert reply.status == 400
    assert "Say in target-directory where" in reply.body["errors"][0]
    assert job.turns == []


def test_a_savepoint_that_fails_says_why() -> None:
    job = ShownJob()
    job.failure = SavepointError("The place is not empty.", hint="Name another.")
    with served(job) as client:
        found = done(client, f"{JOB}/savepoints", {"target-directory": "/s"})

    assert found["operation"]["failure-cause"]["class"] == "SavepointError"
    assert "The place is not empty." in found["operation"]["failure-cause"]["stack-trace"]


def test_a_trigger_id_begins_one_savepoint_however_often_it_is_sent() -> None:
    job = ShownJob()
    body = {"target-directory": "/s", "triggerId": "f" * 32}
    with served(job) as client:
        found = [client(f"{JOB}/savepoints", "POST", body).body for _ in range(3)]
        wait_for_result(client, f"{JOB}/savepoints/{'f' * 32}")

    assert found == 3 * [{"request-id": "f" * 32}]
    assert len(job.savepoints) == 1
    assert [turn.is_closed for turn in job.turns] == [False, True, True]


@pytest.mark.parametrize(
    "body",
    [
        {"target-directory": 3},
        {"target-directory": "/s", "cancel-job": "yes"},
        {"target-directory": "/s", "triggerId": "short"},
        ["/s"],
    ],
)
def test_what_has_another_form_is_refused(body: Any) -> None:
    job = ShownJob()
    with served(job) as client:
        assert client(f"{JOB}/savepoints", "POST", body).status == 400
    assert job.savepoints == []


def test_of_a_job_that_has_ended_there_is_no_savepoint() -> None:
    job = ShownJob(views.view(status=JobStatus.FINISHED))
    with served(job) as client:
        found = done(client, f"{JOB}/savepoints", {"target-directory": "/s"})

    assert "The job does not run" in found["operation"]["failure-cause"]["stack-trace"]
    assert job.turns == []


def test_what_flinks_command_line_asked_is_answered_as_it_was_then(tmp_path: Path) -> None:
    recorded = json.loads(Path(__file__).with_name("flink_client.json").read_text())
    assert {one["method"] for one in recorded} == {"GET", "POST", "PATCH"}
    for exchange in recorded:
        job = ShownJob()
        if exchange["status"] == 409:
            job = ShownJob(views.view(status=JobStatus.FINISHED))
        names = {"jobid": views.JOB_ID, "triggerid": "f" * 32}
        query = urlencode(exchange["query"])
        with served(job) as client:
            if "{triggerid}" in exchange["path"]:
                operation = exchange["shape"]["operation"]
                if "failure-cause" in operation:
                    job.failure = SavepointError("The place is not empty.")
                begun = next(
                    one
                    for one in recorded
                    if one["method"] == "POST" and one["path"] in exchange["path"]
                )
                path = begun["path"].format(**names)
                body = {**begun["body"], "triggerId": "f" * 32}
                if "disposal" in path and "failure-cause" not in operation:
                    body["savepoint-path"] = written(tmp_path)
                done(client, path, body)
            reply = client(
                f"/v1{exchange['path'].format(**names)}?{query}",
                exchange["method"],
                exchange["body"] or None,
            )

        assert reply.status == exchange["status"], exchange
        assert differences(exchange["shape"], shape(reply.body)) == [], exchange


@pytest.mark.parametrize("kind", [None, "CONFIGURED", "INCREMENTAL"])
def test_an_epoch_is_committed_on_demand(kind: str | None) -> None:
    job = ShownJob()
    with served(job) as client:
        begun = client(f"{JOB}/checkpoints", "POST", {"checkpointType": kind, "triggerId": None})
        path = f"{JOB}/checkpoints/{begun.body['request-id']}"
        found = wait_for_result(client, path)

    assert found["operation"] == {"checkpointId": 3}
    assert [turn.is_closed for turn in job.turns] == [True]


def test_an_epoch_that_cannot_be_committed_says_why() -> None:
    job = ShownJob()
    job.failure = SavepointError("The job has ended.")
    with served(job) as client:
        refused = client(f"{JOB}/checkpoints", "POST", {"checkpointType": "FULL"})
        begun = client(f"{JOB}/checkpoints", "POST", {})
        found = wait_for_result(client, f"{JOB}/checkpoints/{begun.body['request-id']}")

    assert (refused.status, "a savepoint" in refused.body["errors"][0]) == (400, True)
    assert found["operation"]["failureCause"]["stack-trace"] == "The job has ended."


def test_a_savepoint_is_disposed_of(tmp_path: Path) -> None:
    asked = {"savepoint-path": written(tmp_path)}
    with served() as client:
        results = [done(client, "/savepoint-disposal", asked)["operation"] for _ in range(2)]
        refused = client("/savepoint-disposal", "POST", {})
        unknown = client(f"/savepoint-disposal/{'0' * 32}")

    assert not (tmp_path / "savepoint").exists()
    assert results[0] == {}
    assert "no complete savepoint" in results[1]["failure-cause"]["stack-trace"]
    assert (refused.status, unknown.status) == (400, 404)


@pytest.mark.parametrize(
    "place", ["savepoints", "../x", "javascript:/1", "~/s", "/s\x1b[31mred", 7]
)
@pytest.mark.parametrize(
    ("path", "key"),
    [
        (f"{JOB}/stop", "targetDirectory"),
        (f"{JOB}/savepoints", "target-directory"),
        ("/savepoint-disposal", "savepoint-path"),
    ],
)
def test_what_is_no_place_that_anybody_would_look_at_is_refused(
    path: str, key: str, place: Any
) -> None:
    job = ShownJob()
    with served(job) as client:
        reply = client(path, "POST", {key: place})

    assert reply.status == 400
    assert key in reply.body["errors"][0]
    assert job.savepoints == []
