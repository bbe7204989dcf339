"""Jobs are found at the ports of this machine where drivers usually are."""

from __future__ import annotations

import socket

import pytest
from tests.executors.driver.reports import views
from tests.executors.driver.rest.client import ShownJob, served

from penstock.cli.jobs import found_jobs
from penstock.cli.jobs.gateway import Gateway
from penstock.common.job_status import JobStatus
from penstock.errors import JobsNotReachableError, JobsRefusedError, UnknownJobError
from penstock.executors.driver.rest.access import Access
from penstock.executors.driver.rest.server import RestServer


def look_at(monkeypatch: pytest.MonkeyPatch, *ports: int) -> None:
    monkeypatch.setattr(found_jobs, "PORTS", ports)


@pytest.fixture
def closed() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_jobs_of_several_drivers_are_found(
    monkeypatch: pytest.MonkeyPatch, closed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    other = ShownJob(views.view(job_id="c" * 32))
    with (
        served(ShownJob()) as one,
        served(other) as two,
        served(ShownJob(), access=Access(token="abc")) as hidden,
    ):
        look_at(monkeypatch, closed, one.port, hidden.port, two.port)
        found = found_jobs.found_jobs(None, None)
        told = capsys.readouterr().err
        look_at(monkeypatch, hidden.port)
        with pytest.raises(JobsRefusedError, match="token"):
            found_jobs.found_jobs(None, None)

    assert [job.job_id for job in found] == [views.JOB_ID, "c" * 32]
    assert told.startswith(f"http://127.0.0.1:{hidden.port} refuses: Send the token")
    assert told.endswith(" Its jobs are not among these without --token.\n")
    assert told.count("\n") == 1


def test_where_nothing_answers_it_is_said_which_ports(
    monkeypatch: pytest.MonkeyPatch, closed: int
) -> None:
    look_at(monkeypatch, closed)
    with pytest.raises(JobsNotReachableError, match=f"{closed}(.|\n)*Hint: "):
        found_jobs.found_jobs(None, None)


def test_the_beginning_of_a_name_is_enough_if_no_other_begins_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clicks = ShownJob(views.view(job_id="c" * 32, name="clicks per user"))
    clients = ShownJob(views.view(job_id="d" * 32, name="clients"))
    with served(clicks) as one, served(clients) as two:
        look_at(monkeypatch, one.port, two.port)
        assert found_jobs.find_job("clicks", None, None).job_id == "c" * 32
        with pytest.raises(UnknownJobError, match=r"(?s)Several .*clicks per user.*clients"):
            found_jobs.find_job("cli", None, None)
        with pytest.raises(UnknownJobError, match="There is no job ''"):
            found_jobs.find_job("", None, None)


def test_of_many_jobs_a_few_are_named_those_that_run_first() -> None:
    ended = [
        ShownJob(views.view(job_id=f"{number:032x}", name="old", status=JobStatus.FINISHED))
        for number in range(20)
    ]
    with served(*ended, ShownJob()) as client, pytest.raises(UnknownJobError) as raised:
        found_jobs.find_job("none", f"127.0.0.1:{client.port}", None)

    hint = str(raised.value.hint)
    assert hint.startswith(f"There are {views.JOB_ID} (fares, RUNNING), ")
    assert hint.count("FINISHED") == 3
    assert hint.endswith("and 17 more: penstock list --all shows them.")


def test_a_job_that_is_shown_at_two_ports_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(ShownJob()) as one:
        gateway = Gateway([f"127.0.0.1:{one.port}"])
        server = RestServer(gateway, Access(), "127.0.0.1", [0])
        look_at(monkeypatch, one.port, server.port)
        (found,) = found_jobs.found_jobs(None, None)
        server.close()
        gateway.close()

    assert found.client.address.endswith(str(one.port))
