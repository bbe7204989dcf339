"""What else goes wrong: a full disk, one that must not be written, a clock that jumps, sinks that fail."""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.crash import job, oracle, program, records, sinks

from penstock.common import WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.files.committer import FileCommitter
from penstock.datastream.connectors.files.writer import FileWriter
from penstock.errors import CheckpointNotWritableError, SinkNotWritableError, UserFunctionError
from penstock.testing import TestingSource

INPUT = records.generate(seed=5, files=8, records=20)
MIDDLE = INPUT[4][0].id


@contextmanager
def in_the_middle(happens: Callable[[], None]) -> Iterator[None]:
    """Let something happen in the middle of the program, each time that it comes there."""

    def stamp(self: program.Stamp, value: records.Record) -> program.Stamped:
        if value.id == MIDDLE:
            happens()
        return original(self, value)

    original = program.Stamp.map
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program.Stamp, "map", stamp)
        yield


def run(folder: Path, *settings: str) -> None:
    """Run the program in this process."""
    options = options_of(folder, *settings)
    env = StreamExecutionEnvironment.get_execution_environment(job.configuration(options))
    env.set_parallelism(2)
    source = TestingSource(INPUT)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "input").uid("input")
    results = program.results_of(stream)
    for name, sink in sinks.sinks_of(options).items():
        results.sink_to(sink).uid(name)
    env.execute("faults")


def options_of(folder: Path, *settings: str) -> argparse.Namespace:
    places = [("--location", "location"), ("--input", "input"), ("--output", "output")]
    given = [part for flag, name in places for part in (flag, str(folder / name))]
    return job.arguments([*given, *(part for setting in settings for part in ("--set", setting))])


def check(folder: Path) -> None:
    assert oracle.faults(INPUT, sinks.contents(options_of(folder))) == []


@contextmanager
def mounted(folder: Path, *mounts: list[str]) -> Iterator[None]:
    """Mount something at a folder, in steps, for those who may."""
    folder.mkdir()
    for options in mounts:
        done = subprocess.run(["mount", *options, folder], capture_output=True, check=False)
        if done.returncode:
            pytest.skip("may not mount")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.parametrize(
    ("full", "error"), [("location", CheckpointNotWritableError), ("output", SinkNotWritableError)]
)
def test_a_disk_that_is_full(tmp_path: Path, full: str, error: type[Exception]) -> None:
    def fill() -> None:
        path = tmp_path / full / "ballast"
        with path.open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
            while True:
                ballast.write(bytes(4_096))

    with mounted(tmp_path / full, ["-t", "tmpfs", "-o", "size=1m,mode=700", "none"]):
        with pytest.raises(error, match="No space left"), in_the_middle(fill):
            run(tmp_path)
        with pytest.raises(error, match="No space left"):
            run(tmp_path)

        (tmp_path / full / "ballast").unlink()
        run(tmp_path)

        check(tmp_path)


@pytest.mark.parametrize(
    ("place", "error"), [("location", CheckpointNotWritableError), ("output", SinkNotWritableError)]
)
def test_a_folder_that_must_not_be_written(
    tmp_path: Path, place: str, error: type[Exception]
) -> None:
    folder = tmp_path / place
    with (
        mounted(folder, ["--bind", str(folder)], ["-o", "remount,bind,ro"]),
        pytest.raises(error, match="Read-only file system"),
    ):
        run(tmp_path)


def test_a_clock_that_jumps_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns
    behind = 0
    monkeypatch.setattr(time, "time_ns", lambda: now() - behind)

    def jump() -> None:
        nonlocal behind
        behind += 3_600_000_000_000

    def jump_and_fail() -> None:
        jump()
        raise LookupError

    with in_the_middle(jump_and_fail), pytest.raises(UserFunctionError, match="LookupError"):
        run(tmp_path)
    with in_the_middle(jump):
        run(tmp_path)

    check(tmp_path)


FIXED = ("restart-strategy.type=fixed-delay", "restart-strategy.fixed-delay.delay=1 ms")


@pytest.mark.parametrize(
    ("owner", "method"),
    [(FileCommitter, "commit"), (FileWriter, "prepare_commit"), (FileWriter, "write")],
)
class TestASinkThatFails:
    def test_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: type, method: str
    ) -> None:
        calls = failing(monkeypatch, owner, method, lambda number: number == 5)

        run(tmp_path, *FIXED)

        check(tmp_path)
        assert len(calls) > 5

    def test_always(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: type, method: str
    ) -> None:
        calls = failing(monkeypatch, owner, method, lambda number: number >= 5)
        attempts = "restart-strategy.fixed-delay.attempts=3"

        with pytest.raises(UserFunctionError, match="ConnectionError: the disk is away") as caught:
            run(tmp_path, *FIXED, attempts)

        assert len(calls) >= 5 + 3  # of each attempt one call, or one of each subtask
        assert "files" in str(caught.value) or "Writer" in str(caught.value)
        assert caught.value.__notes__ == [
            "The job was restarted 3 times before it failed with this."
        ]
        monkeypatch.undo()
        run(tmp_path)
        check(tmp_path)


def failing(
    monkeypatch: pytest.MonkeyPatch, owner: type, method: str, fails: Callable[[int], bool]
) -> list[None]:
    """Let a method fail, by the number of the call; return what grows with each call."""
    original = getattr(owner, method)
    calls: list[None] = []

    def call(self: Any, *arguments: Any) -> Any:
        calls.append(None)
        if fails(len(calls)):
            raise ConnectionError("the disk is away")
        return original(self, *arguments)

    monkeypatch.setattr(owner, method, call)
    return calls
