"""Programs as their users run them, and servers for them to read from."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).parents[2] / "examples"


class Server:
    """Sends lines to who connects first, on loopback.

    Attributes:
        port: Where it listens, as an argument of a program.
    """

    def __init__(self, server: socket.socket) -> None:
        self.port = str(server.getsockname()[1])
        self._server = server
        self._lines: Queue[str | None] = Queue()

    def send(self, *lines: str) -> None:
        """Send lines, as soon as somebody has connected."""
        for line in lines:
            self._lines.put(f"{line}\n")

    def run(self) -> None:
        """Send lines until the end, which is None."""
        connection, _ = self._server.accept()
        with connection:
            while (line := self._lines.get()) is not None:
                connection.sendall(line.encode())

    def end(self) -> None:
        """Let `run` return."""
        self._lines.put(None)


@contextmanager
def serving(*lines: str) -> Iterator[Server]:
    """A server that sends these lines, and what it is told to send afterwards."""
    with socket.create_server(("localhost", 0)) as listening:
        server = Server(listening)
        server.send(*lines)
        threading.Thread(target=server.run, daemon=True).start()
        yield server
        server.end()


@contextmanager
def started(example: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """An example in a process group of its own, of which nothing is left afterwards."""
    run = subprocess.Popen(
        [sys.executable, "-u", str(EXAMPLES / example), *arguments],
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


def interrupt(run: subprocess.Popen[str]) -> str:
    """Interrupt a program as a terminal does, every process of it; return its standard error."""
    os.killpg(run.pid, signal.SIGINT)
    _, errors = run.communicate(timeout=60)
    return errors
