from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

WORD_COUNT = Path(__file__).parents[2] / "examples" / "word_count.py"
COMMAND = [sys.executable, str(WORD_COUNT)]

pytestmark = pytest.mark.spark


def test_counts_the_words_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "hamlet.txt"
    file.write_text("To be, or not to be:\nthat is the question.\n\nTo die -- to sleep\n")

    run = subprocess.run(
        [*COMMAND, str(file)], capture_output=True, text=True, timeout=110, check=False
    )

    assert run.returncode == 0, run.stderr
    assert [line.split() for line in run.stdout.splitlines()] == [
        ["4", "to"],
        ["2", "be"],
        *[["1", word] for word in ("die", "is", "not", "or", "question", "sleep", "that", "the")],
    ]


def test_counts_the_words_of_a_socket_until_interrupted() -> None:
    with (
        serving("to be or not\n", "to be\n") as port,
        started("--socket", "localhost", port) as run,
    ):
        assert run.stdout is not None
        wanted = {("to", 2), ("be", 2), ("or", 1), ("not", 1)}
        for line in run.stdout:
            wanted -= {
                (word, int(count)) for word, count in re.findall(r"\('(\w+)', (\d+)\)", line)
            }
            if not wanted:
                break
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to every process of the program
        _, errors = run.communicate(timeout=60)

    assert not wanted, errors
    assert run.returncode == 0, errors
    assert re.search(r"^Stopped after \d+ complete epochs? and 2 records\.$", errors, re.MULTILINE)
    assert "Traceback" not in errors


@contextmanager
def serving(*lines: str) -> Iterator[str]:
    """A server on loopback that sends lines to who connects first, and then nothing; its port."""
    ended = threading.Event()

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            for line in lines:
                connection.sendall(line.encode())
            ended.wait()

    with socket.create_server(("localhost", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield str(server.getsockname()[1])
        ended.set()


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The program in a process group of its own, of which nothing is left afterwards."""
    run = subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with run:
        try:
            yield run
        finally:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)
