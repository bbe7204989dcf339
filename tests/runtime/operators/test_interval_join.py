from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import any_of, from_zero, many_of

from penstock.datastream import OutputTag
from penstock.errors import InvalidTimestampError, UserFunctionError
from penstock.runtime.exchange.elements import StreamRecord
from penstock.runtime.late_records import LATENESS
from penstock.runtime.metrics import LATE_RECORDS
from penstock.runtime.operators.interval_join import IntervalJoinOperator, JoinContext
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.testing import TwoInputOperatorHarness

LEFT_LATE, RIGHT_LATE, ASIDE = OutputTag("left late"), OutputTag("right late"), OutputTag("aside")

Record = tuple[str, int, int]
"""Key, timestamp, and a number of its own."""


def pair(left: Any, right: Any, ctx: JoinContext) -> Iterator[Any]:
    assert ctx.left_timestamp() == left[1]
    assert ctx.right_timestamp() == right[1]
    assert ctx.timestamp() == max(left[1], right[1])
    yield left, right


def harness_of(
    lower: int,
    upper: int,
    function: Callable[..., Any] = pair,
    *,
    late_tags: tuple[str | None, str | None] = ("left late", "right late"),
    **options: Any,
) -> TwoInputOperatorHarness:
    operator = IntervalJoinOperator(function, lower=lower, upper=upper, late_tags=late_tags)
    return TwoInputOperatorHarness(operator, key_selector1=0, key_selector2=0, **options)


def give(harness: TwoInputOperatorHarness, side: int, record: Record) -> None:
    process = harness.process_element2 if side else harness.process_element1
    process(record, timestamp=record[1])


class Model:
    """An interval join on plain lists.

    It keeps what the operator forgets at the watermark at which it may forget it.
    """

    def __init__(self, lower: int, upper: int) -> None:
        self._bounds = lower, upper
        self._keep = max(upper, 0), max(-lower, 0)
        self._known: tuple[list[Record], list[Record]] = ([], [])
        self._watermark = MIN_TIMESTAMP
        self.pairs: list[tuple[Record, Record]] = []
        self.late: tuple[list[Record], list[Record]] = ([], [])

    def take(self, side: int, record: Record) -> None:
        if record[1] < self._watermark:
            self.late[side].append(record)
            return
        self._known[side].append(record)
        for other in self._known[1 - side]:
            left, right = (other, record) if side else (record, other)
            lower, upper = self._bounds
            if left[0] == right[0] and lower <= right[1] - left[1] <= upper:
                self.pairs.append((left, right))

    def advance(self, watermark: int) -> None:
        if watermark <= self._watermark:
            return
        self._watermark = watermark
        for side, keep in zip(self._known, self._keep, strict=True):
            side[:] = [record for record in side if record[1] + keep > watermark]

    @property
    def kept(self) -> int:
        return len({record[:2] for record in self._known[0]}) + len(
            {record[:2] for record in self._known[1]}
        )


# Records of both sides, and half as many watermarks.
events = many_of(
    [*product([0, 1], "ab", from_zero(-9, 9)), *from_zero(-9, 9) * 2], min_size=5, max_size=40
)


@pytest.mark.usefixtures("_open_database")
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@given(events, any_of(from_zero(-6, 6), range(7)), st.integers(0, 40))
def test_any_records_in_any_order(
    backend: str, sequence: list[Any], bounds: tuple[int, int], restored: int
) -> None:
    lower, width = bounds
    upper = lower + width
    model = Model(lower, upper)
    restored %= len(sequence) + 1
    with harness_of(lower, upper, state_backend=backend, max_parallelism=8) as harness:
        watermark = MIN_TIMESTAMP
        for place, event in enumerate(sequence):
            if place == restored:
                harness.restore(harness.snapshot())
            if isinstance(event, int):
                watermark = max(watermark, event)
                harness.process_both_watermarks(watermark)
                model.advance(watermark)
            else:
                side, key, timestamp = event
                record = key, timestamp, place
                give(harness, side, record)
                model.take(side, record)

        found = [element for element in harness.get_output() if isinstance(element, StreamRecord)]
        assert Counter(record.value for record in found) == Counter(model.pairs)
        assert all(
            record.timestamp == max(record.value[0][1], record.value[1][1]) for record in found
        )
        for tag, late in zip((LEFT_LATE, RIGHT_LATE), model.late, strict=True):
            assert [record.value for record in harness.get_side_output(tag)] == late
            assert [record.timestamp for record in harness.get_side_output(tag)] == [
                record[1] for record in late
            ]
        kept = sum(len(entry.value) for entry in harness.keyed_state_entries())
        assert kept == model.kept

        harness.process_both_watermarks(MAX_TIMESTAMP)
        assert harness.keyed_state_entries() == []
        assert harness.event_time_timers() == []


