"""Where records have their timestamps from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.datastream.event_time import (
    MIN,
    MONOTONOUS,
    PerRecord,
    Seen,
    own_time,
    results,
    seen,
    timed,
)

from penstock.common import Time, Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import BroadcastProcessFunction, MapStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import PenstockError, UserFunctionError
from penstock.testing import local_environment


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

    def test_that_are_missing_are_asked_for_where_they_are_needed(self) -> None:
        for strategy in (MONOTONOUS(), WatermarkStrategy.for_generator(PerRecord)):
            assert seen([[1, 2]], strategy) == seen([[1, 2]], WatermarkStrategy.no_watermarks())
        windows = TumblingEventTimeWindows.of(Time.seconds(1))
        keyed = timed([[1]], MONOTONOUS()).key_by(str).window(windows)
        with pytest.raises(PenstockError, match="timestamp assigner") as raised:
            results(keyed.reduce(max))
        assert "the record 1 has none" in str(raised.value)

    def test_that_are_missing_in_a_broadcast_stream_hold_nothing_up(self) -> None:
        class Joined(BroadcastProcessFunction):
            def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
                yield value, ctx.timestamp()

            def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
                yield value, ctx.timestamp()

        env = local_environment()
        rules = timed([["rule"]], MONOTONOUS(), environment=env)
        events = timed([[7]], MONOTONOUS().with_timestamp_assigner(own_time), environment=env)
        known = rules.broadcast(MapStateDescriptor("rules", Types.STRING(), Types.STRING()))
        assert sorted(results(events.connect(known).process(Joined())), key=str) == [
            ("rule", None),
            (7, 7),
        ]

    def test_that_some_have_count_alone(self) -> None:
        env = local_environment()
        without = timed([[1], [2]], WatermarkStrategy.no_watermarks(), environment=env)
        those = MONOTONOUS().with_timestamp_assigner(lambda value, _: value)
        with_times = timed([[30], [40]], those, environment=env)
        again = without.union(with_times).assign_timestamps_and_watermarks(MONOTONOUS())
        found = results(again.process(Seen()))
        assert sorted((value, timestamp) for value, timestamp, _ in found) == [
            (1, None),
            (2, None),
            (30, 30),
            (40, 40),
        ]
        assert {watermark for _, _, watermark in found} <= {-(2**63), 29, 39}

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
