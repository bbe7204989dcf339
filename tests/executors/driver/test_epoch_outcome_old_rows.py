"""Jobs go on from checkpoints of the version that sorted the fields of rows made of keyword arguments."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.executors.old_checkpoints import make_old
from tests.executors.rescaling import TIMES, input_of, new_environment, run

from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.storage import LocalStorage
from penstock.common import Row, Types
from penstock.common.time import Time
from penstock.datastream import DataStream, KeyedProcessFunction, RuntimeContext
from penstock.datastream.functions import KeyedBroadcastProcessFunction
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from penstock.errors import KeyFieldOrderError
from penstock.executors.driver.recovery.restarts import is_worth_restarting
from penstock.inspection.verification import verify_checkpoint

CUTS = [[(place % 5, 100 * epoch + place) for place in range(10)] for epoch in range(4)]
"""Numbers that keys are made of, and timestamps."""

Make = Callable[[int], Any]


def in_order(number: int) -> Any:
    """A row as the version before made it of any keyword arguments, and as now of sorted ones."""
    return Row(bag=number, cup="c", tea=number % 2)


def otherwise(number: int) -> Any:
    return Row(tea=number % 2, bag=number, cup="c")


def without_names(number: int) -> Any:
    """A row of a type that is declared without names, as the version before made it."""
    return Row(number, "c")


@dataclasses.dataclass(frozen=True)
class Order:
    row: Any


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield (value, count)


class Alarm(KeyedProcessFunction):
    """Has nothing but timers."""

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(1000 + value[0])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ("alarm", timestamp)


class CountInMap(KeyedProcessFunction):
    """Has rows as keys in a map."""

    def __init__(self, make: Make) -> None:
        self._make = make

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = MapStateDescriptor("counts", Types.PICKLED_BYTE_ARRAY(), Types.LONG())
        self._counts = runtime_context.get_map_state(descriptor)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        key = self._make(value[0])
        count = (self._counts.get(key) or 0) + 1
        self._counts.put(key, count)
        yield (value, count)


RULES = MapStateDescriptor("rules", Types.PICKLED_BYTE_ARRAY(), Types.LONG())


class CountRules(KeyedBroadcastProcessFunction):
    """Has rows as keys in broadcast state."""

    def __init__(self, make: Make) -> None:
        self._make = make

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        state = ctx.get_broadcast_state(RULES)
        key = self._make(value[0])
        count = (state.get(key) or 0) + 1
        state.put(key, count)
        yield ("rule", value, count)


def of_values(stream: DataStream, make: Make) -> DataStream:
    return stream.key_by(lambda record: make(record[0])).process(Count())


def of_timers(stream: DataStream, make: Make) -> DataStream:
    timed = stream.assign_timestamps_and_watermarks(TIMES)
    return timed.key_by(lambda record: make(record[0])).process(Alarm())


def of_nested_rows(stream: DataStream, make: Make) -> DataStream:
    by_order = stream.key_by(lambda record: ("order", Order((1, make(record[0])))))
    return (
        by_order.map(lambda record: (1, record))
        .key_by(lambda pair: frozenset([make(pair[1][0])]))
        .reduce(lambda one, other: (one[0] + other[0], other[1]))
    )


def of_windows(stream: DataStream, make: Make) -> DataStream:
    timed = stream.assign_timestamps_and_watermarks(TIMES)
    windows = timed.key_by(lambda record: make(record[0])).window(
        TumblingEventTimeWindows.of(Time.milliseconds(1000))
    )
    return windows.reduce(lambda one, other: (one[0], one[1] + other[1]))


def of_sessions(stream: DataStream, make: Make) -> DataStream:
    timed = stream.assign_timestamps_and_watermarks(TIMES)
    windows = timed.key_by(lambda record: make(record[0])).window(
        EventTimeSessionWindows.with_gap(Time.milliseconds(1000))
    )
    return windows.reduce(lambda one, other: (one[0], one[1] + other[1]))


def of_maps(stream: DataStream, make: Make) -> DataStream:
    return stream.key_by(lambda record: 0).process(CountInMap(make))


def of_rules(stream: DataStream, make: Make) -> DataStream:
    rules = stream.filter(lambda record: record[0] == 1).broadcast(RULES)
    return stream.key_by(lambda record: record[0]).connect(rules).process(CountRules(make))


KINDS = [of_values, of_timers, of_nested_rows, of_windows, of_sessions, of_maps, of_rules]
Build = Callable[[DataStream, Make], DataStream]


@pytest.fixture(params=["hashmap", "rocksdb"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Job:
    """A program whose keys are made in some way."""

    def __init__(self, location: Path, build: Build, backend: str = "hashmap") -> None:
        self.location = location
        self._build = build
        self._backend = backend

    def run(
        self,
        make: Make,
        until: int | None = None,
        parallelism: int = 2,
        location: Path | None = None,
        cuts: Any = CUTS,
        **settings: str,
    ) -> list[Any]:
        place = location or self.location
        environment = new_environment(parallelism, place, self._backend, **settings)
        stream = self._build(input_of(environment, cuts, until), make).uid("counts")
        return run(environment, stream)

    def epochs(self) -> list[int]:
        return StoredEpochs(LocalStorage(str(self.location))).numbers()


@pytest.mark.parametrize("build", KINDS)
def test_rows_that_are_other_keys_now_are_refused_and_sorted_ones_go_on(
    build: Build, backend: str, tmp_path: Path
) -> None:
    job = Job(tmp_path / "job", build, backend)
    due = Job(tmp_path / "once", build, backend).run(in_order)
    found = job.run(in_order, until=2)
    make_old(job.location)
    before = job.epochs()

    with pytest.raises(KeyFieldOrderError) as told:
        job.run(otherwise)

    for text in ("uid 'counts'", "(tea, bag, cup)", "the order (bag, cup, tea)", "Epoch 2 is not"):
        assert text in told.value.message
    assert "Row(bag=..., cup=..., tea=...)" in str(told.value.hint)
    assert not is_worth_restarting(told.value)
    assert job.epochs() == before

    found += job.run(in_order)
    assert sorted(found, key=repr) == sorted(due, key=repr)


def test_rows_that_have_names_now_are_refused_and_those_without_go_on(
    backend: str, tmp_path: Path
) -> None:
    declared = Types.ROW([Types.INT(), Types.STRING()])
    job = Job(tmp_path / "job", of_values, backend)
    due = Job(tmp_path / "once", of_values, backend).run(without_names)
    found = job.run(without_names, until=2)
    make_old(job.location)
    before = job.epochs()

    with pytest.raises(KeyFieldOrderError, match=r"\(f0, f1\), .* without names") as told:
        job.run(lambda number: declared.convert(tuple(without_names(number))))

    assert "Row(*record)" in str(told.value.hint)
    assert job.epochs() == before
    found += job.run(without_names)
    assert sorted(found, key=repr) == sorted(due, key=repr)


def test_a_key_that_comes_late_and_to_another_subtask_is_refused(
    backend: str, tmp_path: Path
) -> None:
    # Rows of another order have other hashes, so that the subtask they come to may have no keys of old.
    job = Job(tmp_path, of_values, backend)
    cuts = [[(1, 0)], [], [], [], [], [(1, 5)]]
    job.run(in_order, until=2, parallelism=1, cuts=cuts)
    make_old(job.location)

    assert job.run(otherwise, until=4, parallelism=4, cuts=cuts) == []
    with pytest.raises(KeyFieldOrderError, match="Epoch 5 is not committed"):
        job.run(otherwise, parallelism=3, cuts=cuts)
    assert job.run(in_order, parallelism=3, cuts=cuts) == [((1, 5), 2)]


@pytest.mark.parametrize(
    "make",
    [
        lambda number: number,
        lambda number: ("key", str(number)),
        lambda number: Row(number, 1),
        lambda number: Row(only=number),
        in_order,
        Row("tea", "bag"),  # the names of a template were never sorted
    ],
)
def test_keys_that_are_what_they_were_go_on(make: Make, backend: str, tmp_path: Path) -> None:
    job = Job(tmp_path / "job", of_values, backend)

    def as_key(number: int) -> Any:
        return make(number, 1) if isinstance(make, Row) else make(number)

    keeps: dict[str, Any] = {"execution__checkpointing__num_retained": "9"}
    found = job.run(as_key, until=2, **keeps)
    make_old(job.location)
    found += job.run(as_key, until=3, **keeps)
    assert verify_checkpoint(str(job.location), epoch=None).problems[2] == []
    found += job.run(as_key, **keeps)

    assert sorted(found) == sorted(Job(tmp_path / "once", of_values).run(as_key))
    assert job.epochs() == list(range(4))


def test_rows_of_a_checkpoint_of_today_may_have_any_order(backend: str, tmp_path: Path) -> None:
    job = Job(tmp_path, of_values, backend)
    job.run(in_order, until=3)
    counts = [count for _, count in job.run(otherwise)]

    assert counts.count(1) == 5  # they are other keys


def test_no_other_operator_and_no_other_names_are_minded(tmp_path: Path) -> None:
    def two(stream: DataStream, make: Make) -> DataStream:
        is_new = make is otherwise
        counts = of_values(stream, in_order).uid("counts of old")
        more = of_values(stream, otherwise if is_new else str)
        named = of_values(stream, lambda number: Row(z=number, bag=1) if is_new else in_order(1))
        return counts.union(more.uid("more"), named.uid("named")).map(lambda found: found)

    job = Job(tmp_path, two)
    found = job.run(in_order, until=3)
    make_old(job.location)
    assert len(found) + len(job.run(otherwise)) == 3 * 40


@pytest.mark.parametrize("way", ["savepoint", "epoch"])
def test_a_job_that_goes_back_is_refused_as_well(way: str, tmp_path: Path) -> None:
    job = Job(tmp_path / "job", of_values)
    job.run(in_order, until=3, execution__checkpointing__num_retained="3")
    make_old(job.location)
    settings: dict[str, Any] = {"execution__state_recovery__epoch": "1"}
    new = job.location
    if way == "savepoint":
        new = tmp_path / "new"
        settings = {"execution__state_recovery__path": str(job.location)}
    number = 3 if way == "savepoint" else 2

    for _ in range(2):
        with pytest.raises(KeyFieldOrderError, match=f"Epoch {number} is not"):
            job.run(otherwise, location=new, **settings)
        settings = {}
    counts = [count for _, count in job.run(in_order, location=new)]
    assert max(counts) == 8
