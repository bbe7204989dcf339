from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.programs import Harness
from tests.runtime.windows.operator.test_window_operator import (
    LATE,
    Numbered,
    Told,
    backends,
    event_timers,
    ready,
    state,
)

from penstock.errors import (
    LateMergedWindowError,
    WindowStateError,
)
from penstock.runtime.keys.window_values import TimeWindow
from penstock.runtime.windows.assigners.assigner import MergingWindowAssigner
from penstock.runtime.windows.assigners.global_windows import GlobalWindows
from penstock.runtime.windows.assigners.session import (
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
)
from penstock.runtime.windows.assigners.tumbling import TumblingEventTimeWindows
from penstock.runtime.windows.evictors import CountEvictor, Evictor
from penstock.runtime.windows.operator.window_call import ProcessCall
from penstock.runtime.windows.operator.window_contents import ReducedRecords
from penstock.runtime.windows.operator.window_sets import window_operator
from penstock.runtime.windows.triggers.count_trigger import CountTrigger
from penstock.runtime.windows.triggers.time_triggers import EventTimeTrigger
from penstock.runtime.windows.triggers.trigger import Trigger, TriggerResult


@backends
def test_windows_that_merge_tell_the_trigger_first(backend: str) -> None:
    harness = ready(EventTimeSessionWindows.with_gap(10), Told(), backend=backend)
    harness.process([1, 2, 3], [0, 15, 8], ["k"] * 3)

    assert harness.operator.trigger.log == [  # type: ignore[attr-defined]
        ("element", 1, 0, (0, 10)),
        ("element", 2, 15, (15, 25)),
        ("merge", (0, 25)),
        ("clear", (0, 10)),
        ("clear", (15, 25)),
        ("element", 3, 8, (0, 25)),
    ]
    assert event_timers(harness) == [(24, "k", TimeWindow(0, 25))]
    entries = {entry[0]: entry for entry in harness.operator.state.entries()}
    assert entries["window-contents"] == ("window-contents", (0, 10), "k", [1, 2, 3])
    assert entries["trigger: seen"] == ("trigger: seen", (0, 25), "k", [0, 15, 8])
    assert entries["merging-window-set"][3] == {TimeWindow(0, 25): TimeWindow(0, 10)}
    harness.operator.process_watermark(24)

    assert harness.output.records() == [(1, 24), (2, 24), (3, 24)]
    assert state(harness) == []


@backends
def test_merged_windows_go_on_after_a_failure(backend: str) -> None:
    def session() -> Harness:
        assigner = EventTimeSessionWindows.with_gap(10)
        return ready(assigner, contents=ReducedRecords(max), make=window_operator, backend=backend)

    before, after = session(), session()
    before.process([1, 2], [0, 15], ["k"] * 2)
    for frame in before.operator.state.everything():
        after.operator.state.apply(frame)
    after.process([3, 4], [8, 60], ["k"] * 2)
    after.operator.process_watermark(24)

    assert after.output.records() == [(3, 24)]
    assert len(event_timers(after)) == 1


def test_windows_of_processing_time_merge() -> None:
    assigner = ProcessingTimeSessionWindows.with_gap(10)
    harness = ready(assigner)
    for time, value in [(0, 1), (8, 2), (30, 3)]:
        harness.time.set_current_time(time)
        harness.process([value], None, ["k"])

    assert harness.output.records() == [(1, 17), (2, 17)]


def test_a_record_of_a_late_session_is_late() -> None:
    harness = ready(
        EventTimeSessionWindows.with_gap(10),
        late_tag=LATE,
        allowed_lateness=5,
    )
    harness.process([1], [0], ["k"])
    harness.operator.process_watermark(12)
    harness.process([2, 3], [-3, -8], ["k", "k"])

    # The first makes the session longer, which is there yet, and the second touches it.
    assert harness.output.records() == [(1, 9), (1, 9), (2, 9), (1, 9), (2, 9), (3, 9)]
    harness.operator.process_watermark(14)
    harness.process([4], [-3], ["k"])
    assert harness.output.records("late") == [(4, -3)]
    assert state(harness) == []


