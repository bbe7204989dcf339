"""The answers have the form of Flink's, which `flink_answers.json` has from a cluster of Flink 2.3."""

from __future__ import annotations

import dataclasses
import json
import logging
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.executors.driver.reports import views
from tests.executors.driver.rest.client import Client, ShownJob, served
from tests.executors.driver.rest.shapes import differences, shape

from penstock.common.job_status import JobStatus
from penstock.executors.driver.reports import recent_log
from penstock.executors.driver.reports.job_view import ExceptionView, RestoreView, SavepointView

FLINK = json.loads(Path(__file__).with_name("flink_answers.json").read_text())
NAMES = {
    "jobid": views.JOB_ID,
    "vertexid": views.SUM_ID,
    "subtaskindex": "0",
    "attempt": "0",
    "checkpointid": "3",
}
ASKED = {
    "GET /jobs/metrics?get": "?get=uptime",
    "GET /jobs/{jobid}/metrics?get": "?get=uptime,numRestarts,nothing",
    "GET /jobmanager/metrics?get": "?get=numRunningJobs",
    "GET /jobs/{jobid}/vertices/{vertexid}/metrics?get": "?get=0.numRecordsIn",
    "GET /jobs/{jobid}/vertices/{vertexid}/subtasks/metrics?get": "?get=numRecordsIn",
    "GET /jobs/{jobid}/vertices/{vertexid}/subtasks/metrics?get&agg": "?get=numRecordsIn&agg=max",
    "GET /jobs/{jobid}/vertices/{vertexid}/subtasks/{subtaskindex}/metrics?get": (
        "?get=numRecordsIn"
    ),
}
READ = [key for key in FLINK if key.startswith("GET") and "triggerid" not in key]


def ended() -> ShownJob:
    at = views.STARTED + 50_000
    return ShownJob(views.view(job_id="e" * 32, name="old", status=JobStatus.FINISHED, ended=at))


def path_of(key: str, **names: str) -> str:
    """Return the path of a recorded exchange, for the job of these tests."""
    path = key.split(" ")[1].partition("?")[0].format(**{**NAMES, **names})
    return f"{path}{ASKED.get(key, '')}"


@pytest.mark.parametrize("key", READ)
@pytest.mark.parametrize("prefix", ["", "/v1"])
def test_what_is_read_has_flinks_form(key: str, prefix: str) -> None:
    is_ended = key == "GET /jobs/{jobid}/execution-result"
    with served(ended(), ShownJob()) as client:
        path = path_of(key, **({"jobid": "e" * 32} if is_ended else {}))
        reply = client(f"{prefix}{path}")

    assert reply.status == FLINK[key]["status"]
    assert differences(FLINK[key]["shape"], shape(reply.body)) == []


def wait_for_result(client: Client, path: str) -> Any:
    limit = time.monotonic() + 30
    while time.monotonic() < limit:
        found = client(path).body
        if found["status"]["id"] == "COMPLETED":
            return found
    raise AssertionError("the operation does not end")


