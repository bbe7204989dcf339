"""A standalone Spark cluster on loopback: a master and workers, each a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import pyspark
from tests.servers.namespaces import Namespace
from tests.servers.processes import Process, Session

from penstock.executors.spark.java import ensure_java

SPARK_HOME = Path(pyspark.__file__).parent
SOON_READY = "-XX:TieredStopAtLevel=1 -Xshare:auto"
"""What lets a JVM that does little begin earlier."""
_DEPLOY = "org.apache.spark.deploy"
_LOOPBACK = "127.0.0.1"
_READER = "cluster log"


class SparkCluster:
    """A master and workers, until it is stopped; it stops with this process.

    A master and two workers are ready after 3 to 4 s on two cores, and take 0.5 GB; an executor takes as
    much again.

    Args:
        folder: Where they log and work.
        workers: How many workers there are.
        cores: How many cores each has.
        python: The interpreter of executors that are not told otherwise. Default: the running one.
        environment: Environment variables that all of them get.
        namespaces: Networks that workers run in, one after the other; none: they share this machine's.

    Attributes:
        master: The address of the master, as `spark://...`.
    """

    def __init__(
        self,
        folder: Path,
        workers: int = 2,
        cores: int = 1,
        python: str = sys.executable,
        environment: Mapping[str, str] | None = None,
        namespaces: Sequence[Namespace] = (),
    ) -> None:
        ensure_java()
        self._environment = {
            **os.environ,
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOG_DIR": str(folder / "logs"),
            "SPARK_WORKER_DIR": str(folder / "work"),
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_MEMORY": "128m",
            "SPARK_DAEMON_JAVA_OPTS": f"{SOON_READY} -XX:+UseSerialGC",
            "PYSPARK_PYTHON": python,
            **(environment or {}),
        }
        self._cores = cores
        self._sessions: list[Session] = []
        try:
            host = namespaces[0].host if namespaces else _LOOPBACK
            master = self._start(host, f"{_DEPLOY}.master.Master")
            self.master = wait_for_line(master, r"Starting Spark master at (spark://\S+)")
            places = [
                namespaces[n % len(namespaces)] if namespaces else None for n in range(workers)
            ]
            for worker in [self._start_worker(place) for place in places]:
                wait_for_line(worker, r"Successfully registered with master (\S+)")
        except BaseException:
            self.close()
            raise

    def _start_worker(self, place: Namespace | None) -> Session:
        size = ["--cores", str(self._cores), "--memory", "1g"]
        worker = f"{_DEPLOY}.worker.Worker"
        if place is None:
            return self._start(_LOOPBACK, worker, *size, self.master)
        return self._start(place.address, worker, *size, self.master, prefix=place.prefix)

    def _start(self, host: str, name: str, *arguments: str, prefix: Sequence[str] = ()) -> Session:
        address = ["--host", host, "--port", "0", "--webui-port", "0"]
        program = str(SPARK_HOME / "bin" / "spark-class")
        environment = {**self._environment, "SPARK_LOCAL_IP": host}
        command = [*prefix, program, name, *address, *arguments]
        session = Session(command, environment, stderr=subprocess.PIPE)
        self._sessions.append(session)
        return session

    def executors(self) -> list[Process]:
        """Return the JVMs that run tasks now."""
        return [
            process
            for session in self._sessions
            for process in session.processes()
            if "CoarseGrainedExecutorBackend" in process.command and process.is_java
        ]

    def python_workers(self) -> list[Process]:
        """Return the Python processes that run tasks now."""
        return [
            process
            for session in self._sessions
            for process in session.processes()
            if process.is_spark_worker
        ]

    def close(self) -> None:
        """End all of it, with everything it started."""
        for session in reversed(self._sessions):
            session.end()
        for reader in threading.enumerate():
            if reader.name == _READER:
                reader.join()


def _drain(log: IO[bytes]) -> None:
    with log:
        deque(log, 0)


def wait_for_line(session: Session, pattern: str) -> str:
    """Read a program's log up to a line that matches, and return what its group matched.

    What comes later is read too, and dropped, so that the program never waits for a reader.
    """
    assert session.stderr is not None
    seen = []
    for data in session.stderr:
        line = data.decode(errors="replace")
        seen.append(line)
        if match := re.search(pattern, line):
            threading.Thread(target=_drain, args=(session.stderr,), name=_READER).start()
            return match.group(1)
    session.stderr.close()
    raise RuntimeError(f"{pattern!r} never came:\n{''.join(seen)}")
