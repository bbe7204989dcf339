"""Tumbling and sliding windows."""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.windows.fakes import FakeAssignerContext

from penstock.common import Duration, Time
from penstock.errors import InvalidTimestampError, InvalidWindowError
from penstock.runtime.keys.window_values import TimeWindow
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.runtime.windows.assigners.sliding import (
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
)
from penstock.runtime.windows.assigners.tumbling import (
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.runtime.windows.serializers import TimeWindowSerializer
from penstock.runtime.windows.triggers.time_triggers import EventTimeTrigger, ProcessingTimeTrigger

TIMESTAMPS = st.integers(MIN_TIMESTAMP + 1, MAX_TIMESTAMP)
CONTEXT = FakeAssignerContext()
TUMBLING: list[Any] = [TumblingEventTimeWindows, TumblingProcessingTimeWindows]
SLIDING: list[Any] = [SlidingEventTimeWindows, SlidingProcessingTimeWindows]


def holds(window: TimeWindow, time: int) -> bool:
    return window.start <= time < window.end or window.end == time == MAX_TIMESTAMP


@given(TIMESTAMPS, st.integers(1, 2**62), st.data())
def test_a_tumbling_window_holds_the_timestamp(
    timestamp: int, size: int, data: st.DataObject
) -> None:
    offset = data.draw(st.integers(1 - size, size - 1))
    (window,) = TumblingEventTimeWindows(size, offset).assign_windows(None, timestamp, CONTEXT)
    assert holds(window, timestamp)
    assert MIN_TIMESTAMP <= window.start <= window.end <= MAX_TIMESTAMP


@given(st.integers(-50, 50), st.integers(1, 20), st.data())
def test_tumbling_windows_leave_no_gap(timestamp: int, size: int, data: st.DataObject) -> None:
    offset = data.draw(st.integers(1 - size, size - 1))
    assigner = TumblingEventTimeWindows(size, offset)
    (window,) = assigner.assign_windows(None, timestamp, CONTEXT)
    (following,) = assigner.assign_windows(None, window.end, CONTEXT)
    (last,) = assigner.assign_windows(None, window.max_timestamp(), CONTEXT)
    assert last == window
    assert following == TimeWindow(window.end, window.end + size)
    assert (window.start - offset) % size == 0


@given(TIMESTAMPS, st.integers(1, 40), st.integers(1, 40), st.data())
def test_sliding_windows_hold_the_timestamp(
    timestamp: int, size: int, slide: int, data: st.DataObject
) -> None:
    offset = data.draw(st.integers(1 - slide, slide - 1))
    assigner = SlidingEventTimeWindows(size, slide, offset)
    windows = list(assigner.assign_windows(None, timestamp, CONTEXT))
    assert all(holds(window, timestamp) for window in windows)
    assert len(set(windows)) == len(windows)
    assert len(windows) in {size // slide, -(-size // slide)}
    assert windows == sorted(windows, reverse=True)


def test_examples_of_windows() -> None:
    hour = TumblingEventTimeWindows.of(Time.hours(1), Time.minutes(15))
    assert list(hour.assign_windows(None, 0, CONTEXT)) == [TimeWindow(-2_700_000, 900_000)]
    sliding = SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5), Time.seconds(1))
    assert list(sliding.assign_windows(None, 0, CONTEXT)) == [
        TimeWindow(-4_000, 6_000),
        TimeWindow(-9_000, 1_000),
    ]
    with_gaps = SlidingEventTimeWindows.of(Time.milliseconds(2), Time.milliseconds(5))
    assert list(with_gaps.assign_windows(None, 1, CONTEXT)) == [TimeWindow(0, 2)]
    assert list(with_gaps.assign_windows(None, 2, CONTEXT)) == []


def test_processing_time_windows_ask_the_clock() -> None:
    context = FakeAssignerContext(now=23)
    tumbling = TumblingProcessingTimeWindows.of(Time.milliseconds(10))
    assert list(tumbling.assign_windows(None, 3, context)) == [TimeWindow(20, 30)]
    sliding = SlidingProcessingTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5))
    assert list(sliding.assign_windows(None, None, context)) == [
        TimeWindow(20, 30),
        TimeWindow(15, 25),
    ]


