"""Timers in event time: when they fire, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from tests.datastream.event_time import MAX, MIN, PER_RECORD, Seen, own_time, results, timed

from penstock.common import Time, WatermarkStrategy
from penstock.datastream import OutputTag
from penstock.datastream.functions import KeyedProcessFunction, ProcessFunction
from penstock.datastream.time_domain import TimeDomain
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import (
    InvalidTimerError,
    UnsupportedOperationError,
    UserFunctionError,
)


class Timers(KeyedProcessFunction):
    """Does with each record what the record says, and yields all it is called with."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        time, *orders = value
        timers = ctx.timer_service()
        for order, when in orders:
            getattr(timers, f"{order}_event_time_timer")(when)
        yield "record", time, ctx.timestamp(), timers.current_watermark()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        watermark = ctx.timer_service().current_watermark()
        assert ctx.timestamp() == timestamp
        assert ctx.time_domain() is TimeDomain.EVENT_TIME
        yield "timer", timestamp, ctx.get_current_key(), watermark


def fired(
    epochs: Sequence[Sequence[Any]],
    function: KeyedProcessFunction | None = None,
    key: Callable[[Any], Any] = lambda value: "k",
) -> list[Any]:
    stream = timed(epochs, PER_RECORD.with_timestamp_assigner(own_time))
    return results(stream.key_by(key).process(function or Timers()))