@pytest.mark.parametrize("what", ["savepoints", "stop"])
def test_what_is_asked_for_has_flinks_form(what: str) -> None:
    job = ShownJob()
    job.may_write.clear()
    status = "GET /jobs/{jobid}/savepoints/{triggerid}"
    with served(job) as client:
        begun = client(
            f"/jobs/{views.JOB_ID}/{what}",
            "POST",
            {"target-directory": "/s", "targetDirectory": "/s"},
        )
        path = f"/jobs/{views.JOB_ID}/savepoints/{begun.body['request-id']}"
        before = client(path).body
        job.may_write.set()
        after = wait_for_result(client, path)

    recorded = FLINK[f"POST /jobs/{{jobid}}/{what}"]
    assert begun.status == recorded["status"]
    assert differences(recorded["shape"], shape(begun.body)) == []
    assert differences(FLINK[f"{status} in progress"]["shape"], shape(before)) == []
    assert differences(FLINK[status]["shape"], shape(after)) == []
    assert before["operation"] is None


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        (f"/jobs/{'0' * 32}", 404, f"Job {'0' * 32} not found"),
        ("/jobs/abc", 400, "The path parameter jobid cannot be 'abc'"),
        (f"/jobs/{views.JOB_ID}/vertices/{'0' * 32}", 404, "JobVertex"),
        (
            f"/jobs/{views.JOB_ID}/vertices/{views.SUM_ID}/subtasks/9",
            404,
            "has no subtask",
        ),
        (f"/jobs/{views.JOB_ID}/checkpoints/details/99", 404, "a checkpoint 99"),
        (f"/jobs/{views.JOB_ID}/checkpoints/details/x", 400, "parameter checkpointid"),
        (f"/jobs/{views.JOB_ID}/savepoints/{'0' * 32}", 404, "Nobody has asked for 000"),
        (f"/jobs/{views.JOB_ID}/exceptions?maxExceptions=x", 400, "parameter maxExceptions"),
        ("/nowhere", 404, "/nowhere"),
        (f"/jobs/{views.JOB_ID}/nowhere", 404, "nowhere"),
    ],
)
def test_what_is_not_there_has_flinks_status_and_is_named(
    path: str, status: int, words: str
) -> None:
    with served(ShownJob()) as client:
        reply = client(path)

    assert reply.status == status
    assert words in reply.body["errors"][0]


def test_a_method_that_a_path_does_not_have_is_refused() -> None:
    with served(ShownJob()) as client:
        reply = client("/jobs", "POST", {})

    assert (reply.status, reply.headers["allow"]) == (405, "GET")


def test_the_last_job_comes_first_and_each_has_its_state() -> None:
    with served(ended(), ShownJob()) as client:
        assert client("/jobs").body == {
            "jobs": [
                {"id": views.JOB_ID, "status": "RUNNING"},
                {"id": "e" * 32, "status": "FINISHED"},
            ]
        }
        found = client("/jobs/overview").body["jobs"]
        assert [one["tasks"]["running"] for one in found] == [4, 0]
        assert [one["duration"] for one in found] == [60_000, 50_000]
        assert client("/overview").body["jobs-finished"] == 1


def test_a_job_says_what_its_chains_do() -> None:
    with served(ShownJob()) as client:
        found = client(f"/jobs/{views.JOB_ID}").body

    source, total = found["vertices"]
    assert source["metrics"]["write-records"] == 30
    assert (total["metrics"]["read-records"], total["metrics"]["read-bytes"]) == (30, 300)
    assert found["timestamps"]["RUNNING"] == views.STARTED + 10_000
    assert found["plan"]["nodes"][0]["inputs"][0]["ship_strategy"] == "HASH"


def test_an_epoch_is_a_checkpoint_and_one_that_failed_one_that_failed() -> None:
    with served(ShownJob()) as client:
        found = client(f"/jobs/{views.JOB_ID}/checkpoints").body

    assert [one["status"] for one in found["history"]] == ["COMPLETED", "FAILED", "COMPLETED"]
    assert found["latest"]["failed"]["failure_message"] == "ValueError: no"
    assert found["summary"]["end_to_end_duration"]["avg"] == 600
    assert found["latest"]["completed"]["external_path"] == "file:/c/3"


def test_the_view_is_given_as_it_is() -> None:
    job = ShownJob(views.view(records_per_second=float("nan")))
    with served(job) as client:
        found = client(f"/jobs/{views.JOB_ID}/view").body

    assert found["status"] == "RUNNING"
    assert found["records_per_second"] is None
    assert found["vertices"][1]["operators"][0]["figures"]["late_records"] == 2


def test_the_log_of_a_job_is_given_from_a_line_on(monkeypatch: pytest.MonkeyPatch) -> None:
    log = recent_log.RecentLog()
    monkeypatch.setattr("penstock.executors.driver.rest.routes.RECENT_LOG", log)
    for text in ("one", "two"):
        log.add(logging.LogRecord("penstock", 20, "", 1, text, (), None), job_id=views.JOB_ID)
    log.add(logging.LogRecord("penstock", 20, "", 1, "other", (), None), job_id="e" * 32)
    with served(ShownJob()) as client:
        lines = client(f"/jobs/{views.JOB_ID}/log").body["lines"]
        later = client(f"/jobs/{views.JOB_ID}/log?after={lines[0]['number']}").body["lines"]

    assert [line["message"] for line in lines] == ["one", "two"]
    assert [line["message"] for line in later] == ["two"]


