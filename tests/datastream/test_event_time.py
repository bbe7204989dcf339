"""Programs with event time, timers and state, run through the public API."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Configuration, Duration, Types, WatermarkStrategy
from penstock.common.watermark_generator import WatermarkGenerator, WatermarkOutput
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from penstock.datastream.functions import (
    AggregateFunction,
    KeyedProcessFunction,
    ProcessFunction,
    RuntimeContext,
)
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.datastream.time_domain import TimeDomain
from penstock.errors import PenstockError, UserFunctionError
from penstock.testing import TestingSource, local_environment

MIN, MAX = -(2**63), 2**63 - 1
MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps


def own_time(value: Any, timestamp: int | None) -> Any:
    """Records of these programs are times, or begin with their time."""
    return value[0] if isinstance(value, tuple) else value


class Clock:
    """Stands in for the machine's clock: stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def time_ns(self) -> int:
        return self.now * 1_000_000


CLOCK = Clock()


def passing(value: int) -> int:
    """Let as much time pass as the record says."""
    CLOCK.now += value
    return value


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    CLOCK.now = 1_000_000
    monkeypatch.setattr(
        "penstock.runtime.timers.processing_time_service.time",
        SimpleNamespace(time_ns=CLOCK.time_ns),
    )
    return CLOCK


class PerRecord(WatermarkGenerator):
    """Each record is followed by its own watermark."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


class Periodic(WatermarkGenerator):
    """Follows the greatest timestamp, from time to time."""

    def __init__(self) -> None:
        self._greatest = MIN

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        self._greatest = max(self._greatest, event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(self._greatest)


def timed(
    epochs: Sequence[Sequence[Any]],
    strategy: WatermarkStrategy,
    *,
    parallelism: int = 1,
    environment: StreamExecutionEnvironment | None = None,
) -> DataStream:
    env = environment or local_environment(parallelism)
    source = TestingSource(epochs)
    # The first subtask reads all, so others would hold the watermark back until the end.
    return env.from_source(source, strategy, "times").set_parallelism(1)


def with_backend(backend: str, parallelism: int = 1) -> StreamExecutionEnvironment:
    """Return an environment whose state lives there."""
    env = local_environment(parallelism)
    env.configure(Configuration().set_string("state.backend.type", backend))
    return env


def results(stream: DataStream) -> list[Any]:
    return list(stream.execute_and_collect())


class Seen(ProcessFunction):
    """Yields each record with its timestamp and the watermark before it."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


def seen(epochs: Sequence[Sequence[Any]], strategy: WatermarkStrategy) -> list[Any]:
    return results(timed(epochs, strategy).process(Seen()))


