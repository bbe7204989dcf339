"""Jobs on servers of Spark Connect are found by notes of them, and by their checkpoint locations; without Spark."""

from __future__ import annotations

import dataclasses
import json
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.executors.driver.reports import views
from tests.executors.driver.rest.client import ShownJob, served

from penstock.cli import main
from penstock.cli.jobs import found_jobs, hosted_jobs
from penstock.errors import JobFailedError, NoRunningJobError, SavepointError
from penstock.executors.driver.reports.job_view import JobView
from penstock.job_notes import JobNote, keep_note, kept_notes

Run = Callable[..., tuple[int, str, str]]


class HostedJob(ShownJob):
    """A job that is a view, and says how it is doing now when it is asked."""

    def __init__(self, view: JobView | None = None) -> None:
        super().__init__(view)
        self.looks = 0

    def look(self) -> None:
        self.looks += 1
        self.shown = dataclasses.replace(self.shown, records_in=1_234)


class Greets(socketserver.BaseRequestHandler):
    """Greets whoever greets it."""

    def handle(self) -> None:
        assert self.request.recv(1_000).startswith(b"PRI * HTTP/2.0")
        self.request.sendall(b"\0")


class Servers:
    """What runs at the checkpoint locations of servers.

    Attributes:
        jobs: The jobs, or what looking for one raises, by URL and location.
        url: A server that can be reached.
    """

    def __init__(self, port: int) -> None:
        self.jobs: dict[tuple[str, str], HostedJob | Exception] = {}
        self.url = f"sc://127.0.0.1:{port}"

    def attach(self, url: str, location: str) -> Any:
        found = self.jobs.get((url, location), NoRunningJobError("None runs there."))
        if isinstance(found, Exception):
            raise found
        return found


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Servers]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    monkeypatch.setattr(found_jobs, "PORTS", (closed(),))
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Greets) as listening:
        threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
        found = Servers(listening.server_address[1])
        monkeypatch.setattr(hosted_jobs, "_attach", lambda: found.attach)
        yield found
        listening.shutdown()


def closed() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        found = capsys.readouterr()
        return code, found.out, found.err

    return call


def noted(server: str, location: str = "/checkpoints/fares", job_id: str = views.JOB_ID) -> JobNote:
    note = JobNote(server, location, job_id, "fares")
    keep_note(note)
    return note


def test_a_noted_job_is_listed(run: Run, servers: Servers) -> None:
    servers.jobs[servers.url, "/checkpoints/fares"] = HostedJob()
    noted(servers.url)
    code, output, said = run("list")
    assert (code, said) == (0, "")
    _, line = output.splitlines()
    assert line.split()[:3] == [views.JOB_ID, "fares", "RUNNING"]
    assert line.endswith(f"{servers.url} /checkpoints/fares")
    assert json.loads(run("list", "--json")[1])[0]["address"].startswith(servers.url)


def test_a_noted_job_is_shown_as_it_is_doing_now_and_has_no_page(
    run: Run, servers: Servers
) -> None:
    servers.jobs[servers.url, "/checkpoints/fares"] = HostedJob()
    noted(servers.url)
    code, output, _ = run("show", "fares")
    assert code == 0
    assert "1,234 read" in output
    assert "page  " not in output


def test_a_noted_job_is_saved_stopped_and_cancelled(run: Run, servers: Servers) -> None:
    job = servers.jobs[servers.url, "/checkpoints/fares"] = HostedJob()
    noted(servers.url)
    assert run("savepoint", "fares", "--to", "/saved")[:2] == (0, "/saved/savepoint-1\n")
    assert run("stop", "fares", "--drain", "--to", "/saved")[0] == 0
    assert [asked["ends_event_time"] for asked in job.savepoints] == [False, True]
    job.failure = SavepointError("No room.")
    code, _, said = run("savepoint", "fares", "--to", "/saved")
    assert (code, "No room." in said) == (1, True)
    assert run("cancel", "fares")[:2] == (0, "fares: CANCELED\n")


def test_the_note_of_a_job_that_has_ended_is_deleted(run: Run, servers: Servers) -> None:
    noted(servers.url)
    code, _, said = run("list")
    assert code == 2
    assert said.startswith("No job is seen at the ports")
    assert kept_notes() == []


def test_a_server_that_cannot_be_reached_is_told_of_in_a_line(run: Run, servers: Servers) -> None:
    servers.jobs[servers.url, "/checkpoints/fares"] = HostedJob()
    noted(servers.url)
    gone = noted(f"sc://127.0.0.1:{closed()}", "/checkpoints/gone", "c" * 32)
    code, output, said = run("list")
    assert code == 0
    assert len(output.splitlines()) == 2
    assert said.startswith(f"fares, on {gone.server}, may run or not: The server ")
    assert said.endswith(f"delete {gone.path}.\n")
    assert said.count("\n") == 1
    assert gone in kept_notes()


