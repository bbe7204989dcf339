"""BATCH mode: windows that could see the order of records get them in the order of time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.semantics.conftest import NewEnvironment
from tests.semantics.running import collect
from tests.strategies import any_of

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.datastream import (
    AggregateFunction,
    DataStream,
    ReducingStateDescriptor,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.window import (
    CountEvictor,
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from penstock.graph.transformation import OperatorTransformation
from penstock.runtime.operator import BatchOrder
from penstock.runtime.task.sorted_records import SortedRecords
from penstock.testing import local_environment

Numbers = tuple[int, ...]
Record = tuple[str, int, Numbers]
"""A key, an event time and the record's place in the input, alone in a tuple."""

STRATEGY = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda record, _: record[1]
)
SIZE = 20
WEIGHT = ReducingStateDescriptor("weight", lambda a, b: a + b, Types.LONG())
SEEN = ValueStateDescriptor("seen", Types.LONG())


def join(one: Record, other: Record) -> Record:
    return one[0], other[1], one[2] + other[2]


class Join(AggregateFunction):
    def create_accumulator(self) -> Numbers:
        return ()

    def add(self, value: Record, accumulator: Numbers) -> Numbers:
        return accumulator + value[2]

    def get_result(self, accumulator: Numbers) -> Numbers:
        return accumulator

    def merge(self, acc_a: Numbers, acc_b: Numbers) -> Numbers:
        return acc_a + acc_b


JOINS: dict[str, Callable[[Any], DataStream]] = {
    "reduce": lambda windows: windows.reduce(join).map(lambda record: record[2]),
    "aggregate": lambda windows: windows.aggregate(Join()),
    "apply": lambda windows: windows.apply(
        lambda *arguments: [tuple(record[2][0] for record in arguments[-1])]
    ),
}


class Heavy(Trigger[Any, Any]):
    """Fires when the times of the records, modulo 5, add up to 6, and purges."""

    def on_element(self, element: Record, timestamp: Any, window: Any, ctx: Any) -> TriggerResult:
        weight = ctx.get_partitioned_state(WEIGHT)
        weight.add(element[1] % 5)
        if weight.get() < 6:
            return TriggerResult.CONTINUE
        weight.clear()
        return TriggerResult.FIRE_AND_PURGE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(WEIGHT).clear()


class Paired(WindowAssigner[Any, TimeWindow]):
    """Puts every two records of a key, as they come, into a window."""

    def assign_windows(
        self, element: Any, timestamp: int | None, context: Any
    ) -> Collection[TimeWindow]:
        state = context.get_runtime_context().get_state(SEEN)
        seen = state.value() or 0
        state.update(seen + 1)
        start = 1000 + seen // 2 * 10
        return [TimeWindow(start, start + 10)]

    def get_default_trigger(self, env: Any) -> Trigger[Any, Any]:
        return EventTimeTrigger.create()

    def is_event_time(self) -> bool:
        return True


@dataclass(frozen=True)
class Kind:
    """Windows, and a model of them: what those of one key hold, of its records in the order of time."""

    make: Callable[[DataStream], Any]
    expect: Callable[[list[Record]], Iterator[list[Record]]]
    by_key: bool = True


def keyed(stream: DataStream) -> Any:
    return stream.key_by(lambda record: record[0])


def chunks(size: int, slide: int) -> Callable[[list[Record]], Iterator[list[Record]]]:
    def expect(records: list[Record]) -> Iterator[list[Record]]:
        for start in range(0, len(records) - size + 1, slide):
            yield records[start : start + size]

    return expect


