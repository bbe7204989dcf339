from __future__ import annotations

import pickle
from typing import Any

import pytest
from tests.runtime.windows.fakes import FakeTriggerContext

from penstock.common import Duration, Time
from penstock.errors import InvalidTimestampError, InvalidTriggerError
from penstock.runtime.keys.window_values import GlobalWindow, TimeWindow
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.runtime.windows.triggers.continuous_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
)
from penstock.runtime.windows.triggers.trigger import TriggerResult

CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE
WINDOW = TimeWindow(0, 25)


def by_event_time() -> ContinuousEventTimeTrigger:
    return ContinuousEventTimeTrigger.of(Time.milliseconds(10))


def by_clock() -> ContinuousProcessingTimeTrigger:
    return ContinuousProcessingTimeTrigger.of(Time.milliseconds(10))


def test_event_time_fires_at_multiples_and_at_the_end() -> None:
    trigger, ctx = by_event_time(), FakeTriggerContext(WINDOW)
    assert trigger.on_element("a", 3, WINDOW, ctx) is CONTINUE
    assert ctx.times() == ([10, 24], [])
    assert trigger.on_element("b", 4, WINDOW, ctx) is CONTINUE
    assert ctx.advance_watermark(trigger, 9) == []
    assert ctx.advance_watermark(trigger, 10) == [FIRE]
    assert ctx.times() == ([20, 24], [])
    assert ctx.advance_watermark(trigger, 100) == [FIRE, FIRE]
    assert trigger.on_element("late", 4, WINDOW, ctx) is FIRE
    trigger.clear(WINDOW, ctx)
    assert ctx.is_empty()


def test_event_time_of_negative_timestamps() -> None:
    window = TimeWindow(-30, 0)
    trigger, ctx = by_event_time(), FakeTriggerContext(window)
    trigger.on_element("a", -13, window, ctx)
    assert ctx.times() == ([-10, -1], [])


def test_event_time_stays_within_64_bits() -> None:
    trigger = ContinuousEventTimeTrigger.of(MAX_TIMESTAMP)
    ctx = FakeTriggerContext(GlobalWindow.get())
    for timestamp in (MAX_TIMESTAMP, MIN_TIMESTAMP + 1):
        trigger.clear(ctx.window, ctx)
        trigger.on_element("a", timestamp, ctx.window, ctx)
        assert all(MIN_TIMESTAMP <= time <= MAX_TIMESTAMP for time in ctx.times()[0])
    trigger.clear(ctx.window, ctx)
    assert ctx.times() == ([MAX_TIMESTAMP], [])


def test_event_time_ignores_other_timers() -> None:
    trigger, ctx = by_event_time(), FakeTriggerContext(WINDOW)
    trigger.on_element("a", 3, WINDOW, ctx)
    assert trigger.on_event_time(5, WINDOW, ctx) is CONTINUE
    assert trigger.on_processing_time(10, WINDOW, ctx) is CONTINUE
    assert ctx.times() == ([10, 24], [])


def test_event_time_needs_a_timestamp() -> None:
    with pytest.raises(InvalidTimestampError, match="'red', which has none"):
        by_event_time().on_element("red", None, WINDOW, FakeTriggerContext(WINDOW))


def test_merged_windows_fire_at_the_earliest_time() -> None:
    trigger, ctx = by_event_time(), FakeTriggerContext(TimeWindow(0, 30))
    assert trigger.can_merge()
    trigger.on_element("a", 25, ctx.window, ctx)
    ctx.window = TimeWindow(28, 50)
    trigger.on_element("b", 32, ctx.window, ctx)
    ctx.merge(trigger, [TimeWindow(0, 30), TimeWindow(28, 50)], TimeWindow(0, 50))
    assert ctx.times() == ([29], [])
    assert trigger.on_element("c", 33, ctx.window, ctx) is CONTINUE
    assert ctx.advance_watermark(trigger, 29) == [FIRE]
    assert ctx.times() == ([39, 49], [])
    trigger.clear(ctx.window, ctx)
    assert ctx.times() == ([49], [])


def test_windows_merge_of_which_none_waits() -> None:
    for trigger in (by_event_time(), by_clock()):
        ctx = FakeTriggerContext(WINDOW)
        ctx.merge(trigger, [WINDOW, TimeWindow(5, 30)], TimeWindow(0, 30))
        assert ctx.is_empty()


def test_processing_time_fires_at_multiples_and_at_the_end() -> None:
    trigger, ctx = by_clock(), FakeTriggerContext(WINDOW, now=3)
    assert trigger.on_element("a", None, WINDOW, ctx) is CONTINUE
    assert trigger.on_element("b", None, WINDOW, ctx) is CONTINUE
    assert ctx.times() == ([], [10])
    assert ctx.advance_clock(trigger, 9) == []
    assert ctx.advance_clock(trigger, 10) == [FIRE]
    assert ctx.advance_clock(trigger, 100) == [FIRE, FIRE]
    assert ctx.times() == ([], [])
    trigger.clear(WINDOW, ctx)
    assert ctx.is_empty()


def test_processing_time_of_a_window_that_is_over_fires_once() -> None:
    trigger, ctx = by_clock(), FakeTriggerContext(WINDOW, now=1_000)
    trigger.on_element("a", 3, WINDOW, ctx)
    assert ctx.advance_clock(trigger, 1_000) == [FIRE]
    assert ctx.advance_clock(trigger, 2_000) == []


def test_processing_time_ignores_other_timers() -> None:
    trigger, ctx = by_clock(), FakeTriggerContext(WINDOW)
    trigger.on_element("a", 3, WINDOW, ctx)
    assert trigger.on_processing_time(5, WINDOW, ctx) is CONTINUE
    assert trigger.on_event_time(10, WINDOW, ctx) is CONTINUE
    assert ctx.times() == ([], [10])


def test_processing_time_merges_and_clears() -> None:
    trigger, ctx = by_clock(), FakeTriggerContext(TimeWindow(0, 15), now=5)
    assert trigger.can_merge()
    trigger.on_element("a", None, ctx.window, ctx)
    ctx.window, ctx.now = TimeWindow(12, 40), 12
    trigger.on_element("b", None, ctx.window, ctx)
    ctx.merge(trigger, [TimeWindow(0, 15), TimeWindow(12, 40)], TimeWindow(0, 40))
    assert ctx.times() == ([], [10])
    trigger.clear(ctx.window, ctx)
    assert ctx.times() == ([], [])


def test_a_window_without_an_end_fires_once_more_when_the_input_ends() -> None:
    window = GlobalWindow.get()
    trigger, ctx = by_event_time(), FakeTriggerContext(window)
    trigger.on_element("a", 3, window, ctx)
    assert ctx.advance_watermark(trigger, 20) == [FIRE, FIRE]
    ctx.watermark = MAX_TIMESTAMP
    assert trigger.on_event_time(30, window, ctx) is FIRE
    assert ctx.times()[0][-1] == MAX_TIMESTAMP
    assert 40 not in ctx.times()[0]


@pytest.mark.parametrize("kind", [ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger])
def test_intervals(kind: Any) -> None:
    for interval in (Time.seconds(1), Duration.of_seconds(1), 1000):
        trigger = pickle.loads(pickle.dumps(kind.of(interval)))
        assert trigger.interval == 1000
        assert repr(trigger) == f"{kind.__name__}(1000)"
    for bad in (0, Time.seconds(-1), "often", None):
        with pytest.raises(InvalidTriggerError, match=f"The interval of {kind.__name__} is"):
            kind.of(bad)
