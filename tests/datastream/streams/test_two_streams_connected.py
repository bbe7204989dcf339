from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.common.types import Row
from penstock.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    ConnectedStreams,
    CoProcessFunction,
    DataStream,
    KeyedCoProcessFunction,
    OutputTag,
    RuntimeContext,
    ValueStateDescriptor,
)
from penstock.errors import (
    ColumnNotFoundError,
    InvalidArgumentError,
    InvalidFunctionError,
    TypeMismatchError,
    UnsupportedOperationError,
    UserFunctionError,
)
from penstock.runtime.task.subtask import Subtask
from penstock.testing import TestingSource, local_environment

SIDE = OutputTag("side")


class Both(CoProcessFunction):
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        yield "left", value
        yield SIDE, value

    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        yield "right", value


class Remembering(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("sum", Types.LONG())
        self.sum = runtime_context.get_state(descriptor)

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        assert isinstance(ctx, KeyedCoProcessFunction.Context)
        self.sum.update((self.sum.value() or 0) + value)
        ctx.timer_service().register_event_time_timer(9)
        yield from ()

    process_element2 = process_element1

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), self.sum.value()


class Texts(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return f"left {value}"

    def map2(self, value: Any) -> Any:
        return f"right {value}"


class Parts(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Any:
        return range(value)

    def flat_map2(self, value: Any) -> Any:
        if value > 1:
            yield -value


def connected(left: Any = (1, 2), right: Any = (2, 3)) -> ConnectedStreams:
    env = local_environment()
    streams = env.from_collection(list(left)).connect(env.from_collection(list(right)))
    assert isinstance(streams, ConnectedStreams)
    return streams


def run(stream: DataStream) -> list[Any]:
    return sorted(stream.execute_and_collect())


def parity(value: int) -> int:
    return value % 2


def test_map() -> None:
    assert run(connected().map(Texts())) == ["left 1", "left 2", "right 2", "right 3"]


def test_flat_map() -> None:
    assert run(connected((0, 3), (1, 5)).flat_map(Parts())) == [-5, 0, 1, 2]


def test_process() -> None:
    streams = connected()
    assert run(streams.process(Both())) == [("left", 1), ("left", 2), ("right", 2), ("right", 3)]
    assert run(connected().process(Both()).get_side_output(SIDE)) == [1, 2]


def test_keys_bring_records_of_both_streams_together() -> None:
    assert run(connected().key_by(parity, parity).process(Remembering())) == [(0, 4), (1, 4)]


def test_streams_may_be_keyed_before_they_are_connected() -> None:
    env = local_environment(parallelism=3)
    left, right = (env.from_collection(values).key_by(parity) for values in ([1, 2], [2, 3]))

    assert run(left.connect(right).process(Remembering())) == [(0, 4), (1, 4)]


def test_keys_may_be_fields() -> None:
    streams = connected([("a", 1)], [(2, "a")]).key_by(0, 1)

    assert run(streams.map(Texts())) == ["left ('a', 1)", "right (2, 'a')"]


def test_a_co_map_function_of_keyed_streams_may_have_state() -> None:
    class Sums(CoMapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

        def map1(self, value: int) -> int:
            self.sum.update((self.sum.value() or 0) + value)
            return self.sum.value() or 0

        def map2(self, value: int) -> int:
            return self.map1(10 * value)

    assert run(connected((1, 3), (5,)).key_by(parity, parity).map(Sums()))[-1] == 54


def test_a_function_without_keys_has_no_state() -> None:
    class Wrong(Texts):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    with pytest.raises(UnsupportedOperationError):
        run(connected().map(Wrong()))


@pytest.mark.parametrize("is_first", [True, False])
def test_one_keyed_stream_is_not_enough_for_a_keyed_function(is_first: bool) -> None:
    streams = connected()
    first = streams.stream1.key_by(parity) if is_first else streams.stream1
    second = streams.stream2 if is_first else streams.stream2.key_by(parity)

    with pytest.raises(InvalidFunctionError, match="not both come by key"):
        first.connect(second).process(Remembering())
    assert len(run(first.connect(second).process(Both()))) == 4


def test_declared_names_are_given_to_results_of_all_methods() -> None:
    names = Types.ROW_NAMED(["side", "value"], [Types.STRING(), Types.LONG()])
    found = [
        result.as_dict()
        for result in connected((1,), (2,)).process(Both(), names).execute_and_collect()
    ]
    assert sorted(map(str, found)) == [
        "{'side': 'left', 'value': 1}",
        "{'side': 'right', 'value': 2}",
    ]
    timers = connected().key_by(parity, parity)
    numbers = Types.ROW_NAMED(["side", "value"], [Types.INT(), Types.INT()])
    rows = list(timers.process(Remembering(), numbers).execute_and_collect())
    assert all(isinstance(row, Row) for row in rows)
    assert sorted((row.side, row.value) for row in rows) == [(0, 4), (1, 4)]
    one_name = Types.ROW_NAMED(["text"], [Types.STRING()])
    with pytest.raises(
        TypeMismatchError,
        match=r"no RowTypeInfo\(text: String\).*\n\nHint: The declared fields are: text",
    ):
        run(connected().process(Both(), one_name))


def test_names_in_the_plan() -> None:
    env = local_environment()
    left, right = env.from_collection([1]), env.from_collection([2])
    keyed = left.connect(right).key_by(parity, parity)

    assert [
        left.connect(right).map(Texts()).get_name(),
        left.connect(right).flat_map(Parts()).get_name(),
        left.connect(right).process(Both()).get_name(),
        keyed.process(Remembering()).get_name(),
    ] == ["Co-Map", "Co-Flat Map", "Co-Process", "Co-Keyed-Process"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda streams: streams.map(lambda value: value), "no method map1"),
        (lambda streams: streams.map(Texts), "given the class Texts, not an object of it"),
        (lambda streams: streams.flat_map(Texts()), "no method flat_map1"),
        (lambda streams: streams.process(Texts()), "no method process_element1"),
        (lambda streams: streams.key_by(lambda: 0, parity), "takes? 0 positional|not take"),
    ],
)
def test_what_cannot_be_called_is_refused(
    call: Callable[[ConnectedStreams], Any], message: str
) -> None:
    with pytest.raises(InvalidFunctionError, match=message):
        call(connected())


def test_methods_of_wrong_kinds_are_refused() -> None:
    class Generates(Texts):
        def map2(self, value: Any) -> Any:
            yield value

    class TakesNothing(Both):
        def process_element2(self, value: Any) -> Any:  # type: ignore[override]
            return None

    with pytest.raises(InvalidFunctionError, match=r"map2.* is a generator"):
        connected().map(Generates())
    with pytest.raises(InvalidFunctionError, match=r"with 2 arguments, which .*process_element2"):
        connected().process(TakesNothing())


def test_a_key_that_is_no_field_is_refused() -> None:
    env = local_environment()
    typed = env.from_collection([("a", 1)], Types.TUPLE([Types.STRING(), Types.LONG()]))

    with pytest.raises(ColumnNotFoundError):
        typed.connect(typed).key_by(0, 7)


def test_only_streams_of_the_program_can_be_connected() -> None:
    stream = local_environment().from_collection([1])

    with pytest.raises(InvalidArgumentError, match=r"connect\(\) was given 5, which is no stream"):
        stream.connect(5)  # type: ignore[call-overload]
    with pytest.raises(InvalidArgumentError, match="of another environment"):
        stream.connect(local_environment().from_collection([1]))


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_inputs_of_any_parallelism(parallelism: int) -> None:
    env = local_environment(parallelism=2)
    left = env.from_collection(range(50)).rebalance().map(str).set_parallelism(3)
    right = env.from_collection(range(9)).map(str)
    both = left.connect(right).map(Texts()).set_parallelism(parallelism)

    assert run(both) == sorted(
        [*(f"left {number}" for number in range(50)), *(f"right {number}" for number in range(9))]
    )


class Late(KeyedCoProcessFunction):
    """Tells whether a record of the first stream is behind the watermark."""

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, ctx.timestamp() <= ctx.timer_service().current_watermark()

    def process_element2(self, value: Any, ctx: Any) -> None:
        assert ctx.timestamp() == value


@pytest.mark.parametrize("is_new_process", [True, False])
def test_a_stream_that_has_ended_holds_nothing_back(
    is_new_process: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_new_process:
        monkeypatch.setattr(Subtask, "can_run", lambda subtask, epoch: False)
    env = local_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy.with_timestamp_assigner(lambda time, _: time)
    left, right = (
        env.from_source(TestingSource(epochs), WatermarkStrategy.no_watermarks(), "times")
        .assign_timestamps_and_watermarks(strategy)
        .key_by(parity)
        for epochs in ([[10, 20], [], [15, 60], [], [40]], [[30]])
    )

    # The second stream ends with the first epoch.
    assert run(left.connect(right).process(Late())) == [
        (10, False),
        (15, True),
        (20, False),
        (40, True),
        (60, False),
    ]


def test_what_a_method_raises_names_the_record() -> None:
    class Failing(Texts):
        def map2(self, value: Any) -> Any:
            raise ValueError("no")

    with pytest.raises(UserFunctionError, match="'Co-Map' failed on the record 2"):
        run(connected().map(Failing()))