def test_both_bounds_belong_to_the_interval() -> None:
    with harness_of(-2, 3) as harness:
        harness.process_element1(("a", 10, 0), 10)
        for time in range(6, 16):
            harness.process_element2(("a", time, 0), time)

        found = [right[1] for _, right in harness.extract_output_values()]
        assert found == [8, 9, 10, 11, 12, 13]


def test_partners_come_by_time() -> None:
    with harness_of(-9, 9) as harness:
        for time in (5, 1, 3, 1):
            harness.process_element1(("a", time, 0), time)
        harness.process_element2(("a", 2, 0), 2)

        assert [left[1] for left, _ in harness.extract_output_values()] == [1, 1, 3, 5]


def test_late_records_that_go_nowhere_are_counted() -> None:
    with harness_of(0, 5, late_tags=(None, "right late")) as harness:
        harness.process_both_watermarks(10)
        harness.process_element1(("a", 9, 0), 9)
        harness.process_element1(("a", 8, 0), 8)
        harness.process_element2(("a", 9, 0), 9)
        harness.process_element1(("a", 10, 0), 10)

        counted = harness.operator.metrics.user.take()
        assert counted.pop(LATE_RECORDS) == 2
        assert counted.pop(LATENESS).summary()["max"] == 2
        assert counted == {}
        assert len(harness.get_side_output(RIGHT_LATE)) == 1


def test_times_at_the_end_of_time_are_kept_and_forgotten() -> None:
    with harness_of(0, MAX_TIMESTAMP) as harness:
        first, last = ("a", 5, 0), ("a", MAX_TIMESTAMP, 1)
        harness.process_element1(first, 5)
        harness.process_element1(last, MAX_TIMESTAMP)
        harness.process_both_watermarks(MAX_TIMESTAMP - 1)
        harness.process_element2(last, MAX_TIMESTAMP)
        harness.end_input()

        assert harness.extract_output_values() == [(first, last), (last, last)]
        assert harness.keyed_state_entries() == []


def test_a_record_without_a_timestamp_is_refused() -> None:
    with harness_of(0, 5) as harness, pytest.raises(InvalidTimestampError, match="'a', 1, 0"):
        harness.process_element1(("a", 1, 0))


def test_results_may_go_to_side_outputs() -> None:
    def aside(left: Any, right: Any, ctx: JoinContext) -> Iterator[Any]:
        yield ASIDE, (left, right)

    with harness_of(0, 5, aside) as harness:
        harness.process_element1(("a", 1, 0), 1)
        harness.process_element2(("a", 2, 0), 2)

        assert harness.get_side_output(ASIDE) == [StreamRecord((("a", 1, 0), ("a", 2, 0)), 2)]


def test_a_function_that_fails_is_told_with_both_records() -> None:
    def divide(left: Any, right: Any, ctx: JoinContext) -> Any:
        return [left[2] / right[2]]

    with harness_of(0, 5, divide) as harness:
        harness.process_element2(("a", 2, 0), 2)
        with pytest.raises(UserFunctionError) as raised:
            harness.process_element1(("a", 1, 7), 1)

    assert "ZeroDivisionError" in raised.value.message
    expected = "failed on the records ('a', 1, 7) and ('a', 2, 0) of the key 'a'"
    assert expected in raised.value.message


def test_none_stands_for_no_result() -> None:
    with harness_of(0, 5, lambda left, right, ctx: None) as harness:
        harness.process_element1(("a", 1, 0), 1)
        harness.process_element2(("a", 2, 0), 2)

        assert harness.extract_output_values() == []