class Shrinking(MergingWindowAssigner[Any, TimeWindow]):
    def assign_windows(self, element: Any, timestamp: Any, context: Any) -> list[TimeWindow]:
        return [TimeWindow(timestamp, timestamp + 10)]

    def merge_windows(self, windows: Any, callback: Any) -> None:
        known = list(windows)
        if len(known) > 1:
            callback.merge(known, TimeWindow(-100, -90))

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        return EventTimeTrigger.create()

    def is_event_time(self) -> bool:
        return True


def test_a_merged_window_must_not_be_late() -> None:
    harness = ready(Shrinking())
    harness.operator.process_watermark(0)
    harness.process([1], [5], ["k"])
    with pytest.raises(LateMergedWindowError) as failure:
        harness.process([2], [6], ["k"])

    assert "Operator 'Mine', the key 'k' and the window TimeWindow(start=-100, end=-90)" in str(
        failure.value
    )


def test_a_window_that_merges_has_no_state() -> None:
    harness = ready(
        EventTimeSessionWindows.with_gap(10),
        call=ProcessCall(Numbered()),
    )
    harness.process([1], [0], ["k"])
    with pytest.raises(WindowStateError) as failure:
        harness.operator.process_watermark(9)

    text = str(failure.value)
    assert (
        "asks for the state of the window TimeWindow(start=0, end=10), and its windows merge"
        in text
    )
    assert (
        "Operator 'Mine' failed on the key 'k' and the window TimeWindow(start=0, end=10)" in text
    )


class Watching(Evictor[Any, Any]):
    """Evicts what is 0 before, and what is negative after, the function is called."""

    def evict_before(self, elements: Any, size: int, window: Any, ctx: Any) -> None:
        assert size == len(elements)
        elements[:] = [element for element in elements if element.value != 0]

    def evict_after(self, elements: Any, size: int, window: Any, ctx: Any) -> None:
        assert size == len(elements)
        elements[:] = [element for element in elements if element.value >= 0]


@backends
def test_what_an_evictor_takes_is_gone_for_good(backend: str) -> None:
    harness = ready(
        GlobalWindows.create(),
        CountTrigger.of(3),
        make=window_operator,
        evictor=Watching(),
        backend=backend,
    )
    harness.process([1, 0, -1], None, ["k"] * 3)
    assert harness.output.values() == [1, -1]
    harness.process([2, 0, 3], None, ["k"] * 3)

    assert harness.output.values() == [1, -1, 1, 2, 3]


def test_records_are_joined_when_an_evicting_window_fires() -> None:
    harness = ready(
        GlobalWindows.create(),
        CountTrigger.of(2),
        contents=ReducedRecords(lambda a, b: a + b),
        make=window_operator,
        evictor=CountEvictor.of(3),
    )
    harness.process([1, 2, 3, 4], None, ["k"] * 4)
    assert harness.output.values() == [3, 9]

    nothing = ready(
        GlobalWindows.create(),
        CountTrigger.of(1),
        contents=ReducedRecords(max),
        make=window_operator,
        evictor=CountEvictor.of(0),
    )
    nothing.process([1, 2], None, ["k"] * 2)
    assert nothing.output.values() == []


def test_none_that_records_are_reduced_to_is_a_result_where_they_are_kept() -> None:
    harness = ready(
        GlobalWindows.create(),
        CountTrigger.of(2),
        contents=ReducedRecords(lambda _one, _other: None),
        make=window_operator,
        evictor=CountEvictor.of(3),
    )
    harness.process([1, 2], None, ["k"] * 2)

    assert harness.output.values() == [None]


def test_an_evicting_window_without_contents_is_cleaned_up_too() -> None:
    harness = ready(
        TumblingEventTimeWindows.of(10),
        Told(),
        make=window_operator,
        evictor=CountEvictor.of(0),
    )
    harness.process([TriggerResult.FIRE_AND_PURGE], [3], ["k"])
    assert event_timers(harness) == [(9, "k", TimeWindow(0, 10))]
    harness.operator.process_watermark(9)

    assert state(harness) == []
