from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.windows.fakes import FakeAssignerContext, Merges

from penstock.common import Duration, Time
from penstock.errors import (
    InvalidFunctionError,
    InvalidSessionGapError,
    InvalidTimestampError,
    InvalidWindowError,
)
from penstock.runtime.keys.window_values import TimeWindow
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.runtime.windows.assigners.session import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)
from penstock.runtime.windows.serializers import TimeWindowSerializer
from penstock.runtime.windows.triggers.time_triggers import EventTimeTrigger, ProcessingTimeTrigger

STATIC: list[Any] = [EventTimeSessionWindows, ProcessingTimeSessionWindows]
DYNAMIC: list[Any] = [DynamicEventTimeSessionWindows, DynamicProcessingTimeSessionWindows]
CONTEXT = FakeAssignerContext()


class Length(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return len(element)


def windows(assigner: Any, element: Any = None, timestamp: int | None = 0, now: int = 0) -> Any:
    return list(assigner.assign_windows(element, timestamp, FakeAssignerContext(now)))


def test_a_session_lasts_until_the_gap_has_passed() -> None:
    assert windows(EventTimeSessionWindows.with_gap(Time.seconds(1)), None, -5) == [
        TimeWindow(-5, 995)
    ]
    assert windows(ProcessingTimeSessionWindows.with_gap(Duration.of("1 s")), None, -5, 7) == [
        TimeWindow(7, 1007)
    ]


@pytest.mark.parametrize("extractor", [Length(), len])
def test_a_dynamic_gap_depends_on_the_record(extractor: Any) -> None:
    by_event = EventTimeSessionWindows.with_dynamic_gap(extractor)
    assert windows(by_event, "abc", 10) == [TimeWindow(10, 13)]
    by_clock = ProcessingTimeSessionWindows.with_dynamic_gap(extractor)
    assert windows(by_clock, "abc", None, 20) == [TimeWindow(20, 23)]
    assert type(by_event) is DynamicEventTimeSessionWindows
    assert type(by_clock) is DynamicProcessingTimeSessionWindows


@given(st.integers(MIN_TIMESTAMP + 1, MAX_TIMESTAMP), st.integers(1, MAX_TIMESTAMP))
def test_a_session_stays_within_64_bits(timestamp: int, gap: int) -> None:
    (window,) = windows(EventTimeSessionWindows.with_gap(gap), None, timestamp)
    assert window == TimeWindow(timestamp, min(timestamp + gap, MAX_TIMESTAMP))


@given(st.lists(st.integers(-40, 40), min_size=1), st.integers(1, 9))
def test_sessions_part_where_no_record_is_within_the_gap(timestamps: list[int], gap: int) -> None:
    assigner = EventTimeSessionWindows.with_gap(gap)
    found = {window for timestamp in timestamps for window in windows(assigner, None, timestamp)}
    merges = Merges()
    assigner.merge_windows(found, merges)
    for members, whole in merges.found:
        found = (found - set(members)) | {whole}
    # The model: a record more than the gap after the one before begins a session.
    expected: list[list[int]] = []
    for timestamp in sorted(timestamps):
        if expected and timestamp - expected[-1][-1] <= gap:
            expected[-1].append(timestamp)
        else:
            expected.append([timestamp])
    assert sorted(found) == [TimeWindow(times[0], times[-1] + gap) for times in expected]


@pytest.mark.parametrize("kind", STATIC)
@pytest.mark.parametrize("gap", [0, Time.milliseconds(-1), "never", 1.5, 2**63, None])
def test_gaps_that_cannot_be(kind: Any, gap: Any) -> None:
    with pytest.raises(InvalidWindowError, match=f"The gap of {kind.__name__}"):
        kind.with_gap(gap)


@pytest.mark.parametrize("kind", DYNAMIC)
@pytest.mark.parametrize("extractor", [5, None, Length])
def test_extractors_that_cannot_be(kind: Any, extractor: Any) -> None:
    with pytest.raises(InvalidFunctionError, match=f"The gap extractor of {kind.__name__}"):
        kind.with_dynamic_gap(extractor)


@pytest.mark.parametrize("kind", DYNAMIC)
@pytest.mark.parametrize("gap", [0, -1, None, 1.5, True, "1", np.int64(0)])
def test_a_gap_must_be_above_zero(kind: Any, gap: Any) -> None:
    with pytest.raises(
        InvalidSessionGapError, match=r"'windows', the key .* returned .* for the record 'red'"
    ):
        windows(kind.with_dynamic_gap(lambda _: gap), "red")


def test_a_gap_may_be_any_integer() -> None:
    assigner = DynamicEventTimeSessionWindows(lambda _: np.int64(5))  # type: ignore[arg-type, return-value]
    (window,) = windows(assigner)
    assert window == TimeWindow(0, 5)
    assert type(window.end) is int


def test_a_record_without_timestamp_is_refused() -> None:
    for assigner in (EventTimeSessionWindows.with_gap(5), DynamicEventTimeSessionWindows(len)):
        with pytest.raises(InvalidTimestampError, match="'red' has none"):
            windows(assigner, "red", None)


@pytest.mark.parametrize(
    ("assigner", "trigger", "text"),
    [
        (EventTimeSessionWindows(5), EventTimeTrigger, "EventTimeSessionWindows(5)"),
        (ProcessingTimeSessionWindows(5), ProcessingTimeTrigger, "ProcessingTimeSessionWindows(5)"),
        (
            DynamicEventTimeSessionWindows(Length()),
            EventTimeTrigger,
            "DynamicEventTimeSessionWindows(Length)",
        ),
        (
            DynamicProcessingTimeSessionWindows(len),
            ProcessingTimeTrigger,
            "DynamicProcessingTimeSessionWindows(len)",
        ),
    ],
)
def test_what_else_an_assigner_tells(assigner: Any, trigger: type, text: str) -> None:
    assert type(assigner.get_default_trigger(None)) is trigger
    assert assigner.is_event_time() is (trigger is EventTimeTrigger)
    assert isinstance(assigner.get_window_serializer(), TimeWindowSerializer)
    assert repr(pickle.loads(pickle.dumps(assigner))) == text