def threes_of_windows(records: list[Record]) -> Iterator[list[Record]]:
    windows = defaultdict(list)
    for record in records:
        windows[record[1] // SIZE].append(record)
    for inside in windows.values():
        yield from chunks(3, 3)(inside)


def last_three(records: list[Record]) -> Iterator[list[Record]]:
    for end in range(2, len(records) + 1, 2):
        yield records[max(end - 3, 0) : end]


def heavy(records: list[Record]) -> Iterator[list[Record]]:
    pending: list[Record] = []
    for record in records:
        pending.append(record)
        if sum(time % 5 for _, time, _ in pending) >= 6:
            yield pending
            pending = []


def pairs(records: list[Record]) -> Iterator[list[Record]]:
    for start in range(0, len(records), 2):
        yield records[start : start + 2]


def far(records: list[Record]) -> Iterator[list[Record]]:
    """After a record that is more than 4 later than the one that fired last."""
    for number, record in enumerate(records):
        if number == 0:
            last = record
        elif record[1] - last[1] > 4:
            last = record
            yield records[: number + 1]


KINDS: dict[str, Kind] = {
    "count": Kind(lambda stream: keyed(stream).count_window(3), chunks(3, 3)),
    "sliding count": Kind(lambda stream: keyed(stream).count_window(3, 2), chunks(3, 2)),
    "count of all": Kind(lambda stream: stream.count_window_all(4), chunks(4, 4), by_key=False),
    "count trigger": Kind(
        lambda stream: (
            keyed(stream)
            .window(TumblingEventTimeWindows.of(SIZE))
            .trigger(PurgingTrigger.of(CountTrigger.of(3)))
        ),
        threes_of_windows,
    ),
    "evictor": Kind(
        lambda stream: (
            keyed(stream)
            .window(GlobalWindows.create())
            .trigger(CountTrigger.of(2))
            .evictor(CountEvictor.of(3))
        ),
        last_three,
    ),
    "delta": Kind(
        lambda stream: (
            keyed(stream)
            .window(GlobalWindows.create())
            .trigger(DeltaTrigger.of(4, lambda old, new: new[1] - old[1]))
        ),
        far,
    ),
    "trigger": Kind(
        lambda stream: keyed(stream).window(GlobalWindows.create()).trigger(Heavy()), heavy
    ),
    "assigner": Kind(lambda stream: keyed(stream).window(Paired()), pairs),
}


def expected(kind: Kind, records: list[Record]) -> Counter[Numbers]:
    by_key: dict[Any, list[Record]] = defaultdict(list)
    for record in sorted(records, key=lambda record: record[1]):
        by_key[record[0] if kind.by_key else None].append(record)
    return Counter(
        tuple(number for record in inside for number in record[2])
        for found in by_key.values()
        for inside in kind.expect(found)
    )


def timed(env: StreamExecutionEnvironment, records: list[Record]) -> DataStream:
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    return env.from_collection(records).assign_timestamps_and_watermarks(STRATEGY)


# Records of one time keep the order in which they come.
RECORDS = st.lists(any_of("abc", range(51)), max_size=40).map(
    lambda found: [(key, time, (place,)) for place, (key, time) in enumerate(found)]
)
PROGRAMS = st.lists(any_of(sorted(KINDS), sorted(JOINS)), min_size=1, max_size=5)
"""Windows side by side in one job, which takes much less than a job for each."""


def joined(stream: DataStream, programs: Iterable[tuple[str, str]]) -> dict[Any, DataStream]:
    return {(kind, how): JOINS[how](KINDS[kind].make(stream)) for kind, how in programs}


@settings(max_examples=50, deadline=None)
@given(RECORDS, PROGRAMS, any_of([1, 2, 5], ["hashmap"] * 2 + ["rocksdb"]))
def test_windows_take_records_in_the_order_of_time(
    records: list[Record], programs: list[tuple[str, str]], where: tuple[int, str]
) -> None:
    parallelism, backend = where
    env = local_environment(parallelism)
    env.configure(Configuration().set_string("state.backend.type", backend))
    found = collect(joined(timed(env, records), programs))

    for kind, how in programs:
        assert Counter(found[kind, how]) == expected(KINDS[kind], records), (kind, how)


SOME: list[Record] = [("abc"[n % 3], n * 7 % 50, (n,)) for n in range(50)]


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_order_of_time(new_environment: NewEnvironment, backend: str) -> None:
    env = new_environment(2, state__backend__type=backend)
    found = collect(joined(timed(env, SOME), product(KINDS, JOINS)))

    for (kind, how), results in found.items():
        assert Counter(results) == expected(KINDS[kind], SOME), (kind, how)


ROWS = st.lists(any_of("ab", range(6), range(4)), max_size=30).map(
    lambda found: [(*row, place) for place, row in enumerate(found)]
)
"""Records of a key, an event time, a field with many equal values, and what tells them apart."""

Row4 = tuple[str, int, int, int]

AGGREGATIONS: dict[str, tuple[Callable[[Any], DataStream], Callable[[Row4, Row4], Row4]]] = {
    "sum": (lambda keyed: keyed.sum(2), lambda a, b: (*a[:2], a[2] + b[2], a[3])),
    "min": (lambda keyed: keyed.min(2), lambda a, b: (*a[:2], min(a[2], b[2]), a[3])),
    "max": (lambda keyed: keyed.max(2), lambda a, b: (*a[:2], max(a[2], b[2]), a[3])),
    "min_by": (lambda keyed: keyed.min_by(2), lambda a, b: b if b[2] < a[2] else a),
    "max_by": (lambda keyed: keyed.max_by(2), lambda a, b: b if b[2] > a[2] else a),
    "reduce": (
        lambda keyed: keyed.reduce(lambda a, b: (*a[:3], hash((a[3], b[3])))),
        lambda a, b: (*a[:3], hash((a[3], b[3]))),
    ),
}


def joined_in_order(rows: list[Row4], join: Callable[[Row4, Row4], Row4]) -> Counter[Row4]:
    found: dict[str, Row4] = {}
    for row in rows:
        found[row[0]] = join(found[row[0]], row) if row[0] in found else row
    return Counter(found.values())


def check_aggregations(
    env: StreamExecutionEnvironment, rows: list[Row4], *, is_timed: bool
) -> None:
    stream = env.from_collection(rows)
    if is_timed:
        stream = stream.assign_timestamps_and_watermarks(STRATEGY)
    results = {
        name: aggregate(stream.key_by(lambda row: row[0]))
        for name, (aggregate, _) in AGGREGATIONS.items()
    }
    in_order = sorted(rows, key=lambda row: row[1]) if is_timed else rows
    for name, found in collect(results).items():
        assert Counter(found) == joined_in_order(in_order, AGGREGATIONS[name][1]), name


@settings(max_examples=30)
@given(rows=ROWS, is_timed=st.booleans(), parallelism=st.integers(1, 3))
def test_aggregations_take_records_in_the_order_of_time(
    rows: list[Row4], is_timed: bool, parallelism: int
) -> None:
    env = local_environment().set_runtime_mode(RuntimeExecutionMode.BATCH)
    check_aggregations(env.set_parallelism(parallelism), rows, is_timed=is_timed)


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_aggregations_in_the_order_of_time(new_environment: NewEnvironment, backend: str) -> None:
    rows = [("abc"[n % 3], n * 7 % 10, n * 3 % 4, n) for n in range(60)]
    env = new_environment(2, state__backend__type=backend)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    check_aggregations(env, rows, is_timed=True)


def test_aggregations_hold_nothing_back_that_has_no_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def add(*_: object) -> None:
        raise AssertionError("held back")

    monkeypatch.setattr(SortedRecords, "add", add)
    env = local_environment().set_runtime_mode(RuntimeExecutionMode.BATCH)
    rows = env.from_collection([("a", 1), ("b", 2), ("a", 3)])
    assert sorted(rows.key_by(lambda row: row[0]).sum(1).execute_and_collect()) == [
        ("a", 4),
        ("b", 2),
    ]


def test_windows_that_cannot_show_the_order_hold_nothing_back() -> None:
    stream = timed(local_environment(), SOME)

    def sorts(windows: Any, how: str = "aggregate") -> bool:
        made_by = JOINS[how](windows)._transformation
        while made_by.name == "Map":
            [made_by] = made_by.inputs
        assert isinstance(made_by, OperatorTransformation)
        return made_by.operator.batch_order is not BatchOrder.AS_THEY_CAME

    end_of_stream = GlobalWindows.create_with_end_of_stream_trigger()
    for assigner in (
        TumblingEventTimeWindows.of(SIZE),
        SlidingEventTimeWindows.of(SIZE, 5),
        EventTimeSessionWindows.with_gap(5),
        end_of_stream,
    ):
        assert not sorts(keyed(stream).window(assigner))
        assert not sorts(keyed(stream).window(assigner), "reduce")
        assert sorts(keyed(stream).window(assigner), "apply")
        assert sorts(keyed(stream).window(assigner).trigger(CountTrigger.of(2)))
        assert sorts(keyed(stream).window(assigner).evictor(CountEvictor.of(2)))
    assert sorts(keyed(stream).count_window(2), "reduce")
