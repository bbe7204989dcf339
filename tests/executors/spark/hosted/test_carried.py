"""Functions that travel by their code, called without Spark and, as on a server, without penstock."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle

from penstock.executors.spark.hosted import carried
from penstock.executors.spark.hosted.by_value import travels_by_code
from penstock.executors.spark.hosted.relay import Relay

STUB = """
def run_job(payload, spark):
    print(payload.decode(), spark)


def doubled(batches):
    for batch in batches:
        yield 2 * batch
"""

CALL = """
import pickle
import sys


class Batch:
    sparkSession = "the session"


with open(sys.argv[1], "rb") as file:
    host = pickle.load(file)
host(Batch(), 0)
sys.stdout.flush()
sys.stdin.read()
print([name for name in sys.modules if name.startswith("penstock.errors")])
"""

CALL_TWICE = """
import pickle
import sys

with open(sys.argv[1], "rb") as file:
    function = pickle.load(file)
print(list(function([1, 2])), list(function([3])))
print(sum("digest" in place for place in sys.path))
"""


def code() -> bytes:
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as archive:
        archive.writestr("penstock/__init__.py", "")
        archive.writestr("penstock/stub.py", STUB)
    return found.getvalue()


class Server:
    """Calls functions as a server does, each in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.place = folder / "tmp"
        self.place.mkdir()
        self.usual = self.place / f"penstock-host-{os.getuid()}"
        self._folder = folder
        self._script = folder / "call.py"
        self._script.write_text(CALL)

    def start(self, digest: str = "digest") -> subprocess.Popen[str]:
        """Start a driver, which runs until its input ends."""
        travels_by_code(carried)
        function = self._folder / f"function-{digest}"
        host = carried.host_of(digest, code(), b"cpenstock.stub\nrun_job\n.", b"payload")
        function.write_bytes(cloudpickle.dumps(host))  # type: ignore[no-untyped-call]
        return subprocess.Popen(
            [sys.executable, "-P", self._script, function],
            env={"TMPDIR": str(self.place)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, digest: str = "digest") -> None:
        """Run a driver to its end."""
        with self.start(digest) as driver:
            printed, said = driver.communicate("")
        assert printed == "payload the session\n[]\n", said

    def versions(self) -> set[str]:
        """The code that is there."""
        return {path.name for path in self.usual.iterdir() if path.is_dir()}


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


@pytest.mark.parametrize("is_open_to_others", [False, True])
def test_the_driver_is_run_with_the_code_that_it_brings(
    server: Server, is_open_to_others: bool
) -> None:
    if is_open_to_others:
        server.usual.mkdir()
        server.usual.chmod(0o777)
    for _ in range(2):
        server.run()
    places = [path.parent for path in server.place.rglob("digest")]
    assert server.usual not in places if is_open_to_others else places == [server.usual]


def test_code_is_deleted_once_no_driver_uses_it(server: Server) -> None:
    with server.start("old") as driver:
        assert driver.stdout is not None
        driver.stdout.readline()
        server.run("new")
        assert server.versions() == {"old", "new"}
        driver.kill()
    server.run("newer")
    assert server.versions() == {"newer"}


def test_code_stays_while_one_of_several_drivers_uses_it(server: Server) -> None:
    with server.start() as first, server.start() as second:
        for driver in (first, second):
            assert driver.stdout is not None
            driver.stdout.readline()
        first.communicate("")
        server.run("other")
        assert server.versions() == {"digest", "other"}
        second.communicate("")


def test_what_drivers_left_that_were_killed_is_deleted(server: Server) -> None:
    (server.usual / "digest.half").mkdir(parents=True)
    server.usual.chmod(0o700)
    server.run("other")
    assert server.versions() == {"other"}


def test_drivers_that_start_at_once_all_have_their_code(server: Server) -> None:
    drivers = [server.start(digest) for digest in ("a", "b") * 4]
    for driver in drivers:
        with driver:
            printed, said = driver.communicate("")
        assert printed == "payload the session\n[]\n", said


def test_a_function_for_partitions_brings_its_code_once_to_each_process(server: Server) -> None:
    travels_by_code(carried)
    pickled = server.place / "function"
    function = carried.function_with("digest", code(), b"cpenstock.stub\ndoubled\n.")
    pickled.write_bytes(cloudpickle.dumps(function))  # type: ignore[no-untyped-call]
    done = subprocess.run(
        [sys.executable, "-P", "-c", CALL_TWICE, pickled],
        env={"TMPDIR": str(server.place)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "[2, 4] [6]\n1\n", done.stderr


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


def relayed(function: Callable[[Any, int], None], number: int) -> None:
    """Hand on a micro-batch, as a process whose prints go nowhere."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        function(FakeBatch(), number)


@pytest.fixture
def a_relay(runs: Runs) -> Iterator[Relay]:
    session: Any = FakeSession()
    found = Relay(session, runs)
    yield found
    found.close()


def test_a_relay_has_micro_batches_run_here(a_relay: Relay, runs: Runs) -> None:
    function = a_relay.function()
    relayed(function, 3)
    relayed(function, 4)
    assert runs.ran == [("frame 7", 3), ("frame 7", 4)]


def test_what_spark_prints_of_each_micro_batch_is_in_no_log(a_relay: Relay) -> None:
    log = io.StringIO()
    with redirect_stdout(log):
        a_relay.function()(FakeBatch(), 3)
        with sys.stdout:
            print("Completed batch 3")
    assert log.getvalue() == ""


def test_what_a_relay_left_whose_process_was_killed_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    session: Any = FakeSession()
    living = Relay(session, Runs())
    with socket.socket(socket.AF_UNIX) as dead:
        left = tmp_path / "penstock-relay-dead"
        left.mkdir()
        dead.bind(str(left / "socket"))
    begins, other = tmp_path / "penstock-relay-begins", tmp_path / "other"
    for folder in (begins, other):
        folder.mkdir()
    for folder in (Path(living._path).parent, left, other):
        os.utime(folder, (0, 0))
    another = Relay(session, Runs())
    kept = {Path(living._path).parent, Path(another._path).parent, begins, other}
    assert set(tmp_path.iterdir()) == kept
    living.close()
    another.close()


def test_what_a_micro_batch_fails_with_reaches_spark_in_one_line(
    a_relay: Relay, runs: Runs
) -> None:
    runs.error = ValueError("first line\nsecond line")
    with pytest.raises(RuntimeError, match=r"^first line\n$"):
        relayed(a_relay.function(), 3)


def test_a_micro_batch_fails_whose_driver_has_ended(a_relay: Relay) -> None:
    function = a_relay.function()
    a_relay.close()
    with pytest.raises(OSError, match="No such file"):
        relayed(function, 3)


def test_nobody_else_may_have_micro_batches_run(a_relay: Relay) -> None:
    assert Path(a_relay._path).parent.stat().st_mode & 0o777 == 0o700
