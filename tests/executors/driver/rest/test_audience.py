"""Whoever watches or stops a job learns how it ended, though the program ends with it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.executors.driver.rest.client import Client

from penstock.executors.driver.rest.audience import Audience

SECONDS = 60


@contextmanager
def program(folder: Path, way: str, *settings: str) -> Iterator[tuple[Any, Client, str]]:
    """Start a program, and return it, a client of it and the path of its job."""
    command = [
        sys.executable,
        "-m",
        "tests.executors.driver.rest.watched_program",
        way,
        str(folder),
        *settings,
    ]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as run:
        try:
            until = time.monotonic() + SECONDS
            while not (folder / "address").exists():
                assert run.poll() is None, run.communicate()[1]
                assert time.monotonic() < until
                time.sleep(0.05)
            ask = Client(urlsplit((folder / "address").read_text()).port or 0)
            yield run, ask, f"/jobs/{ask('/jobs').body['jobs'][0]['id']}"
            ask.close()
            assert run.wait(SECONDS) is not None
        finally:
            run.kill()


def wait_for_end(ask: Client, job: str, seconds: float = 1.2) -> dict[str, Any]:
    """Ask as the page does, but a little less often, until the job has ended."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        view: dict[str, Any] = ask(f"{job}/view").body
        if view["ended"] is not None:
            return view
        time.sleep(seconds)
    raise AssertionError("it does not end")


def stopped(ask: Client, job: str, folder: Path) -> str:
    """Ask for a stop, and return where its result is."""
    begun = ask(f"{job}/stop", "POST", {"targetDirectory": str(folder / "savepoints")})
    return f"{job}/savepoints/{begun.body['request-id']}"


def lingered(folder: Path) -> float:
    return float((folder / "seconds").read_text())


def test_the_result_of_a_stop_is_there_until_it_is_fetched(tmp_path: Path) -> None:
    with program(tmp_path, "stop", "rest.async.store-duration=60 s") as (run, ask, job):
        result = stopped(ask, job, tmp_path)
        view = wait_for_end(ask, job)
        time.sleep(1.5)
        assert run.poll() is None
        found = ask(result).body

    assert (view["status"], view["phase"]) == ("FINISHED", "stopped")
    (savepoint,) = view["savepoints"]
    assert savepoint["location"] == found["operation"]["location"]
    assert savepoint["stopped"] is True
    assert 1.5 < lingered(tmp_path) < 30
    assert run.returncode == 0


@pytest.mark.parametrize("way", ["end", "cancel"])
def test_a_page_that_is_open_sees_the_end(tmp_path: Path, way: str) -> None:
    with program(tmp_path, "end" if way == "end" else "stop") as (_, ask, job):
        if way == "end":
            assert ask(f"{job}/view").body["status"] == "RUNNING"
            (tmp_path / "end").touch()
        else:
            assert ask(job, "PATCH").status == 202
        view = wait_for_end(ask, job)

    assert view["status"] == ("FINISHED" if way == "end" else "CANCELED")
    assert view["savepoints"] == []
    assert lingered(tmp_path) < 8


def test_a_page_that_is_open_sees_ctrl_c_too(tmp_path: Path) -> None:
    with program(tmp_path, "stop") as (run, ask, job):
        assert ask(f"{job}/view").body["status"] == "RUNNING"
        run.send_signal(signal.SIGINT)
        view = wait_for_end(ask, job, 0.1)
        _, errors = run.communicate(timeout=SECONDS)

    assert view["status"] == "CANCELED"
    assert lingered(tmp_path) < 5
    assert "Traceback" not in errors


def test_ctrl_c_that_cancels_a_job_waits_for_nobody_who_asked_before(tmp_path: Path) -> None:
    with program(tmp_path, "stop", "rest.async.store-duration=50 s") as (run, ask, job):
        assert ask(f"{job}/savepoints", "POST", {"target-directory": str(tmp_path)}).status == 202
        ask.close()
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=SECONDS)

    assert lingered(tmp_path) < 20
    assert "Traceback" not in errors


def test_ctrl_c_ends_the_waiting_at_once(tmp_path: Path) -> None:
    with program(tmp_path, "stop", "rest.async.store-duration=50 s") as (run, ask, job):
        stopped(ask, job, tmp_path)
        wait_for_end(ask, job)
        # Before that, Ctrl-C would meet lines of the program itself.
        until = time.monotonic() + SECONDS
        while not (tmp_path / "over").exists():
            assert time.monotonic() < until
            time.sleep(0.05)
        assert ask(f"{job}/view").status == 200
        ask.close()
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=SECONDS)

    assert lingered(tmp_path) < 20
    assert "Traceback" not in errors


def test_whoever_asks_may_ask_again() -> None:
    now = [100.0]
    audience = Audience(lambda: now[0])
    assert not audience.is_waiting

    audience.asked()
    now[0] += 2.4
    assert audience.is_waiting

    now[0] += 0.2
    assert not audience.is_waiting