class TestEventTimers:
    def test_fire_between_records_where_the_watermark_stands(self) -> None:
        assert fired([[(1, ("register", 3)), (2,), (3,), (4,)]]) == [
            ("record", 1, 1, MIN),
            ("record", 2, 2, 1),
            ("record", 3, 3, 2),
            ("timer", 3, "k", 3),
            ("record", 4, 4, 3),
        ]

    def test_fire_in_the_order_of_their_times(self) -> None:
        found = fired([[(1, ("register", 9), ("register", 3), ("register", 5)), (10,)]])
        assert found[2:] == [("timer", time, "k", 10) for time in (3, 5, 9)]

    def test_fire_at_the_end_of_bounded_input(self) -> None:
        assert fired([[(1, ("register", 100))]])[1:] == [("timer", 100, "k", MAX)]

    def test_are_one_if_they_are_registered_twice(self) -> None:
        found = fired([[(1, ("register", 5), ("register", 5)), (2, ("register", 5)), (9,)]])
        assert [entry for entry in found if entry[0] == "timer"] == [("timer", 5, "k", 9)]

    def test_may_be_deleted_and_what_is_not_there_too(self) -> None:
        orders = ("register", 5), ("delete", 5), ("delete", 6), ("register", 7)
        found = fired([[(1, *orders), (9,)]])
        assert [entry[1] for entry in found if entry[0] == "timer"] == [7]

    def test_for_the_past_fire_with_the_next_watermark(self) -> None:
        assert fired([[(10,), (11, ("register", 3)), (11,), (12,)]]) == [
            ("record", 10, 10, MIN),
            ("record", 11, 11, 10),
            ("timer", 3, "k", 11),
            ("record", 11, 11, 11),
            ("record", 12, 12, 11),
        ]

    def test_belong_to_their_keys(self) -> None:
        found = fired(
            [[(1, ("register", 5)), (2, ("register", 5)), (3, ("delete", 5)), (9,)]],
            key=lambda value: value[0] % 2,
        )
        assert [entry for entry in found if entry[0] == "timer"] == [("timer", 5, 0, 9)]

    def test_may_be_registered_and_deleted_by_timers(self) -> None:
        class Chain(Timers):
            def on_timer(
                self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
            ) -> Iterator[Any]:
                timers = ctx.timer_service()
                timers.register_event_time_timer(timestamp + 2)
                timers.register_event_time_timer(timestamp)
                timers.delete_event_time_timer(timestamp)
                timers.delete_event_time_timer(8)
                if timestamp < 20:
                    yield from super().on_timer(timestamp, ctx)
                else:
                    timers.delete_event_time_timer(timestamp + 2)

        found = fired([[(1, ("register", 3), ("register", 8)), (6,), (7,), (13,)]], Chain())
        assert [(entry[1], entry[3]) for entry in found if entry[0] == "timer"] == [
            (3, 6),
            (5, 6),
            (7, 7),
            (9, 13),
            (11, 13),
            (13, 13),
            (15, MAX),
            (17, MAX),
            (19, MAX),
        ]

    @pytest.mark.parametrize("wrong", [1.5, None, "7", True, 2**63])
    def test_for_no_time_are_refused_with_operator_and_record(self, wrong: Any) -> None:
        with pytest.raises(InvalidTimerError) as raised:
            fired([[(1,), (2, ("register", wrong))]])
        assert raised.value.operator == "KEYED PROCESS"
        assert raised.value.record == repr((2, ("register", wrong)))

    def test_that_fail_tell_operator_key_and_time(self) -> None:
        class Failing(Timers):
            def on_timer(
                self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
            ) -> Iterator[Any]:
                yield 1 // 0

        with pytest.raises(UserFunctionError, match="ZeroDivisionError") as raised:
            fired([[(1, ("register", 7))]], Failing())
        assert "'KEYED PROCESS' failed on the timer for 7 of the key 'k'" in str(raised.value)

    def test_of_a_function_without_on_timer_do_nothing(self) -> None:
        def register(value: Any, ctx: KeyedProcessFunction.Context) -> list[Any]:
            ctx.timer_service().register_event_time_timer(3)
            return [value]

        stream = timed([[1, 9]], PER_RECORD.with_timestamp_assigner(own_time))
        assert results(stream.key_by(lambda value: 0).process(register)) == [1, 9]

    def test_are_refused_on_a_stream_without_keys(self) -> None:
        def register(value: Any, ctx: ProcessFunction.Context) -> None:
            ctx.timer_service().register_event_time_timer(3)

        with pytest.raises(
            UnsupportedOperationError, match="only supported on a keyed stream"
        ) as raised:
            results(timed([[1]], WatermarkStrategy.no_watermarks()).process(register))
        assert (raised.value.operator, raised.value.record) == ("Process", "1")

    def test_give_their_timestamp_to_what_they_emit(self) -> None:
        late = OutputTag("late")

        class Both(Timers):
            def on_timer(
                self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
            ) -> Iterator[Any]:
                yield "main"
                yield late, "side"

        for wanted in ("main", "side"):
            stream = timed(
                [[(1, ("register", 5)), (9,)]], PER_RECORD.with_timestamp_assigner(own_time)
            )
            main = stream.key_by(lambda value: "k").process(Both())
            stream = main if wanted == "main" else main.get_side_output(late)
            found = results(stream.process(Seen()))
            assert [entry for entry in found if entry[0] == wanted] == [(wanted, 5, 1)]

    def test_fire_before_their_watermark_is_forwarded(self) -> None:
        first = timed([[(1, ("register", 5)), (9,)]], PER_RECORD.with_timestamp_assigner(own_time))
        second = first.key_by(lambda value: "k").process(Timers()).key_by(lambda value: value[0])
        found = results(second.process(Seen()))
        # What the timer emitted comes ahead of the watermark 9 that made it fire.
        assert [(entry[0][:2], entry[2]) for entry in found] == [
            (("record", 1), MIN),
            (("record", 9), 1),
            (("timer", 5), 1),
        ]


def test_those_that_fire_are_counted() -> None:
    records = [[(1, ("register", 3), ("register", 9)), (4,)], [(5, ("register", 7)), (20,)]]
    strategy = PER_RECORD.with_timestamp_assigner(own_time)
    keyed = timed(records, strategy).key_by(lambda value: "k")
    keyed.process(Timers()).name("process").add_sink(lambda _: None)
    windows = TumblingEventTimeWindows.of(Time.milliseconds(5))
    keyed.window(windows).reduce(max).name("panes").add_sink(lambda _: None)
    client = keyed.get_execution_environment().execute_async()
    client.wait()
    reports = client.progress().operators.values()
    found = {report["name"]: report["timers_fired"] for report in reports}
    assert {name: found[name] for name in ("process", "panes")} == {"process": 3, "panes": 3}
