"""Watermarks, from the strategy of a program to its functions."""

from __future__ import annotations

from typing import Any

import pytest
from tests.datastream.clock import Clock, passing
from tests.datastream.event_time import (
    MIN,
    MONOTONOUS,
    PER_RECORD,
    PerRecord,
    Seen,
    own_time,
    results,
    seen,
    timed,
)

from penstock.common import Duration, WatermarkStrategy
from penstock.common.watermark_generator import WatermarkGenerator, WatermarkOutput
from penstock.datastream import OutputTag
from penstock.errors import (
    InvalidTimestampError,
    PenstockError,
    UserFunctionError,
)
from penstock.testing import TestingSource, local_environment


class Periodic(WatermarkGenerator):
    """Follows the greatest timestamp, from time to time."""

    def __init__(self) -> None:
        self._greatest = MIN

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        self._greatest = max(self._greatest, event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(self._greatest)


OTHER = OutputTag("other")


def _twice(value: Any, _: Any) -> Any:
    return value, (OTHER, value)


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

    @pytest.mark.parametrize("way", ["as it is", "side output", "union", "forward", "keyed"])
    def test_are_made_where_the_input_is_so_that_none_of_its_order_is_lost(self, way: str) -> None:
        env = local_environment(parallelism=4)
        stream = env.from_collection([*range(100)]).process(_twice).set_parallelism(1)
        if way == "side output":
            stream = stream.get_side_output(OTHER)
        elif way == "union":
            stream = stream.union(env.from_collection([]))
        elif way == "forward":
            stream = stream.forward()
        elif way == "keyed":
            stream = stream.key_by(lambda _: "all")
        strategy = PER_RECORD.with_timestamp_assigner(own_time)
        timed = stream.assign_timestamps_and_watermarks(strategy)
        found = results(timed.process(Seen()).set_parallelism(1))
        assert found == [(time, time, time - 1 if time else MIN) for time in range(100)]

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
        with pytest.raises(InvalidTimestampError, match="which is no 64-bit integer") as raised:
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