class TestTimestamps:
    def test_come_from_a_function(self) -> None:
        strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(own_time)
        assert seen([[3, 1]], strategy) == [(3, 3, MIN), (1, 1, MIN)]

    def test_come_from_an_assigner_which_is_told_the_timestamp_before(self) -> None:
        class Later(TimestampAssigner):
            def extract_timestamp(self, value: Any, record_timestamp: int | None) -> int:
                return 7 if record_timestamp is None else record_timestamp + 1

        strategy = MONOTONOUS().with_timestamp_assigner(Later())
        again = timed([[1, 2]], strategy).assign_timestamps_and_watermarks(
            MONOTONOUS().with_timestamp_assigner(Later())
        )
        assert [entry[:2] for entry in results(again.process(Seen()))] == [(1, 8), (2, 8)]

    def test_stay_where_nothing_assigns_new_ones(self) -> None:
        first = timed([[5]], MONOTONOUS().with_timestamp_assigner(own_time))
        again = first.map(str).assign_timestamps_and_watermarks(MONOTONOUS())
        assert [entry[:2] for entry in results(again.process(Seen()))] == [("5", 5)]

    def test_may_be_integers_of_numpy(self) -> None:
        strategy = MONOTONOUS().with_timestamp_assigner(lambda value, _: np.int64(value))  # type: ignore[arg-type, return-value]
        [[_, timestamp, _]] = seen([[5]], strategy)
        assert (timestamp, type(timestamp)) == (5, int)

    def test_are_not_asked_for_where_there_are_no_watermarks(self) -> None:
        stream = local_environment().from_collection([1])
        again = stream.assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks())
        assert results(again.process(Seen())) == [(1, None, MIN)]

    @pytest.mark.parametrize(
        ("timestamp", "what"),
        [
            ("7", "a str, no int"),
            (7.0, "a float, no int"),
            (bool(1), "a bool, no int"),
            (np.bool_(1), "no int"),
            (2**63, "below 2\\*\\*63"),
            (-(2**63), "above -2\\*\\*63"),
            (None, "which has none"),
        ],
    )
    @pytest.mark.parametrize("at_source", [True, False])
    def test_that_are_none_are_told_with_operator_and_record(
        self, timestamp: Any, what: str, at_source: bool
    ) -> None:
        def assigner(value: int, _: int | None) -> Any:
            return value if value < 3 else timestamp

        strategy = MONOTONOUS().with_timestamp_assigner(assigner)
        if at_source:
            stream = timed([[1, 2, 3, 4]], strategy)
        else:
            plain = timed([[1, 2, 3, 4]], WatermarkStrategy.no_watermarks())
            stream = plain.assign_timestamps_and_watermarks(strategy).name("Event time")
        with pytest.raises(PenstockError, match=f"the record 3.*{what}") as raised:
            results(stream)
        assert type(raised.value).__name__ == "InvalidTimestampError"
        assert f"Operator '{'Source: times' if at_source else 'Event time'}'" in str(raised.value)
        assert "Hint:" in str(raised.value)

    def test_that_are_missing_ask_for_an_assigner(self) -> None:
        with pytest.raises(PenstockError, match="with_timestamp_assigner") as raised:
            seen([[1]], MONOTONOUS())
        assert "'Source: times' needs the timestamp of the record 1" in str(raised.value)

    @pytest.mark.parametrize("error", [ZeroDivisionError, StopIteration])
    @pytest.mark.parametrize("again", [True, False])
    def test_that_fail_are_told_with_operator_and_record(
        self, error: type[Exception], again: bool
    ) -> None:
        def fail(value: int, _: int | None) -> int:
            if value == 2:
                raise error("mine")
            return value

        failing = MONOTONOUS().with_timestamp_assigner(fail)
        stream = timed([[1, 2, 3]], MONOTONOUS().with_timestamp_assigner(own_time))
        stream = (
            stream.assign_timestamps_and_watermarks(failing) if again else timed([[2]], failing)
        )
        with pytest.raises(UserFunctionError, match=error.__name__) as raised:
            results(stream)
        assert raised.value.record == "2"


