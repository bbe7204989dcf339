"""Every function that may have keyed state sees that of its own key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from tests.semantics.running import collect

from penstock.common import (
    Configuration,
    Duration,
    Row,
    Time,
    TimestampAssigner,
    Types,
    WatermarkStrategy,
)
from penstock.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    DataStream,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStream,
    MapFunction,
    MapStateDescriptor,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeContext,
    Trigger,
    TriggerResult,
    ValueStateDescriptor,
    WindowFunction,
)
from penstock.datastream.functions.co_functions import (
    CoGroupFunction,
    JoinFunction,
    ProcessJoinFunction,
)
from penstock.runtime.windows.assigners.session import EventTimeSessionWindows
from penstock.runtime.windows.assigners.sliding import SlidingEventTimeWindows
from penstock.runtime.windows.assigners.tumbling import TumblingEventTimeWindows
from penstock.runtime.windows.evictors import CountEvictor
from penstock.testing import TestingSource, local_environment

CALLS = ValueStateDescriptor("calls", Types.LONG())
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
KEYS = "abc"
RECORDS = [(KEYS[place * 7 % 3], place) for place in range(24)]
EPOCHS = [RECORDS[:7], RECORDS[7:8], [], RECORDS[8:]]


class Counts:
    """Counts its calls in keyed state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.calls = runtime_context.get_state(CALLS)

    def called(self) -> int:
        calls = (self.calls.value() or 0) + 1
        self.calls.update(calls)
        return calls


class Mapped(Counts, MapFunction):
    def map(self, value: Any) -> Any:
        return value[0], self.called()


class MappedToRow(Counts, MapFunction):
    def map(self, value: Any) -> Any:
        return Row(value[0], self.called())


class FlatMapped(Counts, FlatMapFunction):
    def flat_map(self, value: Any) -> Iterator[Any]:
        yield value[0], self.called()


