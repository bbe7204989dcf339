from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import Types
from penstock.datastream import (
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    MapStateDescriptor,
    RuntimeContext,
    ValueStateDescriptor,
)
from penstock.errors import (
    InvalidArgumentError,
    InvalidFunctionError,
    UnsupportedOperationError,
)
from penstock.runtime.keys.key_groups import key_group, key_group_range
from penstock.runtime.timestamp import MAX_TIMESTAMP
from penstock.testing import (
    BroadcastProcessFunctionHarness,
    CoProcessFunctionHarness,
    KeyedBroadcastProcessFunctionHarness,
    KeyedCoProcessFunctionHarness,
    StateEntry,
    StreamRecord,
    Watermark,
    WatermarkStatus,
)

BACKENDS = ["hashmap", "rocksdb"]
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class Sum(KeyedCoProcessFunction):
    """Adds what comes on the left and takes off what comes on the right."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element1(self, value: Any, ctx: Any, sign: int = 1) -> Iterator[Any]:
        self.sum.update((self.sum.value() or 0) + sign * value[1])
        ctx.timer_service().register_event_time_timer(value[1])
        yield self.sum.value()

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        return self.process_element1(value, ctx, -1)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp


def summing(**options: Any) -> KeyedCoProcessFunctionHarness:
    return KeyedCoProcessFunctionHarness(Sum(), lambda value: value[0], 0, **options)


@pytest.mark.parametrize("backend", BACKENDS)
def test_both_inputs_act_on_one_state(backend: str) -> None:
    with summing(state_backend=backend) as harness:
        harness.process_element1(("a", 5), timestamp=1)
        harness.process_element2(("a", 3), timestamp=2)
        harness.process_element2(("b", 4))

        assert harness.get_output() == [
            StreamRecord(5, 1),
            StreamRecord(2, 2),
            StreamRecord(-4, None),
        ]
        assert harness.num_event_time_timers() == 3
        assert StateEntry("sum", "a", 2) in harness.keyed_state_entries()
        assert harness.operator.metrics.records_in == 3


def test_the_watermark_is_the_lesser_one() -> None:
    with summing() as harness:
        harness.process_element1(("a", 5))
        harness.clear_output()
        harness.process_watermark1(9)
        harness.process_watermark2(4)
        harness.process_watermark2(7)
        harness.process_both_watermarks(20)

        assert harness.get_output() == [
            Watermark(4),
            StreamRecord(("a", 5), 5),
            Watermark(7),
            Watermark(20),
        ]


def test_an_idle_input_is_left_out() -> None:
    idle, active = WatermarkStatus.IDLE, WatermarkStatus.ACTIVE
    with summing() as harness:
        harness.process_watermark1(9)
        harness.process_watermark_status2(idle)
        harness.process_watermark_status1(idle)
        harness.process_watermark_status2(active)
        harness.process_watermark2(3)

        assert harness.get_output() == [Watermark(9), idle, active]


def test_a_snapshot_takes_watermarks_state_and_timers_along() -> None:
    with summing() as harness:
        harness.process_element1(("a", 50))
        harness.process_watermark1(9)
        harness.process_watermark2(4)
        snapshot = harness.snapshot()
        harness.process_element1(("a", 50))
        harness.restore(snapshot)
        harness.clear_output()
        harness.process_element2(("a", 60))
        harness.process_watermark2(30)

        assert harness.get_output() == [StreamRecord(-10, None), Watermark(9)]
        with pytest.raises(InvalidArgumentError, match="cannot go back from 9 to 8"):
            harness.process_watermark1(8)


def test_the_end_of_both_inputs_fires_all_timers() -> None:
    with summing() as harness:
        harness.process_element1(("a", 50))
        harness.end_input()

        assert harness.get_output()[1:] == [StreamRecord(("a", 50), 50), Watermark(MAX_TIMESTAMP)]


def test_keys_of_other_subtasks_are_refused() -> None:
    keys = range(100)
    mine = next(key for key in keys if key_group(key, 128) in key_group_range(1, 2, 128))
    other = next(key for key in keys if key_group(key, 128) not in key_group_range(1, 2, 128))
    with summing(parallelism=2, subtask=1) as harness:
        harness.process_element2((mine, 1))
        with pytest.raises(InvalidArgumentError, match="belongs to subtask 0"):
            harness.process_element2((other, 1))


def test_after_the_end_it_is_closed() -> None:
    harness = summing()
    harness.close()
    with pytest.raises(UnsupportedOperationError, match="process_element1 comes too late"):
        harness.process_element1(1)
    with pytest.raises(UnsupportedOperationError, match="process_element2 comes too late"):
        harness.process_element2(1)
    with pytest.raises(UnsupportedOperationError, match="A watermark comes too late"):
        harness.process_both_watermarks(1)
    with pytest.raises(UnsupportedOperationError, match="A status comes too late"):
        harness.process_watermark_status2(WatermarkStatus.IDLE)


class Plain(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        return [("left", value)]

    def process_element2(self, value: Any, ctx: Any) -> Any:
        return [("right", value)]


class Ruled(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield ctx.get_broadcast_state(RULES).get(value)

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(*value)


class KeyedRuled(KeyedBroadcastProcessFunction):
    process_element = Ruled.process_element
    process_broadcast_element = Ruled.process_broadcast_element


def test_a_function_without_keys() -> None:
    with CoProcessFunctionHarness(Plain()) as harness:
        harness.process_element1(1)
        harness.process_element2(2)

        assert harness.extract_output_values() == [("left", 1), ("right", 2)]
        assert isinstance(harness.function, Plain)


@pytest.mark.parametrize("is_keyed", [True, False])
def test_functions_with_broadcast_state(is_keyed: bool) -> None:
    harness = (
        KeyedBroadcastProcessFunctionHarness(KeyedRuled(), lambda value: value, RULES)
        if is_keyed
        else BroadcastProcessFunctionHarness(Ruled(), RULES)
    )
    with harness:
        harness.process_element("a", timestamp=3)
        harness.process_broadcast_element(("a", 7))
        harness.restore(harness.snapshot())
        harness.process_element("a")

        assert harness.get_output() == [StreamRecord(None, 3), StreamRecord(7, None)]
        assert harness.broadcast_state(RULES) == {"a": 7}


def test_functions_that_cannot_be_called_are_refused() -> None:
    for make in (
        lambda: CoProcessFunctionHarness(Ruled()),  # type: ignore[arg-type]
        lambda: KeyedCoProcessFunctionHarness(Ruled(), 0, 0),  # type: ignore[arg-type]
        lambda: BroadcastProcessFunctionHarness(Plain(), RULES),  # type: ignore[arg-type]
        lambda: KeyedBroadcastProcessFunctionHarness(Plain(), 0, RULES),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidFunctionError, match="The harness was given"):
            make()


@pytest.mark.parametrize("wrong", [("rules",), (RULES, RULES)])
def test_broadcast_states_are_checked_as_by_broadcast(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidArgumentError, match="The harness was given"):
        BroadcastProcessFunctionHarness(Ruled(), *wrong)
    with pytest.raises(InvalidArgumentError, match="The harness was given"):
        KeyedBroadcastProcessFunctionHarness(KeyedRuled(), 0, *wrong)