class TestWatermarks:
    def test_follow_monotonous_timestamps_less_one(self) -> None:
        strategy = MONOTONOUS().with_timestamp_assigner(own_time)
        assert seen([[10, 20], [30], [5], [40]], strategy) == [
            (10, 10, MIN),
            (20, 20, MIN),
            (30, 30, 19),
            (5, 5, 29),
            (40, 40, 29),
        ]

    def test_follow_at_a_distance(self) -> None:
        delay = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(7))
        found = seen([[10], [20], [12], [40]], delay.with_timestamp_assigner(own_time))
        assert [entry[2] for entry in found] == [MIN, 2, 12, 12]

    def test_come_only_at_the_end_without_a_generator(self) -> None:
        strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(own_time)
        assert [entry[2] for entry in seen([[1], [2], [3]], strategy)] == [MIN] * 3

    def test_of_an_own_generator_follow_the_very_record(self) -> None:
        strategy = WatermarkStrategy.for_generator(PerRecord).with_timestamp_assigner(own_time)
        assert [entry[2] for entry in seen([[1, 5, 3, 7], [8]], strategy)] == [MIN, 1, 5, 5, 7]

    def test_of_an_own_generator_may_be_periodic(self) -> None:
        strategy = WatermarkStrategy.for_generator(Periodic).with_timestamp_assigner(own_time)
        assert [entry[2] for entry in seen([[1, 5], [3], [7]], strategy)] == [MIN, MIN, 5, 5]

    def test_come_when_the_interval_has_passed(self, clock: Clock) -> None:
        env = local_environment()
        env.get_config().set_auto_watermark_interval(50)
        source = TestingSource([[20, 20, 20, 20, 20, 20, 20, 20]], block_size=1)
        times = iter(range(100))
        strategy = MONOTONOUS().with_timestamp_assigner(lambda value, _: next(times))
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "waits").map(passing)
        stream = stream.assign_timestamps_and_watermarks(strategy)
        found = [entry[2] for entry in results(stream.process(Seen()))]
        assert found == [MIN, MIN, MIN, 1, 1, 1, 4, 4]

    def test_come_from_nowhere_else_if_the_interval_is_zero(self) -> None:
        env = local_environment()
        env.get_config().set_auto_watermark_interval(0)
        strategy = MONOTONOUS().with_timestamp_assigner(own_time)
        stream = timed([[1], [2], [3]], strategy, environment=env)
        assert [entry[2] for entry in results(stream.process(Seen()))] == [MIN] * 3

    def test_of_an_upstream_operator_are_replaced(self) -> None:
        first = timed([[10], [20], [30]], MONOTONOUS().with_timestamp_assigner(own_time))
        slow = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))
        found = results(first.assign_timestamps_and_watermarks(slow).process(Seen()))
        assert [entry[2] for entry in found] == [MIN, 4, 14]

    def test_cross_every_exchange(self) -> None:
        strategy = MONOTONOUS().with_timestamp_assigner(own_time)
        stream = timed([[10], [20], [30]], strategy, parallelism=3)
        for _ in range(3):
            stream = stream.rebalance().map(lambda value: value)
        found = results(stream.rebalance().process(Seen()))
        assert sorted(entry[2] for entry in found) == [MIN, 9, 19]

    def test_of_a_union_are_the_least(self) -> None:
        env = local_environment()
        strategy = MONOTONOUS().with_timestamp_assigner(own_time)
        fast = timed([[10], [20], [30]], strategy, environment=env)
        slow = timed([[1], [2], [3]], strategy, environment=env)
        found = results(fast.union(slow).process(Seen()))
        # Who is behind is read first; so 20 comes when the slow stream is at 1, and 30 at its end.
        assert {entry[0]: entry[2] for entry in found} == {
            1: MIN,
            2: 0,
            3: 1,
            10: MIN,
            20: 1,
            30: 19,
        }

    def test_of_a_source_that_ended_hold_nothing_back(self) -> None:
        env = local_environment()
        strategy = MONOTONOUS().with_timestamp_assigner(own_time)
        short = timed([[1]], strategy, environment=env)
        long = timed([[10], [20], [30]], strategy, environment=env)
        found = results(short.union(long).process(Seen()))
        assert {entry[0]: entry[2] for entry in found} == {1: MIN, 10: MIN, 20: 9, 30: 19}

    def test_do_not_overtake_records_behind_those_that_are_broadcast(self) -> None:
        env = local_environment(parallelism=2)
        strategy = WatermarkStrategy.for_generator(PerRecord).with_timestamp_assigner(own_time)
        rules = timed([list(range(1000, 12_000))], strategy, environment=env)
        slow = timed([list(range(10))], strategy, environment=env)
        found = results(rules.broadcast().union(slow.rebalance()).process(Seen()))
        assert all(entry[2] < 10 for entry in found if entry[0] < 10)

    @pytest.mark.parametrize(
        ("make", "what"),
        [
            (lambda: None, "got None from"),
            (lambda: 1 // 0, "ZeroDivisionError"),
            (object, "got <object object"),
        ],
    )
    def test_of_what_makes_no_generator_are_refused(self, make: Any, what: str) -> None:
        strategy = WatermarkStrategy.for_generator(make).with_timestamp_assigner(own_time)
        with pytest.raises(PenstockError, match=what) as raised:
            seen([[1]], strategy)
        assert "Operator 'Source: times'" in str(raised.value)
        assert "defect of penstock" not in str(raised.value)

    @pytest.mark.parametrize("watermark", [None, 1.5, "7", True, 2**63])
    def test_that_are_no_integers_are_refused(self, watermark: Any) -> None:
        class Wrong(PerRecord):
            def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
                output.emit_watermark(watermark)

        strategy = WatermarkStrategy.for_generator(Wrong).with_timestamp_assigner(own_time)
        with pytest.raises(UserFunctionError, match="which is no 64-bit integer") as raised:
            seen([[1]], strategy)
        assert (raised.value.operator, raised.value.record) == ("Source: times", "1")

    def test_of_a_generator_that_fails_tell_operator_and_record(self) -> None:
        class Failing(PerRecord):
            def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
                output.emit_watermark(event_timestamp // (event - 2))

        strategy = WatermarkStrategy.for_generator(Failing).with_timestamp_assigner(own_time)
        with pytest.raises(UserFunctionError, match="ZeroDivisionError") as raised:
            seen([[3, 2]], strategy)
        assert raised.value.record == "2"

    def test_may_come_from_a_class_that_cannot_be_pickled_in_a_job_of_one_epoch(self) -> None:
        class Local(PerRecord):
            def __init__(self) -> None:
                self.own = lambda: None

        strategy = WatermarkStrategy.for_generator(Local).with_timestamp_assigner(own_time)
        assert [entry[2] for entry in seen([[1, 2]], strategy)] == [MIN, 1]
        with pytest.raises(PenstockError, match="generator of operator 'Source: times' cannot be"):
            seen([[1], [2]], strategy)


class TestIdleness:
    """Time passes as records say."""

    def run(
        self, quiet: list[list[int]], waits: list[list[int]], *, timeout: int = 100
    ) -> dict[int, int]:
        """Return the watermark that each record of the busy stream met."""
        env = local_environment()
        strategy = MONOTONOUS().with_timestamp_assigner(own_time)
        idle = strategy.with_idleness(Duration.of_millis(timeout))
        other = timed(quiet, idle, environment=env)
        counted = iter(range(0, 10_000, 1000))
        busy = timed(waits, WatermarkStrategy.no_watermarks(), environment=env)
        busy = busy.map(passing).assign_timestamps_and_watermarks(
            MONOTONOUS().with_timestamp_assigner(lambda value, _: next(counted))
        )
        found = results(busy.union(other).process(Seen()))
        return {entry[1]: entry[2] for entry in found}

    def test_releases_a_stream_that_was_empty_too_long(self, clock: Clock) -> None:
        found = self.run([[5], [], [], [], []], [[0], [0], [60], [60], [0]])
        # Empty from the end of the second epoch on; 120 ms later it is idle.
        assert found[2000] == found[3000] == 4
        assert found[4000] == 2999

    def test_releases_a_stream_that_never_had_a_record(self, clock: Clock) -> None:
        found = self.run([[], [], [], []], [[0], [101], [0], [0]])
        assert found[1000] == MIN
        assert found[2000] == 999

    def test_does_not_count_the_time_of_an_epoch_that_has_records(self, clock: Clock) -> None:
        found = self.run([[5], [6], [7], [8]], [[500], [500], [500], [500]])
        assert found[2000] == 6

    def test_counts_more_than_the_timeout(self, clock: Clock) -> None:
        found = self.run([[], [], [], []], [[0], [100], [0], [0]])
        assert found[2000] == MIN

    def test_ends_with_the_next_watermark(self, clock: Clock) -> None:
        found = self.run([[5], [], [], [900], [901], []], [[0], [101], [101], [0], [0], [0]])
        # It comes back behind the watermark, and is not waited for.
        assert found[5000] == 3999


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


PER_RECORD = WatermarkStrategy.for_generator(PerRecord)


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
        with pytest.raises(UserFunctionError, match="InvalidTimerError") as raised:
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

        with pytest.raises(UserFunctionError, match="only supported on a keyed stream") as raised:
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


class TestProcessingTimers:
    class Remind(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
            timers = ctx.timer_service()
            for delay in value[1:]:
                timers.register_processing_time_timer(timers.current_processing_time() + delay)
            yield value[0]
            CLOCK.now += value[0]

        def on_timer(
            self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
        ) -> Iterator[Any]:
            assert ctx.time_domain() is TimeDomain.PROCESSING_TIME
            yield timestamp - 1_000_000, ctx.timer_service().current_processing_time() - 1_000_000

    def run(self, *epochs: list[Any]) -> list[Any]:
        env = local_environment()
        source = TestingSource(epochs, block_size=1)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "waits")
        return results(stream.key_by(lambda value: 0).process(self.Remind()))

    def test_fire_when_the_clock_has_passed_their_time(self, clock: Clock) -> None:
        # Records that are read together are not cut apart by a fast function, so: one an epoch.
        assert self.run([(10, 10, 15)], [(1,)], [(4,)], [(1,)], [(1,)]) == [
            10,
            1,
            (10, 11),
            4,
            1,
            (15, 16),
            1,
        ]

    def test_never_fire_after_the_end_of_input(self, clock: Clock) -> None:
        assert self.run([(10, 50)], [(10,)]) == [10, 10]

    def test_may_be_deleted(self, clock: Clock) -> None:
        class Delete(self.Remind):  # type: ignore[misc, name-defined]
            def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
                yield from super().process_element(value, ctx)
                ctx.timer_service().delete_processing_time_timer(1_000_005)

        source = TestingSource([[(10, 5, 7)], [(1,)], [(1,)]])
        stream = local_environment().from_source(source, WatermarkStrategy.no_watermarks(), "waits")
        found = results(stream.key_by(lambda value: 0).process(Delete()))
        assert found == [10, (7, 10), 1, 1]


class AllStates(KeyedProcessFunction):
    """Keeps what it was given in a state of each kind, and yields all of them."""

    def open(self, runtime_context: RuntimeContext) -> None:
        context = runtime_context
        self.value = context.get_state(ValueStateDescriptor("value", Types.INT()))
        self.list = context.get_list_state(ListStateDescriptor("list", Types.INT()))
        self.map = context.get_map_state(MapStateDescriptor("map", Types.INT(), Types.INT()))
        self.sum = context.get_reducing_state(
            ReducingStateDescriptor("sum", lambda one, other: one + other, Types.INT())
        )
        self.mean = context.get_aggregating_state(
            AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if value == 0:
            for state in (self.value, self.list, self.map, self.sum, self.mean):
                state.clear()
        else:
            self.value.update(value)
            self.list.add(value)
            self.map.put(value, (self.map.get(value) or 0) + 1)
            self.sum.add(value)
            self.mean.add(value)
        yield (
            ctx.get_current_key(),
            self.value.value(),
            list(self.list.get() or ()),
            dict(sorted(self.map.items())),
            self.sum.get(),
            self.mean.get(),
        )


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float | None:
        return accumulator[0] / accumulator[1] if accumulator[1] else None

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class TestStates:
    VALUES = [3, 4, 6, 5, 0, 2, 9, 7, 8, 3, 3, 6]

    @staticmethod
    def expected(values: Sequence[int]) -> list[Any]:
        kept: dict[int, list[int]] = {}
        found: list[Any] = []
        for value in values:
            key = value % 2
            kept[key] = [*kept.get(key, []), value] if value else []
            own = kept[key]
            counts = {number: own.count(number) for number in sorted(set(own))}
            last, total = (own[-1], sum(own)) if own else (None, None)
            mean = sum(own) / len(own) if own else None
            found.append((key, last, own, counts, total, mean))
        return found

    @pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
    @pytest.mark.parametrize("cuts", [(), (1,), (3, 3, 6), tuple(range(13))])
    def test_of_all_kinds_belong_to_their_keys_wherever_epochs_are_cut(
        self, backend: str, cuts: tuple[int, ...]
    ) -> None:
        env = with_backend(backend)
        places = [0, *cuts, len(self.VALUES)]
        epochs = [self.VALUES[start:end] for start, end in pairwise(places)]
        stream = timed(epochs, WatermarkStrategy.no_watermarks(), environment=env)
        found = results(stream.key_by(lambda value: value % 2).process(AllStates()))
        assert found == self.expected(self.VALUES)

    def test_are_refused_on_a_stream_without_keys(self) -> None:
        class Asking(ProcessFunction):
            def open(self, runtime_context: RuntimeContext) -> None:
                runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

            def process_element(self, value: Any, ctx: ProcessFunction.Context) -> None:
                pass

        with pytest.raises(PenstockError, match="stream has no keys"):
            results(local_environment().from_collection([1]).process(Asking()))

    @pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
    def test_of_one_name_and_two_types_are_refused(self, backend: str) -> None:
        class Asking(AllStates):
            def open(self, runtime_context: RuntimeContext) -> None:
                super().open(runtime_context)
                runtime_context.get_list_state(ListStateDescriptor("value", Types.INT()))

        stream = timed([[1]], WatermarkStrategy.no_watermarks(), environment=with_backend(backend))
        with pytest.raises(
            PenstockError, match="Operator 'KEYED PROCESS' asks for its state 'value'"
        ):
            results(stream.key_by(int).process(Asking()).map(str))

    @pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
    def test_that_cannot_be_pickled_are_told_with_their_operator(self, backend: str) -> None:
        class Keeping(AllStates):
            def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
                self.value.update(lambda: value)
                yield value

        stream = timed(
            [[1], [2]], WatermarkStrategy.no_watermarks(), environment=with_backend(backend)
        )
        with pytest.raises(PenstockError, match=r"[Oo]perator 'KEYED PROCESS'") as raised:
            results(stream.key_by(int).process(Keeping()).map(str))
        assert "pickle" in str(raised.value)


# Random programs of timers and state, on every backend and parallelism, wherever epochs are cut.

Order = tuple[str, int]
"""`add` to the sum, `clear` it, or `register` or `delete` a timer for a time."""

Event = tuple[int, int, tuple[Order, ...]]
"""A time, a key, and what to do."""


class Random(KeyedProcessFunction):
    """Does what the events say; timers emit the sum, and some of them register or delete others."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.INT()))
        self.log = runtime_context.get_list_state(ListStateDescriptor("log", Types.INT()))

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        timers = ctx.timer_service()
        for order, number in value[2]:
            if order == "add":
                self.sum.update((self.sum.value() or 0) + number)
            elif order == "clear":
                self.sum.clear()
            elif order == "register":
                timers.register_event_time_timer(number)
            else:
                timers.delete_event_time_timer(number)
        self.log.add(value[0])
        yield (
            ctx.get_current_key(),
            "record",
            value[0],
            self.sum.value(),
            timers.current_watermark(),
        )

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        timers = ctx.timer_service()
        if timestamp % 3 == 0:
            timers.register_event_time_timer(timestamp + 4)
        if timestamp % 5 == 0:
            timers.delete_event_time_timer(timestamp + 2)
        if timestamp % 7 == 0:
            self.sum.clear()
        log = list(self.log.get() or ())
        self.log.clear()
        key = ctx.get_current_key()
        yield key, "timer", timestamp, self.sum.value(), timers.current_watermark(), log


def model(events: Sequence[Event]) -> list[Any]:
    """What each key's results are, with a watermark behind every record."""
    found: list[Any] = []
    sums: dict[int, int | None] = {}
    logs: dict[int, list[int]] = {}
    timers: set[tuple[int, int]] = set()
    watermark = MIN

    def advance(to: int) -> None:
        while due := [timer for timer in timers if timer[0] <= to]:
            time, key = min(due)
            timers.remove((time, key))
            if time % 3 == 0:
                timers.add((time + 4, key))
            if time % 5 == 0:
                timers.discard((time + 2, key))
            if time % 7 == 0:
                sums[key] = None
            found.append((key, "timer", time, sums.get(key), to, logs.pop(key, [])))

    for time, key, orders in events:
        for order, number in orders:
            if order == "add":
                sums[key] = (sums.get(key) or 0) + number
            elif order == "clear":
                sums[key] = None
            elif order == "register":
                timers.add((number, key))
            else:
                timers.discard((number, key))
        logs.setdefault(key, []).append(time)
        found.append((key, "record", time, sums.get(key), watermark))
        if time > watermark:
            watermark = time
            advance(watermark)
    advance(MAX)
    return found


def by_key(found: Sequence[Any]) -> dict[int, list[Any]]:
    """Only what one key sees has an order."""
    return {key: [entry for entry in found if entry[0] == key] for key in {e[0] for e in found}}


orders = st.tuples(
    st.sampled_from(["register", "register", "delete"]), st.integers(0, 40)
) | st.tuples(st.sampled_from(["add", "clear"]), st.integers(-5, 5))
events = st.tuples(st.integers(0, 30), st.integers(0, 4), st.lists(orders, max_size=3).map(tuple))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(events, max_size=8), min_size=1, max_size=4),
    st.sampled_from([1, 2, 5]),
    st.sampled_from(["hashmap", "hashmap", "rocksdb"]),
    st.sampled_from([1, 3, 1024]),
)
def test_random_programs_do_what_the_model_does(
    epochs: list[list[Event]], parallelism: int, backend: str, block_size: int
) -> None:
    env = with_backend(backend, parallelism)
    strategy = PER_RECORD.with_timestamp_assigner(own_time)
    source = TestingSource(epochs, block_size=block_size)
    stream = env.from_source(source, strategy, "events").set_parallelism(1)
    found = results(stream.key_by(lambda event: event[1]).process(Random()))
    assert by_key(found) == by_key(model([event for epoch in epochs for event in epoch]))