class Filtered(Counts, FilterFunction):
    def filter(self, value: Any) -> bool:
        # The records of a key are three apart.
        return bool(self.called() == value[1] // 3 + 1)


class Reduced(Counts, ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value2[0], self.called(), "reduced"


class Processed(Counts, KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value[0], self.called()


class ProcessedWithoutKey(Counts, ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value[0], self.called()


class OnTimer(Counts, KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(value[1] + 5)
        ctx.timer_service().register_processing_time_timer(value[1] + 1)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), self.called()


class Windowed(Counts, ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        state = context.global_state().get_state(ValueStateDescriptor("global", Types.LONG()))
        state.update((state.value() or 0) + 1)
        assert state.value() == self.called()
        return [(key, state.value())]


class Applied(Counts, WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        yield key, self.called()


class EveryThird(Trigger[Any, Any]):
    """Fires at each third record of the key that is put into a window."""

    def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> TriggerResult:
        state = ctx.get_partitioned_state(CALLS)
        state.update((state.value() or 0) + 1)
        assert state.value() == element[1] // 3 + 1
        return TriggerResult.FIRE if state.value() % 3 == 0 else TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    on_processing_time = on_event_time

    def on_merge(self, window: Any, ctx: Any) -> None:
        pass

    def clear(self, window: Any, ctx: Any) -> None:
        pass


class Joined(Counts, ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield left[0], self.called()


class WindowJoined(Counts, JoinFunction):
    def join(self, first: Any, second: Any) -> Any:
        return first[0], self.called()


class CoGrouped(Counts, CoGroupFunction):
    def co_group(self, first: Any, second: Any) -> Iterator[Any]:
        yield next(iter(first))[0], self.called()


class CoMapped(Counts, CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value[0], self.called()

    map2 = map1


class CoFlatMapped(Counts, CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Iterator[Any]:
        yield value[0], self.called()

    flat_map2 = flat_map1


class CoProcessed(Counts, CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value[0], self.called()

    process_element2 = process_element1


class KeyedCoProcessed(Counts, KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), self.called()

    process_element2 = process_element1


class BesideBroadcast(Counts, KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value[0], self.called()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        found: list[Any] = []

        def count(key: Any, state: Any) -> None:
            state.update(state.value() + 1)
            found.append((key, state.value()))

        ctx.apply_to_keyed_state(CALLS, count)
        return iter(found)


def windowed(windows: Any) -> Callable[[KeyedStream], DataStream]:
    return lambda keyed: windows(keyed).process(Windowed())


def reduced(stream: DataStream) -> DataStream:
    """Without the first record of each key, for which the function is not called."""
    return stream.filter(lambda it: len(it) == 3).map(lambda it: it[:2])


def joined_in_windows(method: str, function: Any) -> Callable[[KeyedStream], DataStream]:
    def program(keyed: KeyedStream) -> DataStream:
        two = getattr(keyed, method)(keyed).where(first).equal_to(first)
        stream: DataStream = two.window(TUMBLING).apply(function)
        return stream

    return program


def first(record: Any) -> Any:
    return record[0]


def connected(keyed: KeyedStream) -> Any:
    return keyed.connect(keyed)


TUMBLING = TumblingEventTimeWindows.of(Time.milliseconds(6))
SLIDING = SlidingEventTimeWindows.of(Time.milliseconds(6), Time.milliseconds(2))
SESSIONS = EventTimeSessionWindows.with_gap(Time.milliseconds(2))
PROGRAMS: dict[str, Callable[[KeyedStream], DataStream]] = {
    "map": lambda keyed: keyed.map(Mapped()),
    "map to rows": lambda keyed: keyed.map(
        MappedToRow(), Types.ROW_NAMED(["key", "calls"], [Types.STRING(), Types.LONG()])
    ),
    "flat_map": lambda keyed: keyed.flat_map(FlatMapped()),
    "filter": lambda keyed: keyed.filter(Filtered()).map(lambda it: (it[0], it[1] // 3 + 1)),
    "reduce": lambda keyed: reduced(keyed.reduce(Reduced()).disable_chaining()),
    "reduce in a chain": lambda keyed: reduced(keyed.reduce(Reduced())),
    "process": lambda keyed: keyed.process(Processed()),
    "process without key": lambda keyed: keyed.process(ProcessedWithoutKey()),
    "timers": lambda keyed: keyed.process(OnTimer()),
    "tumbling windows": windowed(lambda keyed: keyed.window(TUMBLING)),
    "sliding windows": windowed(lambda keyed: keyed.window(SLIDING)),
    "sessions": windowed(lambda keyed: keyed.window(SESSIONS)),
    "lateness": windowed(lambda keyed: keyed.window(TUMBLING).allowed_lateness(20)),
    "count windows": windowed(lambda keyed: keyed.count_window(3)),
    "evictor": windowed(lambda keyed: keyed.window(TUMBLING).evictor(CountEvictor.of(1))),
    "trigger": windowed(
        lambda keyed: keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(100))).trigger(
            EveryThird()
        )
    ),
    "reduced windows": lambda keyed: keyed.window(SLIDING).reduce(max, Windowed()),
    "apply": lambda keyed: keyed.window(TUMBLING).apply(Applied()),
    "interval join": lambda keyed: (
        keyed.interval_join(keyed)
        .between(Time.milliseconds(-3), Time.milliseconds(3))
        .process(Joined())
    ),
    "window join": joined_in_windows("join", WindowJoined()),
    "co-group": joined_in_windows("co_group", CoGrouped()),
    "co-map": lambda keyed: connected(keyed).map(CoMapped()),
    "co-flat map": lambda keyed: connected(keyed).flat_map(CoFlatMapped()),
    "co-process": lambda keyed: connected(keyed).process(CoProcessed()),
    "keyed co-process": lambda keyed: connected(keyed).process(KeyedCoProcessed()),
    "broadcast": lambda keyed: keyed.connect(keyed.map(lambda it: it).broadcast(RULES)).process(
        BesideBroadcast()
    ),
}


class TimeOf(TimestampAssigner):
    """The number of a record is its time."""

    def extract_timestamp(self, value: Any, record_timestamp: int | None) -> int:
        return int(value[1])


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_function_sees_the_state_of_its_key(parallelism: int, backend: str) -> None:
    env = local_environment(parallelism)
    env.configure(Configuration().set_string("state.backend.type", backend))
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(0))
    strategy = strategy.with_timestamp_assigner(TimeOf())
    streams = {}
    for name, program in PROGRAMS.items():
        source = TestingSource(EPOCHS)
        records = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
        records = records.assign_timestamps_and_watermarks(strategy)
        streams[name] = program(records.key_by(first))
    results = collect(streams)
    for name in PROGRAMS:
        found: dict[str, list[int]] = defaultdict(list)
        for key, calls in results[name]:
            found[key].append(calls)
        for key in KEYS:
            assert len(found[key]) > 1, name
            assert found[key] == list(range(1, len(found[key]) + 1)), (name, key)