def test_a_job_that_is_starting_has_no_chains_and_is_shown() -> None:
    job = ShownJob(
        dataclasses.replace(
            views.view(), vertices=(), epochs=(), status=JobStatus.CREATED, status_times={}
        )
    )
    with served(job) as client:
        for key in READ:
            if "vertexid" not in key and "checkpointid" not in key:
                path = path_of(key)
                assert client(path).status == 200, path


def test_prometheus_reads_the_jobs_that_run() -> None:
    with served(ended(), ShownJob()) as client:
        reply = client("/metrics")

    assert reply.status == 200
    families = {one.name: one for one in text_string_to_metric_families(reply.body)}
    (uptime,) = families["flink_jobmanager_job_uptime"].samples
    assert (uptime.labels["job_id"], uptime.value) == (views.JOB_ID, 50_000)


def test_without_the_library_for_prometheus_the_answer_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with served(ShownJob()) as client:
        reply = client("/metrics")

    assert reply.status == 501
    assert "penstock[metrics]" in reply.body["errors"][0]


def test_a_failure_says_of_which_record_it_was_and_how_often_it_came() -> None:
    failure = ExceptionView(
        1, "ValueError", "no", "Traceback: no", "Sum", views.SUM_ID, "'x'", 7, 3
    )
    with served(ShownJob(views.view(exceptions=(failure,)))) as client:
        (found,) = client(f"/jobs/{views.JOB_ID}/exceptions").body["exceptionHistory"]["entries"]

    assert (found["exceptionName"], found["taskName"]) == ("ValueError", "Sum -> Sink: out")
    labels = {"operator": "Sum", "record": "'x'", "epoch": "7", "times": "3", "message": "no"}
    assert found["failureLabels"] == labels


def test_a_savepoint_is_a_checkpoint_that_has_a_place_of_its_own() -> None:
    savepoint = SavepointView("/s/savepoint-1", 3, views.STARTED + 13_000, 40, 80)
    with served(ShownJob(views.view(savepoints=(savepoint,)))) as client:
        latest = client(f"/jobs/{views.JOB_ID}/checkpoints").body["latest"]

    assert (latest["savepoint"]["id"], latest["savepoint"]["state_size"]) == (3, 80)
    assert latest["savepoint"]["checkpoint_type"] == "SAVEPOINT"
    assert latest["savepoint"]["external_path"] == "/s/savepoint-1"
    assert latest["completed"]["external_path"] == "file:/c/3"


def test_what_a_job_went_on_from_last_is_told_with_when_and_how_often() -> None:
    restored = RestoreView(2, views.STARTED + 20_000, "/s/savepoint-1", is_savepoint=True)
    job = ShownJob(views.view(restores=3, last_restored=restored, restarts=4))
    with served(job) as client:
        found = client(f"/jobs/{views.JOB_ID}/checkpoints").body
        metric = "lastCheckpointRestoreTimestamp"
        (told,) = client(f"/jobs/{views.JOB_ID}/metrics?get={metric}").body

    assert found["counts"]["restored"] == 3
    assert found["latest"]["restored"] == {
        "id": 2,
        "restore_timestamp": views.STARTED + 20_000,
        "is_savepoint": True,
        "external_path": "/s/savepoint-1",
    }
    assert told["value"] == str(views.STARTED + 20_000)


def test_in_a_plan_the_name_of_an_operator_is_no_html() -> None:
    source = views.source()
    (operator,) = source.operators
    named = dataclasses.replace(operator, name="<img src=x onerror=alert(1)>")
    vertex = dataclasses.replace(source, operators=(named,))
    with served(ShownJob(views.view(vertices=(vertex,)))) as client:
        (node,) = client(f"/jobs/{views.JOB_ID}/plan").body["plan"]["nodes"]

    assert node["description"] == "&lt;img src=x onerror=alert(1)&gt;<br/>"
