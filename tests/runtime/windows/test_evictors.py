from __future__ import annotations

import math
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Duration, Time
from penstock.errors import InvalidEvictorError, InvalidFunctionError
from penstock.runtime.keys.window_values import TimeWindow
from penstock.runtime.windows.evictors import (
    CountEvictor,
    DeltaEvictor,
    Evictor,
    TimeEvictor,
    TimestampedValue,
)

WINDOW = TimeWindow(0, 100)
CTX: Any = None


def distance(old: float, last: float) -> float:
    return abs(last - old)


def kept(evictor: Evictor[Any, Any], elements: list[TimestampedValue]) -> list[Any]:
    """The values that are left before the function is called, and after."""
    left = list(elements)
    evictor.evict_before(left, len(left), WINDOW, CTX)
    before = [element.value for element in left]
    evictor.evict_after(left, len(left), WINDOW, CTX)
    return [before, [element.value for element in left]]


def timed(*timestamps: int | None) -> list[TimestampedValue]:
    return [TimestampedValue(timestamp, timestamp) for timestamp in timestamps]


@given(st.lists(st.integers()), st.integers(0, 5))
def test_count_keeps_the_last(values: list[int], count: int) -> None:
    elements = [TimestampedValue(value) for value in values]
    last = values[max(len(values) - count, 0) :]
    assert kept(CountEvictor.of(count), elements) == [last, last]
    assert kept(CountEvictor.of(count, do_evict_after=True), elements) == [values, last]


def test_time_keeps_what_is_younger() -> None:
    elements = timed(5, 20, 11, 10, 9)
    assert kept(TimeEvictor.of(Time.milliseconds(10)), elements) == [[20, 11]] * 2
    assert kept(TimeEvictor.of(10, do_evict_after=True), elements) == [[5, 20, 11, 10, 9], [20, 11]]
    assert kept(TimeEvictor.of(0), elements) == [[], []]


def test_time_keeps_what_has_no_timestamp() -> None:
    assert kept(TimeEvictor.of(5), timed(None, None)) == [[None, None]] * 2
    assert kept(TimeEvictor.of(5), timed(None, 1, 10)) == [[None, 10]] * 2
    assert kept(TimeEvictor.of(5), []) == [[], []]


@given(st.lists(st.integers(-20, 20)), st.integers(0, 20))
def test_delta_keeps_what_is_near_to_the_last(values: list[int], threshold: int) -> None:
    elements = [TimestampedValue(value) for value in values]
    near = [value for value in values if abs(value - values[-1]) < threshold]
    assert kept(DeltaEvictor.of(threshold, distance), elements) == [near, near]
    after = DeltaEvictor.of(threshold, distance, do_evict_after=True)
    assert kept(after, elements) == [values, near]


@pytest.mark.parametrize(
    ("evictor", "text"),
    [
        (CountEvictor.of(3), "CountEvictor(3)"),
        (TimeEvictor.of(Duration.of_seconds(1), do_evict_after=True), "TimeEvictor(1000)"),
        (DeltaEvictor.of(0.5, distance), "DeltaEvictor(0.5)"),
    ],
)
def test_evictors_can_be_pickled(evictor: Any, text: str) -> None:
    again = pickle.loads(pickle.dumps(evictor))
    assert repr(again) == text
    assert again.do_evict_after is evictor.do_evict_after


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CountEvictor.of(-1), "The count of CountEvictor is -1"),
        (lambda: CountEvictor.of(1.5), "The count of CountEvictor is 1.5"),  # type: ignore[arg-type]
        (lambda: TimeEvictor.of(-1), "The length of time of TimeEvictor is -1 ms"),
        (lambda: TimeEvictor.of("x"), "The length of time of TimeEvictor is 'x'"),
        (lambda: DeltaEvictor.of(math.nan, distance), "The threshold of DeltaEvictor is nan"),
    ],
)
def test_evictors_that_cannot_be(make: Any, message: str) -> None:
    with pytest.raises(InvalidEvictorError, match=message):
        make()


def test_a_delta_function_is_called() -> None:
    with pytest.raises(InvalidFunctionError, match="The delta function of DeltaEvictor is 5"):
        DeltaEvictor.of(1, 5)  # type: ignore[arg-type]
