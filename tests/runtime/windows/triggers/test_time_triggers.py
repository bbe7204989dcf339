from __future__ import annotations

from tests.runtime.windows.fakes import FakeTriggerContext

from penstock.runtime.keys.window_values import TimeWindow
from penstock.runtime.timestamp import MAX_TIMESTAMP
from penstock.runtime.windows.triggers.continuous_triggers import ContinuousEventTimeTrigger
from penstock.runtime.windows.triggers.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.runtime.windows.triggers.trigger import TriggerResult

CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE
WINDOW = TimeWindow(0, 10)


def test_event_time_fires_at_the_end_and_for_late_records() -> None:
    trigger, ctx = EventTimeTrigger.create(), FakeTriggerContext(WINDOW)
    assert trigger.on_element("a", 3, WINDOW, ctx) is CONTINUE
    assert trigger.on_element("b", 4, WINDOW, ctx) is CONTINUE
    assert ctx.advance_watermark(trigger, 8) == []
    assert ctx.advance_watermark(trigger, 9) == [FIRE]
    assert trigger.on_element("late", 5, WINDOW, ctx) is FIRE
    assert ctx.is_empty()


def test_event_time_ignores_other_timers() -> None:
    trigger, ctx = EventTimeTrigger.create(), FakeTriggerContext(WINDOW)
    assert trigger.on_event_time(19, WINDOW, ctx) is CONTINUE
    assert trigger.on_processing_time(9, WINDOW, ctx) is CONTINUE


def test_event_time_of_a_window_at_the_end_of_time() -> None:
    window = TimeWindow(MAX_TIMESTAMP - 5, MAX_TIMESTAMP)
    trigger, ctx = EventTimeTrigger.create(), FakeTriggerContext(window)
    assert trigger.on_element("a", MAX_TIMESTAMP, window, ctx) is CONTINUE
    assert ctx.advance_watermark(trigger, MAX_TIMESTAMP) == [FIRE]


def test_a_window_that_ends_after_all_time_ends_with_it() -> None:
    window = TimeWindow(MAX_TIMESTAMP - 5, MAX_TIMESTAMP + 5)
    for trigger in (EventTimeTrigger(), ContinuousEventTimeTrigger(7)):
        ctx = FakeTriggerContext(window)
        assert trigger.on_element("a", MAX_TIMESTAMP, window, ctx) is CONTINUE
        assert ctx.times() == ([MAX_TIMESTAMP], [])
        assert ctx.advance_watermark(trigger, MAX_TIMESTAMP) == [FIRE]
        trigger.clear(window, ctx)
        assert ctx.is_empty()


def test_event_time_merges() -> None:
    trigger, ctx = EventTimeTrigger.create(), FakeTriggerContext(WINDOW)
    assert trigger.can_merge()
    trigger.on_element("a", 3, WINDOW, ctx)
    ctx.merge(trigger, [WINDOW, TimeWindow(5, 15)], TimeWindow(0, 15))
    assert ctx.event_timers == {(TimeWindow(0, 15), 14)}


def test_event_time_does_not_wait_for_what_is_past() -> None:
    trigger, ctx = EventTimeTrigger.create(), FakeTriggerContext(WINDOW, watermark=9)
    trigger.on_merge(WINDOW, ctx)
    assert ctx.times() == ([], [])
    ctx.watermark = 8
    trigger.on_merge(WINDOW, ctx)
    assert ctx.times() == ([9], [])


def test_event_time_clears() -> None:
    trigger, ctx = EventTimeTrigger.create(), FakeTriggerContext(WINDOW)
    trigger.on_element("a", 3, WINDOW, ctx)
    trigger.clear(WINDOW, ctx)
    assert ctx.is_empty()


def test_processing_time_fires_at_the_end() -> None:
    trigger, ctx = ProcessingTimeTrigger.create(), FakeTriggerContext(WINDOW)
    assert trigger.on_element("a", None, WINDOW, ctx) is CONTINUE
    assert trigger.on_event_time(9, WINDOW, ctx) is CONTINUE
    assert ctx.advance_clock(trigger, 8) == []
    assert ctx.advance_clock(trigger, 9) == [FIRE]
    assert ctx.is_empty()


def test_processing_time_merges_and_clears() -> None:
    trigger, ctx = ProcessingTimeTrigger.create(), FakeTriggerContext(WINDOW, now=14)
    assert trigger.can_merge()
    trigger.on_element("a", None, WINDOW, ctx)
    ctx.merge(trigger, [WINDOW, TimeWindow(5, 16)], TimeWindow(0, 16))
    assert ctx.processing_timers == {(TimeWindow(0, 16), 15)}
    trigger.clear(ctx.window, ctx)  # type: ignore[arg-type]
    trigger.on_merge(TimeWindow(0, 15), ctx)
    assert ctx.is_empty()
