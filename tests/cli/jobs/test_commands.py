"""The command line lists, shows, stops, saves and cancels jobs through their REST API."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.executors.driver.reports import views
from tests.executors.driver.rest.client import ShownJob, served

from penstock.cli import main
from penstock.common.job_status import JobStatus
from penstock.errors import SavepointError
from penstock.executors.driver.rest.access import Access

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        found = capsys.readouterr()
        return code, found.out, found.err

    return call


def ended(name: str = "old", job_id: str = "e" * 32) -> ShownJob:
    at = views.STARTED + 50_000
    return ShownJob(views.view(job_id=job_id, name=name, status=JobStatus.FINISHED, ended=at))


def test_jobs_are_listed(run: Run) -> None:
    with served(ended(), ShownJob()) as client:
        where = f"127.0.0.1:{client.port}"
        code, output, _ = run("list", "--address", where)
        everything = run("list", "--all", "--json", "--address", where)[1]

    assert code == 0
    head, line = output.splitlines()
    assert head.split()[:3] == ["JOB", "NAME", "STATE"]
    assert line.split()[:3] == [views.JOB_ID, "fares", "RUNNING"]
    assert line.endswith(f"http://{where}")
    assert [job["name"] for job in json.loads(everything)] == ["fares", "old"]


def test_where_no_job_runs_it_says_so(run: Run) -> None:
    with served(ended()) as client:
        code, output, _ = run("list", "--address", f"127.0.0.1:{client.port}")
    assert (code, output) == (0, "No job is running.\n")


@pytest.mark.parametrize("wanted", ["fares", views.JOB_ID, views.JOB_ID[:4]])
def test_a_job_is_shown_with_what_holds_it_back(run: Run, wanted: str) -> None:
    with served(ended(), ShownJob()) as client:
        code, output, _ = run("show", wanted, "--address", f"http://127.0.0.1:{client.port}/")

    assert code == 0
    assert "RUNNING, started 2023-11-14 22:13:20 UTC, 1 min ago" in output
    assert "fares holds the watermark back" in output
    assert "2 records dropped as late" in output
    (line,) = [line for line in output.splitlines() if line.startswith("Sum  ")]
    assert line.split()[2:4] == ["30", "4"]
    assert "Traceback: no" in output
    assert f"http://127.0.0.1:{client.port}/#/jobs/{views.JOB_ID}" in output


def test_a_view_is_written_whole_for_programs(run: Run) -> None:
    with served(ShownJob()) as client:
        output = run("show", "fares", "--json", "--address", f"127.0.0.1:{client.port}")[1]
    assert json.loads(output)["job_id"] == views.JOB_ID


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (["savepoint", "fares"], {"stops": False, "ends_event_time": False}),
        (["stop", "fares"], {"stops": True, "ends_event_time": False}),
        (["stop", "--drain", "fares"], {"stops": True, "ends_event_time": True}),
    ],
)
def test_a_savepoint_is_written_and_its_place_is_said(
    run: Run, arguments: list[str], asked: dict[str, bool]
) -> None:
    job = ShownJob()
    with served(job) as client:
        where = f"127.0.0.1:{client.port}"
        code, output, _ = run(*arguments, "--to", "/s", "--address", where)

    assert (code, output) == (0, "/s/savepoint-1\n")
    assert job.savepoints == [{"directory": "/s", **asked}]


def test_a_savepoint_that_fails_is_told_with_its_cause(run: Run) -> None:
    job = ShownJob()
    job.failure = SavepointError("The place is not empty.", hint="Name another.")
    with served(job) as client:
        where = f"127.0.0.1:{client.port}"
        code, output, errors = run("savepoint", "fares", "--to", "/s", "--address", where)

    assert (code, output) == (1, "")
    assert errors == "The place is not empty.\n\nHint: Name another.\n"


def test_without_a_place_for_it_there_is_a_hint(run: Run) -> None:
    with served(ShownJob()) as client:
        code, _, errors = run("savepoint", "fares", "--address", f"127.0.0.1:{client.port}")
    assert code == 1
    assert "Hint: Name a folder with --to" in errors


def test_a_job_is_cancelled(run: Run) -> None:
    job = ShownJob()
    with served(job, ended("old")) as client:
        where = f"127.0.0.1:{client.port}"
        assert run("cancel", "fares", "--address", where)[:2] == (0, "fares: CANCELED\n")
        code, _, errors = run("cancel", "old", "--address", where)

    assert job.shown.status is JobStatus.CANCELED
    assert code == 1
    assert "cannot be cancelled any more: it is FINISHED" in errors


def test_of_two_jobs_of_one_name_the_one_that_runs_is_meant(run: Run) -> None:
    with served(ended("fares"), ShownJob()) as client:
        output = run("show", "fares", "--json", "--address", f"127.0.0.1:{client.port}")[1]
    assert json.loads(output)["status"] == "RUNNING"


@pytest.mark.parametrize(
    ("wanted", "words"), [("none", "There is no job 'none'."), ("fares", "Several jobs")]
)
def test_a_job_that_is_not_there_or_not_the_only_one_is_not_steered(
    run: Run, wanted: str, words: str
) -> None:
    other = ShownJob(views.view(job_id="c" * 32))
    with served(ShownJob(), other) as client:
        code, _, errors = run("cancel", wanted, "--address", f"127.0.0.1:{client.port}")
    assert code == 2
    assert words in errors
    assert views.JOB_ID in errors
    assert other.shown.status is JobStatus.RUNNING


def test_a_token_is_sent_from_the_command_or_from_the_environment(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(ShownJob(), access=Access(token="abc")) as client:
        where = f"127.0.0.1:{client.port}"
        code, _, errors = run("list", "--address", where)
        assert code == 1
        assert "Hint: Give the token with --token" in errors
        assert run("list", "--address", where, "--token", "abc")[0] == 0
        monkeypatch.setenv("PENSTOCK_TOKEN", "abc")
        assert run("list", "--address", where)[0] == 0


def test_a_name_gives_the_terminal_no_commands(run: Run) -> None:
    name = "red \x1b[31m \x9b2J \x7f \u202e \ud800 \n jobs"
    with served(ShownJob(views.view(name=name))) as client:
        address = f"127.0.0.1:{client.port}"
        shown = [
            run(*words, "--address", address)
            for words in (["list"], ["list", "--json"], ["show", "red"])
        ]
        shown.append(run("show", "none", "--address", address))

    for _, out, errors in shown:
        assert all(letter.isprintable() for letter in (out + errors).replace("\n", ""))
        assert "red" in out + errors
    assert "\\u001b[31m" in shown[0][1]
    assert json.loads(shown[1][1])[0]["name"] == name
