from __future__ import annotations

import itertools
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Duration, Time, Types, WatermarkStrategy
from penstock.datastream import DataStream, KeyedStream, OutputTag, ProcessJoinFunction
from penstock.errors import (
    InvalidArgumentError,
    InvalidDurationError,
    InvalidFunctionError,
    LateRecordsDroppedWarning,
)
from penstock.testing import TestingSource, local_environment

LATE = OutputTag("late")
Event = tuple[str, int]


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
        assert isinstance(ctx, ProcessJoinFunction.Context)
        yield left, right


def keyed(env: Any, epochs: list[list[Event]], delay: int = 0) -> KeyedStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(delay))
    strategy = strategy.with_timestamp_assigner(lambda event, _: event[1])
    stream = env.from_source(TestingSource(epochs), WatermarkStrategy.no_watermarks(), "events")
    timed = stream.set_parallelism(1).assign_timestamps_and_watermarks(strategy)
    return timed.set_parallelism(1).key_by(lambda event: event[0])  # type: ignore[no-any-return]


def streams() -> tuple[KeyedStream, KeyedStream]:
    env = local_environment(parallelism=2)
    return keyed(env, [[("a", 0), ("a", 10)]]), keyed(env, [[("a", 5), ("a", 13), ("b", 5)]])


def differences(stream: DataStream) -> list[int]:
    return sorted(right[1] - left[1] for left, right in stream.execute_and_collect())


@st.composite
def cut(draw: st.DrawFn) -> list[list[Event]]:
    """Events at most 5 ms out of order, cut into epochs."""
    event = st.tuples(st.sampled_from("abc"), st.integers(0, 60), st.integers(0, 5))
    drawn = sorted(draw(st.lists(event, max_size=25)), key=lambda each: each[1] + each[2])
    events = [each[:2] for each in drawn]
    places = sorted(draw(st.lists(st.integers(0, len(events)), max_size=3)))
    bounds = [0, *places, len(events)]
    return [events[start:end] for start, end in itertools.pairwise(bounds)]


@settings(max_examples=50)
@given(cut(), cut(), st.integers(-9, 9), st.integers(0, 15), st.sampled_from([1, 3]))
def test_all_pairs_are_found_wherever_epochs_are_cut(
    left: list[list[Event]], right: list[list[Event]], lower: int, width: int, parallelism: int
) -> None:
    env = local_environment(parallelism=parallelism)
    upper = lower + width
    joined = keyed(env, left, 5).interval_join(keyed(env, right, 5)).between(lower, upper)
    found = Counter(joined.process(Pair()).execute_and_collect())

    assert found == Counter(
        (one, other)
        for one in itertools.chain(*left)
        for other in itertools.chain(*right)
        if one[0] == other[0] and lower <= other[1] - one[1] <= upper
    )


@pytest.mark.parametrize(
    "bounds",
    [
        (-5, 5),
        (Time.milliseconds(-5), Time.milliseconds(5)),
        (Duration.of_millis(-5), timedelta(milliseconds=5)),
        ("-5 ms", "5 ms"),
    ],
)
def test_bounds_are_lengths_of_time(bounds: Any) -> None:
    left, right = streams()
    assert differences(left.interval_join(right).between(*bounds).process(Pair())) == [-5, 3, 5]


def test_bounds_may_be_exclusive() -> None:
    for is_lower, is_upper, expected in [
        (True, False, [3, 5]),
        (False, True, [-5, 3]),
        (True, True, [3]),
    ]:
        left, right = streams()
        joined = left.interval_join(right).between(-5, 5)
        if is_lower:
            joined = joined.lower_bound_exclusive()
        if is_upper:
            joined = joined.upper_bound_exclusive()
        assert differences(joined.process(Pair())) == expected


def test_late_records_go_to_side_outputs_of_their_sides() -> None:
    env = local_environment()
    left = keyed(env, [[("a", 100)], [("a", 10)]])
    right = keyed(env, [[("a", 100)], [("a", 20)]])
    both = left.interval_join(right).between(-50, 50)
    late = both.side_output_left_late_data(LATE).process(Pair()).get_side_output(LATE)
    with pytest.warns(LateRecordsDroppedWarning, match="1 at 'Interval Join'"):
        assert list(late.execute_and_collect()) == [("a", 10)]

    env = local_environment()
    left = keyed(env, [[("a", 100)], [("a", 10)]])
    right = keyed(env, [[("a", 100)], [("a", 20)]])
    both = left.interval_join(right).between(-50, 50)
    late = both.side_output_right_late_data(LATE).process(Pair()).get_side_output(LATE)
    with pytest.warns(LateRecordsDroppedWarning, match="1 at 'Interval Join'"):
        assert list(late.execute_and_collect()) == [("a", 20)]


def test_plain_functions_and_names_of_results() -> None:
    left, right = streams()
    row = Types.ROW_NAMED(["by"], [Types.LONG()])
    near = left.interval_join(right).between(0, 3)
    found = near.process(lambda one, other, ctx: [(other[1] - one[1],)], row)

    assert found.get_name() == "Interval Join"
    assert [result.by for result in found.execute_and_collect()] == [3]


def test_bounds_must_leave_something_between_them() -> None:
    left, right = streams()
    with pytest.raises(InvalidArgumentError, match="from 5 ms to 4 ms"):
        left.interval_join(right).between(5, 4)
    with pytest.raises(InvalidArgumentError, match="No time lies between 5 ms and 6 ms"):
        left.interval_join(right).between(
            5, 6
        ).lower_bound_exclusive().upper_bound_exclusive().process(Pair())
    with pytest.raises(InvalidDurationError):
        left.interval_join(right).between("soon", 5)


def test_what_cannot_be_joined_is_refused() -> None:
    left, right = streams()
    with pytest.raises(InvalidArgumentError, match="of another environment"):
        left.interval_join(streams()[0])
    with pytest.raises(InvalidArgumentError, match="no keyed stream"):
        left.interval_join(right.map(str))  # type: ignore[arg-type]
    joined = left.interval_join(right).between(0, 5)
    with pytest.raises(InvalidArgumentError, match="'late', which is no OutputTag"):
        joined.side_output_left_late_data("late")  # type: ignore[arg-type]
    with pytest.raises(InvalidFunctionError):
        joined.process(lambda left, right: None)  # type: ignore[arg-type,misc]
