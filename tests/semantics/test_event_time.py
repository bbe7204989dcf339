"""Timers, keyed state and watermarks through the public API, on both executors and both backends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.semantics.conftest import NewEnvironment
from tests.semantics.running import epochs

from penstock.common import Duration, Types, WatermarkStrategy
from penstock.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.runtime.timestamp import MAX_TIMESTAMP

LATE = OutputTag("late")
Event = tuple[str, int]

# Per key a second is told when the watermark has passed it; what comes behind the watermark is late.
EVENTS: list[list[Event]] = [
    [("a", 100), ("b", 300), ("a", 900), ("a", 1100)],
    [],
    [("b", 2500), ("a", 2400), ("b", 700)],
    [("a", 5000)],
]


class Mean:
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class BySecond(KeyedProcessFunction):
    """Tells of each second of each key what all kinds of state say of it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        number = Types.LONG()
        self.seconds = runtime_context.get_map_state(MapStateDescriptor("seconds", number, number))
        self.times = runtime_context.get_list_state(ListStateDescriptor("times", number))
        self.latest = runtime_context.get_reducing_state(
            ReducingStateDescriptor("latest", max, number)
        )
        self.mean = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
        )
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", number))

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        time = ctx.timestamp()
        assert time == value[1]
        if time <= ctx.timer_service().current_watermark():
            yield LATE, value
            return
        second = time // 1000
        self.seen.update((self.seen.value() or 0) + 1)
        self.seconds.put(second, (self.seconds.get(second) or 0) + 1)
        self.times.add(time)
        self.latest.add(time)
        self.mean.add(time)
        ctx.timer_service().register_event_time_timer(second * 1000 + 999)
        # A timer that never fires, as it is deleted.
        ctx.timer_service().register_event_time_timer(time + 1)
        ctx.timer_service().delete_event_time_timer(time + 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        second = timestamp // 1000
        yield (
            ctx.get_current_key(),
            second,
            self.seconds.get(second),
            len(list(self.times.get() or ())),
            self.latest.get(),
            self.mean.get(),
            self.seen.value(),
            ctx.timestamp(),
        )
        self.seconds.remove(second)
        self.times.clear()


EXPECTED = [
    # key, second, count, times since the last timer, latest, mean, seen, timestamp
    ("a", 0, 2, 3, 1100, 700.0, 3, 999),
    ("b", 0, 1, 1, 300, 300.0, 1, 999),
    ("a", 1, 1, 1, 2400, 1125.0, 4, 1999),
    ("a", 2, 1, 1, 5000, 1900.0, 5, 2999),
    ("b", 2, 1, 1, 2500, 1400.0, 2, 2999),
    ("a", 5, 1, 0, 5000, 1900.0, 5, 5999),
]


def events(env: StreamExecutionEnvironment) -> DataStream:
    return epochs(env, *EVENTS).set_parallelism(1)


def timed(stream: DataStream) -> DataStream:
    """Watermarks come with the end of each epoch, from the only subtask that has records."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(100))
    strategy = strategy.with_timestamp_assigner(lambda event, _: event[1])
    return stream.assign_timestamps_and_watermarks(strategy).set_parallelism(1)


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_timers_and_all_kinds_of_state(
    new_environment: NewEnvironment, backend: str, parallelism: int
) -> None:
    env = new_environment(
        parallelism, state__backend__type=backend, pipeline__auto_watermark_interval="1 h"
    )
    told = timed(events(env)).key_by(lambda event: event[0]).process(BySecond())
    late = told.get_side_output(LATE).map(lambda event: ("late", *event))

    with told.union(late).execute_and_collect() as results:
        found = list(results)

    assert sorted(map(repr, found)) == sorted(map(repr, [*EXPECTED, ("late", "b", 700)]))


class Remaining(KeyedProcessFunction):
    """Has timers for the very end, and asks for the watermark there."""

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(MAX_TIMESTAMP)
        ctx.timer_service().register_processing_time_timer(MAX_TIMESTAMP)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        watermark = ctx.timer_service().current_watermark()
        yield ctx.get_current_key(), timestamp, watermark, ctx.time_domain().name


def test_the_end_of_input_fires_event_timers_only(new_environment: NewEnvironment) -> None:
    env = new_environment(2, pipeline__auto_watermark_interval="1 h")
    stream = timed(events(env)).key_by(lambda event: event[0]).process(Remaining())

    with stream.execute_and_collect() as results:
        found = sorted(results)

    assert found == [(key, MAX_TIMESTAMP, MAX_TIMESTAMP, "EVENT_TIME") for key in ("a", "b")]


def test_chained_stateful_operators_tell_in_the_epoch_that_completes_them(
    new_environment: NewEnvironment,
) -> None:
    """Two keyed operators behind each other: a watermark fires both in the epoch it comes in."""
    env = new_environment(2, pipeline__auto_watermark_interval="1 h")
    told = timed(events(env)).key_by(lambda event: event[0]).process(BySecond())
    counted = (
        told.map(lambda line: (line[1], line[2]))
        .key_by(lambda second: second[0])
        .reduce(lambda one, other: (one[0], one[1] + other[1]))
    )

    with counted.execute_and_collect() as results:
        found = list(results)

    # Two lines of second 0 in one epoch, the seconds 1 and 2 in the next ones, 5 at the end.
    assert sorted(found) in (
        [(0, 1), (0, 3), (1, 1), (2, 1), (2, 2), (5, 1)],
        [(0, 2), (0, 3), (1, 1), (2, 1), (2, 2), (5, 1)],
    )
