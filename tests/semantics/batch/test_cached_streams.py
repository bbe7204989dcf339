"""Cached streams: what one job computed the next ones read, on both executors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.semantics.conftest import NewEnvironment
from tests.semantics.running import collect, epochs

from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import DataStream, OutputTag, RuntimeExecutionMode
from penstock.datastream.window import TimeWindow, TumblingEventTimeWindows
from penstock.errors import UnsupportedOperationError
from penstock.testing import local_environment

ODD = OutputTag("odd")
TIMED = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda record, _: record[0]
)


class Counted:
    """Makes a record that can be changed of a number, and leaves a mark in a file for each call."""

    def __init__(self, calls: Path) -> None:
        self._calls = calls

    def __call__(self, number: int) -> list[int]:
        with self._calls.open("a") as file:
            file.write("x")
        return [number, number]

    @property
    def count(self) -> int:
        return len(self._calls.read_text()) if self._calls.exists() else 0


class FailsOnce:
    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __call__(self, record: Any) -> Any:
        if record[0] == 7 and not self._marker.exists():
            self._marker.touch()
            raise RuntimeError("once")
        return record


def spoiled(record: list[int]) -> list[int]:
    record[1] = -1
    return record


def sums(stream: DataStream) -> DataStream:
    """The sums of the windows of ten milliseconds: where timestamps were lost, there are none."""

    def listed(key: Any, window: TimeWindow, records: Any) -> Iterator[Any]:
        yield window.start, sum(number for _, number in records)

    windows = stream.key_by(lambda _: "all").window(TumblingEventTimeWindows(10, 0))
    return windows.apply(listed)


def test_what_one_job_computed_the_next_ones_read(
    new_environment: NewEnvironment, tmp_path: Path
) -> None:
    env = new_environment(
        2,
        execution__runtime_mode="BATCH",
        restart_strategy__type="fixed-delay",
        restart_strategy__fixed_delay__delay="1 ms",
    )
    counted = Counted(tmp_path / "calls")
    numbers = epochs(env, range(10), range(10, 25)).rebalance().map(counted)
    timed = numbers.assign_timestamps_and_watermarks(TIMED).map(FailsOnce(tmp_path / "failed"))
    cached = timed.cache()

    first = collect({"spoiled": cached.map(spoiled), "sums": sums(cached)})
    assert sorted(first["spoiled"]) == [[number, -1] for number in range(25)]
    expected = [(0, sum(range(10))), (10, sum(range(10, 20))), (20, sum(range(20, 25)))]
    assert sorted(first["sums"]) == expected
    calls = counted.count
    assert calls >= 25

    env.set_parallelism(3)
    found = collect({"all": cached, "sums": sums(cached.filter(lambda _: True))})
    assert sorted(found["all"]) == [[number, number] for number in range(25)]
    assert sorted(found["sums"]) == expected
    assert counted.count == calls

    cached.invalidate()
    assert sorted(cached.execute_and_collect()) == [[number, number] for number in range(25)]
    assert counted.count == calls + 25


class Program:
    """A cached stream in the local executor, whose calls are counted."""

    def __init__(self, folder: Path, *cuts: Any) -> None:
        self.env = local_environment().set_runtime_mode(RuntimeExecutionMode.BATCH)
        self.counted = Counted(folder / "calls")
        self.stream = epochs(self.env, *(cuts or (range(3),))).map(self.counted)
        self.cached = self.stream.cache()


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def test_what_is_cached_is_computed_only_for_who_reads_it(program: Program) -> None:
    assert len(list(program.stream.execute_and_collect())) == 3
    assert len(list(program.stream.execute_and_collect())) == 3
    assert program.counted.count == 6


def test_what_a_job_that_did_not_finish_computed_is_not_kept(tmp_path: Path) -> None:
    # More epochs than results wait for who takes them: else the job may be over before it is cancelled.
    program = Program(tmp_path, *([number] for number in range(100)))
    assert program.cached.execute_and_collect(limit=1) == [[0, 0]]
    before = program.counted.count
    assert before < 100
    assert len(list(program.cached.execute_and_collect())) == 100
    assert program.counted.count == before + 100


def test_a_cached_stream_of_which_nothing_came_is_kept_as_well(tmp_path: Path) -> None:
    program = Program(tmp_path, [1])
    none = program.stream.filter(lambda _: False).cache()
    assert list(none.execute_and_collect()) == []
    assert list(none.execute_and_collect()) == []
    assert program.counted.count == 1


def test_side_outputs_and_what_comes_of_cached_streams_are_cached(program: Program) -> None:
    def split(record: list[int]) -> Iterator[Any]:
        yield (ODD, record) if record[0] % 2 else record

    split_up = program.cached.process(lambda record, _: split(record))
    odd, doubled = split_up.get_side_output(ODD).cache(), split_up.map(lambda one: one * 2).cache()
    for _ in range(2):
        found = collect({"odd": odd, "doubled": doubled})
        assert found == {"odd": [[1, 1]], "doubled": [[0] * 4, [2] * 4]}
    assert program.counted.count == 3


def test_records_lie_below_the_checkpoint_location_until_the_environment_is_closed(
    program: Program, tmp_path: Path
) -> None:
    place = tmp_path / "checkpoints"
    settings = Configuration().set_string("execution.checkpointing.dir", str(place))
    program.env.configure(settings)
    list(program.cached.execute_and_collect())
    (folder,) = (place / "cached").iterdir()
    assert len(list(folder.glob("records/*"))) == 1
    program.env.close()
    assert list((place / "cached").iterdir()) == []


def test_records_that_are_gone_are_computed_again(program: Program, tmp_path: Path) -> None:
    settings = Configuration().set_string("execution.checkpointing.dir", str(tmp_path / "dir"))
    program.env.configure(settings)
    for _ in range(2):
        assert len(list(program.cached.execute_and_collect())) == 3
        for file in (tmp_path / "dir").glob("cached/*/records/*"):
            file.unlink()
    assert program.counted.count == 6


def test_only_programs_in_batch_mode_have_cached_streams(program: Program) -> None:
    program.env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    with pytest.raises(
        UnsupportedOperationError, match=r"(?s)BATCH mode.*Hint: .*set_runtime_mode"
    ):
        program.cached.execute_and_collect()
    program.env.set_runtime_mode(RuntimeExecutionMode.AUTOMATIC)
    assert len(list(program.cached.execute_and_collect())) == 3


def test_views_of_streams_are_not_cached(program: Program) -> None:
    keyed = program.stream.key_by(lambda record: record[0])
    for view in (keyed, program.stream.rebalance(), program.cached, keyed.union(program.stream)):
        with pytest.raises(UnsupportedOperationError, match=r"cache\(\) was called"):
            view.cache()


def test_settings_of_a_cached_stream_are_those_of_the_stream_before(program: Program) -> None:
    cached = program.cached
    for setting in (
        lambda: cached.set_parallelism(2),
        lambda: cached.name("mine"),
        cached.get_name,
        lambda: cached.uid("mine"),
        cached.disable_chaining,
    ):
        with pytest.raises(UnsupportedOperationError, match="or a cache"):
            setting()