@pytest.mark.parametrize(
    "assigner", [TumblingEventTimeWindows(5, 0), SlidingEventTimeWindows(5, 5, 0)], ids=repr
)
def test_a_record_without_timestamp_is_refused(assigner: Any) -> None:
    with pytest.raises(InvalidTimestampError, match=r"'windows'.*5, .*the record 'red' has none"):
        assigner.assign_windows("red", None, CONTEXT)


@pytest.mark.parametrize("size", [Time.seconds(1), Duration.of("1 s"), timedelta(seconds=1), 1000])
def test_sizes_are_lengths_of_time(size: Any) -> None:
    assert [(kind.of(size).size, kind.of(size).offset) for kind in TUMBLING] == [(1000, 0)] * 2
    for kind in SLIDING:
        assigner = kind.of(size, size, Time.milliseconds(-1))
        assert (assigner.size, assigner.slide, assigner.offset) == (1000, 1000, -1)


@pytest.mark.parametrize("kind", TUMBLING)
@pytest.mark.parametrize(
    ("size", "offset", "message"),
    [
        (0, 0, "size of Tumbling.* is 0 ms"),
        (Time.seconds(-1), 0, "size of Tumbling.* is -1000 ms"),
        (10, 10, "offset of Tumbling.* is 10 ms, and the size 10 ms"),
        (10, -10, "offset of Tumbling.* is -10 ms"),
        (2**63, 0, "64 bits"),
        (1.5, 0, "is 1.5, which is no length of time"),
        (True, 0, "is True, which is no length of time"),
        ("soon", 0, "is 'soon'"),
        (10, None, "offset of Tumbling.* is None"),
        (Duration.of_nanos(1_500_000), 0, "whole milliseconds"),
        (Time(0.5), 0, "no length of time"),  # type: ignore[arg-type]
    ],
)
def test_tumbling_windows_that_cannot_be(kind: Any, size: Any, offset: Any, message: str) -> None:
    with pytest.raises(InvalidWindowError, match=message):
        kind(size, offset)


@pytest.mark.parametrize("kind", SLIDING)
@pytest.mark.parametrize(
    ("size", "slide", "offset", "message"),
    [
        (0, 5, 0, "size of Sliding.* is 0 ms"),
        (5, 0, 0, "slide of Sliding.* is 0 ms"),
        (5, -1, 0, "slide of Sliding.* is -1 ms"),
        (10, 5, 5, "offset of Sliding.* is 5 ms, and the slide 5 ms"),
        (10, 5, -5, "offset of Sliding.* is -5 ms"),
        (10, [], 0, "slide of Sliding.* is \\[\\]"),
    ],
)
def test_sliding_windows_that_cannot_be(
    kind: Any, size: Any, slide: Any, offset: Any, message: str
) -> None:
    with pytest.raises(InvalidWindowError, match=message):
        kind(size, slide, offset)


@pytest.mark.parametrize(
    ("assigner", "trigger"),
    [
        (TumblingEventTimeWindows(5, 0), EventTimeTrigger),
        (SlidingEventTimeWindows(5, 1, 0), EventTimeTrigger),
        (TumblingProcessingTimeWindows(5, 0), ProcessingTimeTrigger),
        (SlidingProcessingTimeWindows(5, 1, 0), ProcessingTimeTrigger),
    ],
)
def test_what_else_an_assigner_tells(assigner: Any, trigger: type) -> None:
    assert type(assigner.get_default_trigger(None)) is trigger
    assert assigner.is_event_time() is (trigger is EventTimeTrigger)
    assert isinstance(assigner.get_window_serializer(), TimeWindowSerializer)
    assert assigner.snapshot() is None
    again = pickle.loads(pickle.dumps(assigner))
    assert repr(again) == repr(assigner)
    assert again.assign_windows(None, 7, CONTEXT) == assigner.assign_windows(None, 7, CONTEXT)
