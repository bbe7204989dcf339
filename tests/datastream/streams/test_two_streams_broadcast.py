from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import Time, Types
from penstock.datastream import (
    BroadcastConnectedStream,
    BroadcastProcessFunction,
    BroadcastStream,
    DataStream,
    KeyedBroadcastProcessFunction,
    MapStateDescriptor,
    OutputTag,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.errors import (
    InvalidArgumentError,
    InvalidFunctionError,
    ReadOnlyStateError,
    UnsupportedOperationError,
)
from penstock.testing import local_environment

RULES = MapStateDescriptor("rules", Types.LONG(), Types.STRING())
SIZES = MapStateDescriptor("sizes", Types.STRING(), Types.LONG())
SIDE = OutputTag("side")


class Named(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        assert isinstance(ctx, BroadcastProcessFunction.ReadOnlyContext)
        yield value, ctx.get_broadcast_state(RULES).get(value)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        assert isinstance(ctx, BroadcastProcessFunction.Context)
        ctx.get_broadcast_state(RULES).put(*value)
        yield SIDE, value


class KeyedNamed(KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        assert isinstance(ctx, KeyedBroadcastProcessFunction.ReadOnlyContext)
        ctx.timer_service().register_event_time_timer(9)
        yield ctx.get_current_key(), value, ctx.get_broadcast_state(RULES).get(value)

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        assert isinstance(ctx, KeyedBroadcastProcessFunction.Context)
        ctx.get_broadcast_state(RULES).put(*value)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        assert isinstance(ctx, KeyedBroadcastProcessFunction.OnTimerContext)
        yield "timer", ctx.get_current_key(), len(list(ctx.get_broadcast_state(RULES).keys()))


def streams(parallelism: int = 2) -> tuple[DataStream, DataStream]:
    env = local_environment(parallelism=parallelism)
    return env.from_collection([1, 2, 3]), env.from_collection([(1, "one"), (2, "two")])


def run(stream: DataStream) -> list[Any]:
    return sorted(stream.execute_and_collect(), key=repr)


@pytest.mark.parametrize("parallelism", [1, 3])
def test_every_subtask_has_what_is_broadcast(parallelism: int) -> None:
    numbers, names = streams(parallelism)
    named = numbers.rebalance().connect(names.broadcast(RULES)).process(Named())

    assert run(named) == [(1, "one"), (2, "two"), (3, None)]
    numbers, names = streams(parallelism)
    named = numbers.connect(names.broadcast(RULES)).process(Named())
    assert len(run(named.get_side_output(SIDE))) == 2 * parallelism


def test_beside_a_keyed_stream() -> None:
    numbers, names = streams()
    named = numbers.key_by(lambda number: number % 2).connect(names.broadcast(RULES))

    assert run(named.process(KeyedNamed())) == sorted(
        [(1, 1, "one"), (0, 2, "two"), (1, 3, None), ("timer", 0, 2), ("timer", 1, 2)], key=repr
    )


def test_a_result_may_have_names() -> None:
    numbers, names = streams()
    row = Types.ROW_NAMED(["number", "name"], [Types.LONG(), Types.STRING()])
    named = numbers.connect(names.broadcast(RULES)).process(Named(), row)

    assert sorted((found.number, found.name or "") for found in named.execute_and_collect()) == [
        (1, "one"),
        (2, "two"),
        (3, ""),
    ]


def test_without_a_state_the_stream_goes_to_all_subtasks() -> None:
    numbers, _ = streams()
    assert isinstance(numbers.broadcast(), DataStream)
    assert run(numbers.broadcast().map(lambda number: number)) == [1, 1, 2, 2, 3, 3]


def test_several_states() -> None:
    numbers, names = streams()
    broadcast = names.broadcast(RULES, SIZES)
    connected = numbers.connect(broadcast)

    assert isinstance(broadcast, BroadcastStream)
    assert isinstance(connected, BroadcastConnectedStream)
    assert connected.broadcast_state_descriptors == (RULES, SIZES)


@pytest.mark.parametrize(
    "descriptors",
    [(ValueStateDescriptor("rules", Types.LONG()),), (RULES, "sizes"), (RULES, RULES)],
)
def test_broadcast_state_has_descriptors_of_maps_with_names_of_their_own(
    descriptors: tuple[Any, ...],
) -> None:
    numbers, _ = streams()
    with pytest.raises(InvalidArgumentError, match=r"broadcast\(\) was given"):
        numbers.broadcast(*descriptors)


def test_broadcast_state_does_not_expire() -> None:
    expiring = MapStateDescriptor("rules", Types.LONG(), Types.STRING())
    expiring.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
    numbers, _ = streams()

    with pytest.raises(UnsupportedOperationError, match="'rules' are to expire"):
        numbers.broadcast(expiring)


def test_a_keyed_stream_is_not_broadcast() -> None:
    numbers, _ = streams()
    with pytest.raises(UnsupportedOperationError, match=r"broadcast\(\) was called on a keyed"):
        numbers.key_by(lambda number: number).broadcast(RULES)


def test_functions_of_the_other_kind_are_refused() -> None:
    numbers, names = streams()
    rules = names.broadcast(RULES)
    with pytest.raises(InvalidFunctionError, match="for a stream without keys"):
        numbers.connect(rules).process(KeyedNamed())
    with pytest.raises(InvalidFunctionError, match="for a stream with keys"):
        numbers.key_by(lambda number: number).connect(rules).process(Named())
    with pytest.raises(InvalidFunctionError, match="no method process_element"):
        numbers.connect(rules).process(RULES)  # type: ignore[arg-type]


def test_streams_of_another_program_are_refused() -> None:
    numbers, _ = streams()
    _, names = streams()
    with pytest.raises(InvalidArgumentError, match="of another environment"):
        numbers.connect(names.broadcast(RULES))


def test_the_other_side_may_not_change_the_state() -> None:
    class Wrong(Named):
        def process_element(self, value: Any, ctx: Any) -> Any:
            ctx.get_broadcast_state(RULES).put(value, "x")

    numbers, names = streams()
    with pytest.raises(ReadOnlyStateError):
        run(numbers.connect(names.broadcast(RULES)).process(Wrong()))
