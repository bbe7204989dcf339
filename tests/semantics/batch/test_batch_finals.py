"""BATCH mode: what a keyed aggregation gives at the end is late for nothing that comes behind it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.semantics.conftest import NewEnvironment
from tests.semantics.running import collect
from tests.strategies import any_of, from_zero

from penstock.common import Configuration, Time, WatermarkStrategy
from penstock.datastream import (
    AggregateFunction,
    DataStream,
    KeyedProcessFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from penstock.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.runtime.timestamp import MAX_TIMESTAMP
from penstock.testing import local_environment

Record = tuple[str, int, int]
"""A key, an event time and a number."""

SIZE = 10
STRATEGY = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda record, _: record[1]
)


def letter(record: Record) -> str:
    return record[0]


def parity(record: Record) -> int:
    return record[2] % 2


def add(one: Record, other: Record) -> Record:
    return min(one[0], other[0]), max(one[1], other[1]), one[2] + other[2]


class Add(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Record, accumulator: int) -> int:
        return accumulator + value[2]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


Fold = Callable[[Record, Record], Record]

FOLDS: dict[str, tuple[Callable[[Any], DataStream], Fold]] = {
    "reduce": (lambda keyed: keyed.reduce(add), add),
    "sum": (lambda keyed: keyed.sum(2), lambda a, b: (*a[:2], a[2] + b[2])),
    "min": (lambda keyed: keyed.min(2), lambda a, b: (*a[:2], min(a[2], b[2]))),
    "max": (lambda keyed: keyed.max(2), lambda a, b: (*a[:2], max(a[2], b[2]))),
    "min_by": (lambda keyed: keyed.min_by(2), lambda a, b: b if b[2] < a[2] else a),
    "max_by": (lambda keyed: keyed.max_by(2), lambda a, b: b if b[2] > a[2] else a),
}

TUMBLING = TumblingEventTimeWindows.of(Time.milliseconds(SIZE))
SLIDING = SlidingEventTimeWindows.of(SIZE, SIZE // 2)
SESSIONS = EventTimeSessionWindows.with_gap(Time.milliseconds(SIZE))

WINDOWS: dict[str, Callable[[DataStream], DataStream]] = {
    "reduce": lambda timed: timed.key_by(parity).window(TUMBLING).reduce(add).map(lambda r: r[2]),
    "aggregate": lambda timed: timed.key_by(parity).window(TUMBLING).aggregate(Add()),
    "sum": lambda timed: timed.key_by(parity).window(TUMBLING).sum(2).map(lambda r: r[2]),
    "apply": lambda timed: (
        timed.key_by(parity)
        .window(TUMBLING)
        .apply(lambda key, window, records: [sum(record[2] for record in records)])
    ),
    "all": lambda timed: timed.window_all(TUMBLING).aggregate(Add()),
    "sliding": lambda timed: timed.key_by(parity).window(SLIDING).aggregate(Add()),
    "sessions": lambda timed: timed.key_by(parity).window(SESSIONS).reduce(add).map(lambda r: r[2]),
}


@dataclass(frozen=True)
class Shape:
    """A program: folds, one behind the other, windows behind them, and maybe the input beside them."""

    folds: tuple[str, ...]
    windows: str
    beside: bool

    def build(self, source: DataStream) -> DataStream:
        stream = source
        for number, name in enumerate(self.folds):
            stream = FOLDS[name][0](stream.key_by(parity if number else letter))
        if self.beside:
            stream = stream.union(source)
        return WINDOWS[self.windows](stream.assign_timestamps_and_watermarks(STRATEGY))

    def expect(self, records: list[Record]) -> list[int]:
        known = records
        for number, name in enumerate(self.folds):
            known = _folded(known, parity if number else letter, FOLDS[name][1])
        if self.beside:
            known = known + records
        groups: dict[Any, int] = defaultdict(int)
        if self.windows == "sessions":
            return _in_sessions(known)
        for record in known:
            key = None if self.windows == "all" else parity(record)
            slide = SIZE // 2 if self.windows == "sliding" else SIZE
            last = record[1] - record[1] % slide
            for start in range(last, record[1] - SIZE, -slide):
                groups[key, start] += record[2]
        return list(groups.values())


def _folded(records: list[Record], key: Callable[[Record], Any], fold: Fold) -> list[Record]:
    finals: dict[Any, Record] = {}
    for record in records:
        finals[key(record)] = fold(finals[key(record)], record) if key(record) in finals else record
    return list(finals.values())


def _in_sessions(records: list[Record]) -> list[int]:
    found: list[int] = []
    ends: dict[int, int] = {}
    for _, time, number in sorted(records, key=lambda record: (record[2] % 2, record[1])):
        if time <= ends.get(number % 2, time - 1):
            found[-1] += number
        else:
            found.append(number)
        ends[number % 2] = time + SIZE
    return found


def batch(env: StreamExecutionEnvironment) -> StreamExecutionEnvironment:
    return env.set_runtime_mode(RuntimeExecutionMode.BATCH)


RECORDS = st.lists(any_of("abcdefg", from_zero(-20, 40), range(10)), max_size=30)
# A second fold depends on the order of its input's keys, unless it is this one.
SHAPES = st.lists(
    any_of(
        [*((name,) for name in sorted(FOLDS)), *[("reduce", "reduce")] * len(FOLDS)],
        sorted(WINDOWS),
        [False, True],
    ).map(lambda drawn: Shape(*drawn)),
    min_size=1,
    max_size=5,
)
"""Programs side by side in one job, which takes much less than a job for each."""


@settings(max_examples=40, deadline=None)
@given(RECORDS, SHAPES, any_of([1, 2, 5], ["hashmap"] * 2 + ["rocksdb"]))
def test_windows_behind_finals_give_what_a_model_says(
    records: list[Record], shapes: list[Shape], where: tuple[int, str]
) -> None:
    parallelism, backend = where
    env = batch(local_environment(parallelism))
    env.configure(Configuration().set_string("state.backend.type", backend))
    source = env.from_collection(records)
    found = collect({str(shape): shape.build(source) for shape in shapes})

    for shape in shapes:
        assert Counter(found[str(shape)]) == Counter(shape.expect(records)), shape


SOME: list[Record] = [("abcde"[n % 5], n * 7 % 30, n % 10) for n in range(40)]


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_windows_behind_finals(new_environment: NewEnvironment, backend: str) -> None:
    env = batch(new_environment(2, state__backend__type=backend))
    source = env.from_collection(SOME)
    shapes = [
        *(Shape((fold,), "aggregate", beside=False) for fold in sorted(FOLDS)),
        *(Shape(("reduce", "reduce"), windows, beside=True) for windows in sorted(WINDOWS)),
    ]
    found = collect({str(shape): shape.build(source) for shape in shapes})

    for shape in shapes:
        assert Counter(found[str(shape)]) == Counter(shape.expect(SOME)), shape


class Timed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(value[1] + 1)
        yield value, ctx.timestamp()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield timestamp


def test_timers_and_joins_behind_finals(new_environment: NewEnvironment) -> None:
    env = batch(new_environment(2))
    finals = env.from_collection(SOME).key_by(letter).reduce(add)
    timed = finals.assign_timestamps_and_watermarks(STRATEGY)
    windows = timed.key_by(letter).window(TUMBLING).sum(2)
    pairs = (
        timed.key_by(letter)
        .interval_join(windows.key_by(letter))
        .between(Time.milliseconds(0), Time.milliseconds(SIZE))
        .process(lambda one, other, ctx: [(one, other)])
    )
    found = collect(
        {
            "finals": finals.key_by(letter).process(Timed()),
            "timers": timed.key_by(letter).process(Timed()),
            "pairs": pairs,
            "untimed": finals.window_all(TUMBLING).reduce(add),
        }
    )

    expected = _folded(SOME, letter, add)
    times = [record[1] + 1 for record in expected]
    assert Counter(found["timers"]) == Counter([*((r, r[1]) for r in expected), *times])
    # Who asks for their time is told that it is the end of time.
    assert Counter(found["finals"]) == Counter([*((r, MAX_TIMESTAMP) for r in expected), *times])
    assert Counter(found["pairs"]) == Counter((record, record) for record in expected)
    assert found["untimed"] == _folded(expected, lambda _: None, add)
