"""What a function does to what it was given, or gave out, changes nothing that is kept.

Each program runs with functions that change nothing, and with such as change all they can lay hands on; what
comes out has to be the same. Results are texts, so that nothing but state is looked at.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from tests.semantics.running import collect

from penstock.common import (
    Configuration,
    Duration,
    Time,
    TimestampAssigner,
    Types,
    WatermarkStrategy,
)
from penstock.datastream import (
    AggregateFunction,
    AggregatingStateDescriptor,
    DataStream,
    KeyedProcessFunction,
    KeyedStream,
    ListStateDescriptor,
    MapStateDescriptor,
    ProcessWindowFunction,
    ReducingStateDescriptor,
    RuntimeContext,
    ValueStateDescriptor,
)
from penstock.runtime.windows.assigners.session import EventTimeSessionWindows
from penstock.runtime.windows.assigners.sliding import SlidingEventTimeWindows
from penstock.runtime.windows.assigners.tumbling import TumblingEventTimeWindows
from penstock.runtime.windows.evictors import CountEvictor
from penstock.testing import TestingSource, local_environment

ANY = Types.PICKLED_BYTE_ARRAY()
Record = dict[str, Any]


class Hands:
    """Holds on to what passed through them last, and changes all of it whenever something else does.

    Args:
        busy: Whether they do.
    """

    def __init__(self, busy: bool) -> None:
        self._busy = busy
        self._held: list[Any] = []

    def on(self, *values: Any) -> None:
        """Change what is held, and these, and hold these too."""
        if self._busy:
            self._held = [*self._held[-10:], *values]
            for value in self._held:
                _spoil(value)


def _spoil(value: Any) -> None:
    if isinstance(value, dict):
        value["n"] = -1000
        seen = value.get("seen", [])
        if seen[-1:] != ["changed"]:
            value["seen"] = [*seen, "changed"]
    elif isinstance(value, (list, tuple)):
        for item in value:
            _spoil(item)


def adding(busy: bool) -> Callable[[Record, Record], Record]:
    """Return what adds two records; one that is busy does so in place, and spoils what it gave out before."""

    def add(one: Record, other: Record) -> Record:
        return {
            "key": one["key"],
            "time": max(one["time"], other["time"]),
            "n": one["n"] + other["n"],
            "seen": one["seen"] + other["seen"],
        }

    given_out: list[Record] = []

    def add_in_place(one: Record, other: Record) -> Record:
        for before in given_out[-10:]:
            if before is not one:
                _spoil(before)
        one |= add(one, other)
        _spoil(other)
        given_out.append(one)
        return one

    return add_in_place if busy else add


class Aggregate(AggregateFunction):
    """Sums in place, and changes what it returned before."""

    def __init__(self, busy: bool) -> None:
        self._busy = busy
        self._held: list[Any] = []

    def create_accumulator(self) -> Any:
        return {"n": 0, "seen": []}

    def add(self, value: Any, accumulator: Any) -> Any:
        self._spoil_but(accumulator)
        accumulator["n"] += value["n"]
        accumulator["seen"] = [*accumulator["seen"], *value["seen"]]
        if self._busy:
            _spoil(value)
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        self._spoil_but(accumulator)
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        self._spoil_but(acc_a)
        acc_a["n"] += acc_b["n"]
        acc_a["seen"] = [*acc_a["seen"], *acc_b["seen"]]
        if self._busy:
            _spoil(acc_b)
        return acc_a

    def _spoil_but(self, accumulator: Any) -> None:
        if self._busy:
            for held in self._held[-10:]:
                if held is not accumulator:
                    _spoil(held)
            self._held.append(accumulator)


class Texts(ProcessWindowFunction[Any, str, Any, Any]):
    """The window's contents as a text."""

    def __init__(self, busy: bool) -> None:
        self._hands = Hands(busy)

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[str]:
        found = list(elements)
        text = f"{key} {context.window()} {found}"
        self._hands.on(found)
        state = context.global_state().get_list_state(ListStateDescriptor("fired", ANY))
        fired = list(state.get())
        state.add({"n": len(fired)})
        self._hands.on(fired)
        return [text, f"{key} fired {len(fired)} times"]


class TimeOf(TimestampAssigner):
    """The time of a record."""

    def extract_timestamp(self, value: Any, record_timestamp: int | None) -> int:
        return int(value["time"])


