"""`penstock jobs` shows the jobs of several programs, and ends with Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.executors.driver.rest.client import Client
from tests.executors.driver.rest.test_audience import program
from tests.executors.driver.rest.test_routes import wait_for_result

from penstock.cli import main

SECONDS = 60


@contextmanager
def shown(*drivers: int) -> Iterator[tuple[Any, Client]]:
    """Run the command, and return it and a client of it."""
    named = [text for port in drivers for text in ("--driver", f"127.0.0.1:{port}")]
    command = [sys.executable, "-m", "penstock", "jobs", "--port", "0", *named]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        try:
            assert run.stdout is not None
            line = run.stdout.readline()
            assert line.startswith("The jobs of this machine: http://127.0.0.1:")
            client = Client(urlsplit(line.split()[-1]).port or 0)
            yield run, client
            client.close()
        finally:
            run.kill()


def test_jobs_of_two_programs_are_stopped_at_one_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = tmp_path / "one", tmp_path / "two"
    for folder in folders:
        folder.mkdir()
    with ExitStack() as runs:
        first = runs.enter_context(program(folders[0], "stop"))
        second = runs.enter_context(program(folders[1], "stop"))
        run, ask = runs.enter_context(shown(first[1].port, second[1].port))
        for _, _, job in (first, second):
            body = {"targetDirectory": str(tmp_path / "savepoints")}
            begun = ask(f"{job}/stop", "POST", body)
            saved = wait_for_result(ask, f"{job}/savepoints/{begun.body['request-id']}")
            assert "location" in saved["operation"], saved
        main(["list", "--all", "--address", f"127.0.0.1:{ask.port}"])
        run.send_signal(signal.SIGINT)
        assert run.wait(SECONDS) == 0
        for driver, _, _ in (first, second):
            assert driver.wait(SECONDS) == 0

    assert capsys.readouterr().out.count("FINISHED") == 2
    assert len(list((tmp_path / "savepoints").iterdir())) == 2


def test_a_port_that_is_taken_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with shown(1) as (_, client):
        assert main(["jobs", "--port", str(client.port)]) == 2
    assert "Name another with --port" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["--port", "99999"], ["--port", "x"], ["--driver", "8081"], ["--driver", "a/b:1"]]
)
def test_what_is_no_address_is_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        main(["jobs", *arguments])