@pytest.mark.parametrize("error", [JobFailedError("It is too\nold."), ModuleNotFoundError("grpc")])
def test_what_a_server_cannot_be_asked_for_is_told_of(
    run: Run, servers: Servers, error: Exception
) -> None:
    servers.jobs[servers.url, "/checkpoints/fares"] = error
    note = noted(servers.url)
    _, _, said = run("list")
    told, *_ = said.splitlines()
    assert "It is too old." in told or "cannot be asked: grpc" in told
    assert str(note.path) in told
    assert list(kept_notes()) == [note]


def test_what_listens_and_does_not_answer_is_not_waited_for(
    run: Run, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosted_jobs, "_SECONDS_TO_CONNECT", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        noted(f"sc://127.0.0.1:{mute.getsockname()[1]}")
        _, _, said = run("list")
    assert "does not answer: timed out" in said


def test_what_wants_to_be_greeted_otherwise_answers(
    run: Run, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Greets, "handle", lambda _: None)
    servers.jobs[servers.url, "/checkpoints/fares"] = HostedJob()
    noted(servers.url)
    assert run("list")[0] == 0


def test_a_server_that_hangs_is_not_waited_for(
    run: Run, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosted_jobs, "_SECONDS_TO_LOOK", 0.05)
    hangs = threading.Event()
    monkeypatch.setattr(hosted_jobs, "_attach", hangs.wait)
    noted(servers.url)
    _, _, said = run("list")
    hangs.set()
    assert f"The server {servers.url} does not answer" in said


def test_a_job_that_is_seen_at_a_port_is_not_looked_for(
    run: Run, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = noted(servers.url)
    with served(ShownJob()) as client:
        monkeypatch.setattr(found_jobs, "PORTS", (client.port,))
        code, output, _ = run("list")
    assert code == 0
    assert f"http://127.0.0.1:{client.port}" in output
    assert list(kept_notes()) == [note]


def test_the_token_of_a_server_comes_from_the_environment(
    run: Run, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{servers.url}/;use_ssl=true;token=hunter2"
    monkeypatch.setenv("SPARK_REMOTE", url)
    servers.jobs[url, "/checkpoints/fares"] = HostedJob()
    noted(servers.url)
    code, output, said = run("list")
    assert (code, said) == (0, "")
    assert "hunter2" not in output


@pytest.mark.parametrize("url", ["sc://host:15002;token=hunter2", "http://host/;token=hunter2"])
def test_of_a_server_that_is_none_no_token_is_told(
    run: Run, servers: Servers, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("SPARK_REMOTE", url)
    code, _, said = run("show", "--checkpoint-dir", "/checkpoints/fares")
    assert (code, "host" in said, "hunter2" in said) == (2, True, False)


def test_a_job_is_found_by_its_location(
    run: Run, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers.jobs[servers.url, "/checkpoints/fares"] = HostedJob()
    place = ("--checkpoint-dir", "/checkpoints/fares")
    assert run("show", "--address", servers.url, *place)[0] == 0
    monkeypatch.setenv("SPARK_REMOTE", servers.url)
    assert run("show", *place)[0] == 0
    assert run("show", "fares", *place)[0] == 0
    code, _, said = run("show", "clicks", *place)
    assert (code, "There is no job 'clicks'" in said) == (2, True)
    assert views.JOB_ID in run("list", *place)[1]
    code, _, said = run("show", "--checkpoint-dir", "/elsewhere")
    assert (code, "None runs there." in said) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "No job is named"),
        (("--checkpoint-dir", "/a"), "No server is named"),
        (("--checkpoint-dir", "/a", "--address", "127.0.0.1:8081"), "no server of Spark Connect"),
        (("--address", "sc://127.0.0.1:15002"), "--checkpoint-dir"),
        (("--checkpoint-dir", "/a", "--address", "sc://[::1"), "no server of Spark Connect"),
    ],
)
def test_what_is_named_in_part_is_refused(
    run: Run, servers: Servers, arguments: tuple[str, ...], told: str
) -> None:
    code, _, said = run("show", *arguments)
    assert code == 2
    assert told in said
    assert "Hint: " in said


def test_where_no_job_was_started_nothing_of_spark_is_imported(servers: Servers) -> None:
    code = "import sys; from penstock.cli import main; main(['list']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"pyspark", "grpc", "penstock.spark", "penstock.executors"}
    assert heavy.isdisjoint(done.stdout.split())
