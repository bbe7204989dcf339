"""A program starts again on the same port and checkpoint location as soon as the one before has ended, however that was."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import pytest
from tests.servers.processes import processes

SECONDS = 60

PROGRAM = """
import os, signal, sys, time
from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.testing import TestingSource

port, location = sys.argv[1:]
signal.signal(signal.SIGINT, signal.default_int_handler)
told = []

def work(number):
    if not told:
        told.append(os.fork())
        if not told[0]:  # a process that outlives this one, as a pool of workers may
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            time.sleep(600)
        print(os.getpid(), flush=True)
    time.sleep(0.01)
    return number

settings = {
    "execution.target": "local",
    "rest.enabled": "true",
    "rest.bind-port": port,
    "execution.checkpointing.dir": location,
}
configuration = Configuration()
for key, value in settings.items():
    configuration.set_string(key, value)
env = StreamExecutionEnvironment.get_execution_environment(configuration)
numbers = env.from_source(
    TestingSource([[number] for number in range(100_000)]), WatermarkStrategy.no_watermarks(), "numbers"
)
numbers.map(work).add_sink(lambda number: None)
env.execute("again")
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_at_once(number: signal.Signals, tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-c", PROGRAM, str(port), str(tmp_path / "location")]
    with ExitStack() as at_end:
        for _ in range(2):
            run = at_end.enter_context(
                subprocess.Popen(
                    command,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    start_new_session=True,
                )
            )
            at_end.callback(os.killpg, run.pid, signal.SIGKILL)
            assert run.stdout is not None
            assert run.stderr is not None
            assert run.stdout.readline(), run.stderr.read()
            with urlopen(f"http://127.0.0.1:{port}/jobs/overview", timeout=SECONDS) as answer:
                assert b"RUNNING" in answer.read()
            os.kill(run.pid, number)
            assert run.wait(SECONDS) == (0 if number == signal.SIGINT else -number)
            assert processes(run.pid), "The process that was forked is to live on."