class AllStates(KeyedProcessFunction):
    """Has a state of each kind, and changes what it finds there."""

    def __init__(self, busy: bool) -> None:
        self._busy = busy

    def open(self, runtime_context: RuntimeContext) -> None:
        self._hands = Hands(self._busy)
        self._value = runtime_context.get_state(ValueStateDescriptor("value", ANY))
        self._list = runtime_context.get_list_state(ListStateDescriptor("list", ANY))
        self._map = runtime_context.get_map_state(MapStateDescriptor("map", ANY, ANY))
        self._reducing = runtime_context.get_reducing_state(
            ReducingStateDescriptor("reducing", adding(self._busy), ANY)
        )
        self._aggregating = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("aggregating", Aggregate(self._busy), ANY)
        )

    def process_element(self, value: Any, ctx: Any) -> Iterator[str]:
        record = copy.deepcopy(value)
        count = self._value.value() or {"n": 0}
        count["n"] += 1
        self._value.update(count)
        yield f"{value['key']} value {count['n']}"
        self._hands.on(count)
        self._list.add(record)
        self._map.put(("time", value["time"]), record)
        self._hands.on(record)
        self._reducing.add(copy.deepcopy(value))
        self._aggregating.add(copy.deepcopy(value))
        found: list[Any] = [list(self._list.get()), self._reducing.get(), self._aggregating.get()]
        # In which order a map has its items is a backend's own.
        found += [dict(sorted(self._map.items())), sorted(self._map.values(), key=repr)]
        yield f"{value['key']} {found}"
        self._hands.on(*found)
        self._hands.on(*found[0], *found[3].values(), *found[4])


Program = Callable[[KeyedStream, bool], DataStream]


def _windowed(assigner: Any, how: str, *, lateness: int = 0, evicts: bool = False) -> Program:
    def program(keyed: KeyedStream, busy: bool) -> DataStream:
        windows = keyed.window(assigner)
        if lateness:
            windows = windows.allowed_lateness(lateness)
        if evicts:
            windows = windows.evictor(CountEvictor.of(2))
        if how == "reduce":
            return windows.reduce(adding(busy), Texts(busy))
        if how == "aggregate":
            return windows.aggregate(Aggregate(busy), Texts(busy))
        return windows.process(Texts(busy))

    return program


def _counted(keyed: KeyedStream, busy: bool) -> DataStream:
    return keyed.count_window(3, 1).reduce(adding(busy), Texts(busy))


def _all_states(keyed: KeyedStream, busy: bool) -> DataStream:
    return keyed.process(AllStates(busy))


def _interval_joined(keyed: KeyedStream, busy: bool) -> DataStream:
    hands = Hands(busy)

    def join(left: Any, right: Any, _: Any) -> list[str]:
        text = f"{left['key']} {left} {right}"
        hands.on(left, right)
        return [text]

    joined = keyed.interval_join(keyed).between(Time.milliseconds(-4), Time.milliseconds(4))
    return joined.process(join)


def _window_joined(keyed: KeyedStream, busy: bool) -> DataStream:
    hands = Hands(busy)

    def join(left: Any, right: Any) -> str:
        text = f"{left['key']} {left} {right}"
        hands.on(left, right)
        return text

    two = keyed.join(keyed).where(lambda one: one["key"]).equal_to(lambda one: one["key"])
    return two.window(TumblingEventTimeWindows.of(Time.milliseconds(4))).apply(join)


SIZE, SLIDE, GAP = Time.milliseconds(4), Time.milliseconds(2), Time.milliseconds(3)
PROGRAMS: dict[str, Program] = {
    "count window": _counted,
    "all states": _all_states,
    "interval join": _interval_joined,
    "window join": _window_joined,
} | {
    f"{name} {how}{' late' * bool(lateness)}{' evicted' * evicts}": _windowed(
        assigner, how, lateness=lateness, evicts=evicts
    )
    for name, assigner in {
        "tumbling": TumblingEventTimeWindows.of(SIZE),
        "sliding": SlidingEventTimeWindows.of(SIZE, SLIDE),
        "uneven": SlidingEventTimeWindows.of(Time.milliseconds(5), Time.milliseconds(3)),
        "session": EventTimeSessionWindows.with_gap(GAP),
    }.items()
    for how in ("reduce", "aggregate", "process")
    for lateness in (0, 5)
    for evicts in (False, True)
}


def results(programs: Iterable[str], *, busy: bool, backend: str) -> dict[str, list[str]]:
    """Run programs side by side, and return what comes out of each.

    That is for one key and then for the other: in which order they come is a backend's own.
    """
    env = local_environment()
    env.configure(Configuration().set_string("state.backend.type", backend))
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(2))
    strategy = strategy.with_timestamp_assigner(TimeOf())
    streams = {}
    for name in programs:
        source = TestingSource([records(25), [], records(9), records(30)])
        given = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
        timed = given.assign_timestamps_and_watermarks(strategy)
        streams[name] = PROGRAMS[name](timed.key_by(lambda record: record["key"]), busy)
    found = collect(streams)
    return {name: sorted(texts, key=lambda text: text[0]) for name, texts in found.items()}


def records(count: int) -> list[Record]:
    """Records of two keys, out of order, some of them late."""
    chance = random.Random(count)
    return [
        {
            "key": chance.choice("ab"),
            "time": place + chance.randrange(-5, 3),
            "n": place,
            "seen": [place],
        }
        for place in range(count)
    ]


@pytest.mark.filterwarnings("ignore::penstock.errors.LateRecordsDroppedWarning")
@pytest.mark.parametrize("part", range(4))
def test_what_is_kept_is_not_changed(part: int) -> None:
    programs = [*PROGRAMS][part::4]
    quiet = results(programs, busy=False, backend="hashmap")
    assert min(len(quiet[name]) for name in programs) > 5
    for backend in ("hashmap", "rocksdb"):
        assert results(programs, busy=True, backend=backend) == quiet, backend
