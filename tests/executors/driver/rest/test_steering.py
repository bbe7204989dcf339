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

from penstock.common.job_status import JobStatus
from penstock.errors import SavepointError

JOB = f"/jobs/{views.JOB_ID}"


def done(client: Client, path: str, body: Any) -> Any:
    begun = client(path, "POST", body)
    assert begun.status == 202
    return wait_for_result(client, f"{JOB}/savepoints/{begun.body['request-id']}")


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
    assert reply.body["errors"] == [
        "Job cancellation failed because the job has already reached another terminal state (FINISHED)."
    ]


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
    assert "[target-directory] must be provided" in reply.body["errors"][0]
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


def test_what_flinks_command_line_asked_is_answered_as_it_was_then() -> None:
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
                if "failure-cause" in exchange["shape"]["operation"]:
                    job.failure = SavepointError("The place is not empty.")
                done(client, f"{JOB}/stop", {"targetDirectory": "/s", "triggerId": "f" * 32})
            reply = client(
                f"/v1{exchange['path'].format(**names)}?{query}",
                exchange["method"],
                exchange["body"] or None,
            )

        assert reply.status == exchange["status"], exchange
        assert differences(exchange["shape"], shape(reply.body)) == [], exchange
