"""With hardly any memory for state, programs give what they give with all of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.semantics.running import epochs

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.datastream import (
    DataStream,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    RuntimeContext,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows
from penstock.runtime.state.memory import StateMemory

EPOCHS = [[*range(start, start + 30)] for start in range(0, 300, 30)]
OPENED: list[str] = []

Event = tuple[int, int]


class Everything(KeyedProcessFunction):
    """Uses states of three kinds, and timers."""

    def open(self, runtime_context: RuntimeContext) -> None:
        OPENED.append(runtime_context.get_task_name_with_subtasks())
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.last = runtime_context.get_list_state(ListStateDescriptor("last", Types.LONG()))
        self.map = runtime_context.get_map_state(
            MapStateDescriptor("map", Types.LONG(), Types.LONG())
        )

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        self.last.add(value[1])
        self.map.put(value[1] % 3, value[1])
        ctx.timer_service().register_event_time_timer(value[1] + 40)
        yield value, self.count.value(), list(self.last.get() or ())[-3:], sorted(self.map.items())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield "timer", ctx.get_current_key(), timestamp, self.count.value()


def processed(events: DataStream) -> DataStream:
    return events.key_by(lambda event: event[0]).process(Everything())


def summed(events: DataStream) -> DataStream:
    return events.key_by(lambda event: event[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))


def windowed(events: DataStream) -> DataStream:
    keyed = events.key_by(lambda event: event[0])
    sliding = keyed.window(SlidingEventTimeWindows.of(50, 20)).reduce(
        lambda a, b: (a[0], a[1] + b[1])
    )
    sessions = keyed.window(EventTimeSessionWindows.with_gap(12)).apply(
        lambda key, window, events: [(key, len(list(events)))]
    )
    return sliding.union(sessions)


def run(program: Any, limit: str | None, backend: str) -> list[Any]:
    configuration = Configuration().set_string("execution.target", "local")
    configuration.set_string("state.backend.type", backend)
    if limit is not None:
        configuration.set_string("state.backend.memory.limit", limit)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(5)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda event, _: event[1]
    )
    events = epochs(env, *EPOCHS).map(lambda number: (number % 7, number))
    return list(program(events.assign_timestamps_and_watermarks(strategy)).execute_and_collect())


@pytest.fixture(scope="module", params=[processed, summed, windowed])
def program(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="module")
def expected(program: Any) -> tuple[Any, ...]:
    """What the program gives with all memory."""
    return tuple(run(program, None, "hashmap"))


@pytest.mark.parametrize("limit", ["4 kb"])
def test_results_do_not_depend_on_memory(
    program: Any, expected: tuple[Any, ...], limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone: list[Any] = []
    forget = StateMemory.forget

    def noting(memory: StateMemory, state: Any) -> None:
        gone.append(state)
        forget(memory, state)

    monkeypatch.setattr(StateMemory, "forget", noting)

    assert tuple(run(program, limit, "hashmap")) == expected
    # Besides the five that are closed at the end.
    assert len(gone) > 5


def test_functions_stay_open() -> None:
    OPENED.clear()
    run(processed, "4 kb", "hashmap")

    assert len(OPENED) == 5


def test_rocksdb_with_little_memory(program: Any, expected: tuple[Any, ...]) -> None:
    found = run(program, "1 mb", "rocksdb")

    assert sorted(map(repr, found)) == sorted(map(repr, expected))
