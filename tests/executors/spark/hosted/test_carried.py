"""Functions that travel by their code, called without Spark and, as on a server, without penstock."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle

from penstock.executors.spark.hosted import carried
from penstock.executors.spark.hosted.by_value import travels_by_code
from penstock.executors.spark.hosted.relay import Relay

STUB = "def run_job(payload, spark):\n    print(payload.decode(), spark)\n"

CALL = """
import pickle
import sys


class Batch:
    sparkSession = "the session"


with open(sys.argv[1], "rb") as file:
    host = pickle.load(file)
host(Batch(), 0)
print([name for name in sys.modules if name.startswith("penstock.errors")])
"""


def code() -> bytes:
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as archive:
        archive.writestr("penstock/__init__.py", "")
        archive.writestr("penstock/stub.py", STUB)
    return found.getvalue()


@pytest.mark.parametrize("is_open_to_others", [False, True])
def test_the_driver_is_run_with_the_code_that_it_brings(
    tmp_path: Path, is_open_to_others: bool
) -> None:
    travels_by_code(carried)
    function = tmp_path / "function"
    host = carried.host_of("digest", code(), b"cpenstock.stub\nrun_job\n.", b"payload")
    function.write_bytes(cloudpickle.dumps(host))  # type: ignore[no-untyped-call]
    script = tmp_path / "call.py"
    script.write_text(CALL)
    folder = tmp_path / "tmp"
    folder.mkdir()
    usual = folder / f"penstock-host-{os.getuid()}"
    if is_open_to_others:
        usual.mkdir()
        usual.chmod(0o777)

    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-P", script, function],
            env={"TMPDIR": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout == "payload the session\n[]\n", done.stderr
    places = [path.parent for path in folder.rglob("digest")]
    assert usual not in places if is_open_to_others else places == [usual]


class FakeSession:
    session_id = "a"

    def _create_remote_dataframe(self, frame: str) -> str:
        return f"frame {frame}"


class FakePlan:
    _relation_id = "7"


class FakeBatch:
    _plan = FakePlan()
    sparkSession = FakeSession()  # noqa: N815 - Spark's name


class Runs:
    """What a relay has run."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, int]] = []
        self.error: Exception | None = None

    def __call__(self, batch: Any, number: int) -> None:
        self.ran.append((batch, number))
        if self.error is not None:
            raise self.error


@pytest.fixture
def runs() -> Runs:
    return Runs()


@pytest.fixture
def a_relay(runs: Runs) -> Iterator[Relay]:
    session: Any = FakeSession()
    found = Relay(session, runs)
    yield found
    found.close()


def test_a_relay_has_micro_batches_run_here(a_relay: Relay, runs: Runs) -> None:
    function = a_relay.function()
    function(FakeBatch(), 3)
    function(FakeBatch(), 4)
    assert runs.ran == [("frame 7", 3), ("frame 7", 4)]


def test_what_a_micro_batch_fails_with_reaches_spark_in_one_line(
    a_relay: Relay, runs: Runs
) -> None:
    runs.error = ValueError("first line\nsecond line")
    with pytest.raises(RuntimeError, match=r"^first line\n$"):
        a_relay.function()(FakeBatch(), 3)


def test_a_micro_batch_fails_whose_driver_has_ended(a_relay: Relay) -> None:
    function = a_relay.function()
    a_relay.close()
    with pytest.raises(OSError, match="No such file"):
        function(FakeBatch(), 3)


def test_nobody_else_may_have_micro_batches_run(a_relay: Relay) -> None:
    assert Path(a_relay._path).parent.stat().st_mode & 0o777 == 0o700
