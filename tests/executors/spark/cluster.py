"""A standalone Spark cluster on loopback: a master and two workers, each a process of its own."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import sysconfig
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyspark

from penstock.executors.spark.java import ensure_java

SPARK_HOME = Path(pyspark.__file__).parent
SOON_READY = "-XX:TieredStopAtLevel=1"
"""What lets a JVM that does little begin earlier."""
_READER = "cluster log"


def bare_python(folder: Path) -> Path:
    """Make an interpreter that has what is installed, but not penstock, which the test installs.

    An editable install is a .pth file; `-S` leaves those out.
    """
    script = folder / "python3"
    packages = sysconfig.get_paths()["purelib"]
    script.write_text(
        f'#!/bin/sh\nPYTHONPATH="{packages}:$PYTHONPATH" exec "{sys.executable}" -S "$@"\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


@contextmanager
def standalone_cluster(folder: Path, workers: int = 2) -> Iterator[str]:
    """Run a master and workers of one core each, and yield the master's address."""
    ensure_java()
    environment = os.environ | {
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOG_DIR": str(folder / "logs"),
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": SOON_READY,
    }
    processes: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [str(SPARK_HOME / "bin" / "spark-class"), *arguments],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    deploy = "org.apache.spark.deploy"
    ports = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    try:
        master = start(f"{deploy}.master.Master", *ports)
        address = _wait_for(master, r"Starting Spark master at (spark://\S+)")
        worker = [f"{deploy}.worker.Worker", *ports, "--cores", "1", "--memory", "1g", address]
        for process in [start(*worker) for _ in range(workers)]:
            _wait_for(process, r"Successfully registered with master (\S+)")
        yield address
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()
        for reader in threading.enumerate():
            if reader.name == _READER:
                reader.join()


def _drain(log: IO[str]) -> None:
    with log:
        deque(log, 0)


def _wait_for(process: subprocess.Popen[str], pattern: str) -> str:
    """Read a process's log up to a line that matches, and return what its group matched.

    What comes later is read too, and dropped, so that the process never waits for a reader.
    """
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        match = re.search(pattern, line)
        if match:
            threading.Thread(target=_drain, args=(process.stderr,), name=_READER).start()
            return match.group(1)
    raise RuntimeError(f"{pattern!r} never came:\n{''.join(seen)}")
