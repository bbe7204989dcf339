"""The triggers that count, purge, compare and time out."""

from __future__ import annotations

import math
import operator
import pickle
from decimal import Decimal
from typing import Any

import pytest
from tests.runtime.windows.fakes import FakeTriggerContext

from penstock.common import Time, Types
from penstock.errors import InvalidFunctionError, InvalidTriggerError, UnsupportedOperationError
from penstock.runtime.keys.window_values import GlobalWindow, TimeWindow
from penstock.runtime.timestamp import MAX_TIMESTAMP
from penstock.runtime.windows.triggers.continuous_triggers import ContinuousEventTimeTrigger
from penstock.runtime.windows.triggers.count_trigger import CountTrigger
from penstock.runtime.windows.triggers.delta_trigger import DeltaTrigger
from penstock.runtime.windows.triggers.purging_trigger import PurgingTrigger
from penstock.runtime.windows.triggers.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.runtime.windows.triggers.timeout_trigger import ProcessingTimeoutTrigger
from penstock.runtime.windows.triggers.trigger import Trigger, TriggerResult

CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE
FIRE_AND_PURGE, PURGE = TriggerResult.FIRE_AND_PURGE, TriggerResult.PURGE
WINDOW = TimeWindow(0, 10)


def add(trigger: Trigger[Any, Any], ctx: FakeTriggerContext, *elements: Any) -> list[TriggerResult]:
    return [trigger.on_element(element, 1, ctx.window, ctx) for element in elements]


class Purges(EventTimeTrigger):
    """Purges without firing."""

    def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> TriggerResult:
        return PURGE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return PURGE


def test_count_fires_for_each_number_of_records() -> None:
    trigger: CountTrigger = pickle.loads(pickle.dumps(CountTrigger.of(3)))
    ctx = FakeTriggerContext(WINDOW)
    assert add(trigger, ctx, *"abcdefg") == [*(CONTINUE, CONTINUE, FIRE) * 2, CONTINUE]
    assert trigger.on_event_time(9, WINDOW, ctx) is CONTINUE
    assert trigger.on_processing_time(9, WINDOW, ctx) is CONTINUE
    trigger.clear(WINDOW, ctx)
    assert ctx.is_empty()
    assert add(trigger, ctx, *"ab") == [CONTINUE] * 2


def test_counts_of_merged_windows_add_up() -> None:
    trigger, ctx = CountTrigger.of(4), FakeTriggerContext(WINDOW)
    assert trigger.can_merge()
    add(trigger, ctx, *"ab")
    ctx.window = TimeWindow(5, 15)
    add(trigger, ctx, "c")
    ctx.merge(trigger, [WINDOW, TimeWindow(5, 15)], TimeWindow(0, 15))
    assert add(trigger, ctx, "d") == [FIRE]
    assert ctx.is_empty()


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "3", None])
def test_counts_that_cannot_be(count: Any) -> None:
    with pytest.raises(InvalidTriggerError, match="The count of CountTrigger is"):
        CountTrigger.of(count)


def test_purging_purges_what_fires() -> None:
    trigger: Any = PurgingTrigger.of(CountTrigger.of(2))
    ctx = FakeTriggerContext(WINDOW)
    assert add(trigger, ctx, *"abc") == [CONTINUE, FIRE_AND_PURGE, CONTINUE]
    trigger.clear(WINDOW, ctx)
    assert ctx.is_empty()


def test_purging_passes_on_what_else_happens() -> None:
    by_event: Any = PurgingTrigger.of(EventTimeTrigger())
    by_clock: Any = PurgingTrigger.of(ProcessingTimeTrigger())
    ctx = FakeTriggerContext(WINDOW)
    add(by_event, ctx, "a")
    assert ctx.advance_watermark(by_event, 9) == [FIRE_AND_PURGE]
    add(by_clock, ctx, "a")
    assert ctx.advance_clock(by_clock, 9) == [FIRE_AND_PURGE]
    assert add(PurgingTrigger.of(Purges()), ctx, "a") == [PURGE]
    assert by_event.can_merge()
    ctx.watermark = 0
    ctx.merge(by_event, [WINDOW, TimeWindow(5, 15)], TimeWindow(0, 15))
    assert ctx.times() == ([14], [])
    assert not PurgingTrigger.of(DeltaTrigger.of(1, operator.sub)).can_merge()
    assert repr(by_event) == "PurgingTrigger(EventTimeTrigger())"


@pytest.mark.parametrize("nested", [None, CountTrigger, 3])
def test_what_is_nested_must_be_a_trigger(nested: Any) -> None:
    with pytest.raises(InvalidTriggerError, match="PurgingTrigger was given"):
        PurgingTrigger.of(nested)
    with pytest.raises(InvalidTriggerError, match="ProcessingTimeoutTrigger was given"):
        ProcessingTimeoutTrigger.of(nested, 5)


def distance(old: int, new: int) -> int:
    return new - old


def test_delta_fires_when_a_record_is_too_far_from_the_last_that_fired() -> None:
    trigger: DeltaTrigger = pickle.loads(pickle.dumps(DeltaTrigger.of(10, distance)))
    ctx = FakeTriggerContext(GlobalWindow.get())
    assert add(trigger, ctx, 0, 5, 10, 11, 15, 21, 22) == [
        *(CONTINUE, CONTINUE, CONTINUE, FIRE),
        *(CONTINUE, CONTINUE, FIRE),
    ]
    assert trigger.on_event_time(9, ctx.window, ctx) is CONTINUE
    assert trigger.on_processing_time(9, ctx.window, ctx) is CONTINUE
    trigger.clear(ctx.window, ctx)
    assert ctx.is_empty()


def test_delta_cannot_merge() -> None:
    trigger = DeltaTrigger.of(10, distance, element_type=Types.LONG())
    assert not trigger.can_merge()
    with pytest.raises(UnsupportedOperationError, match="DeltaTrigger"):
        trigger.on_merge(WINDOW, FakeTriggerContext(WINDOW))


def test_delta_remembers_records_of_the_type_given() -> None:
    ctx = FakeTriggerContext(WINDOW)
    add(DeltaTrigger.of(1, distance, element_type=Types.LONG()), ctx, 1)
    descriptor: Any = DeltaTrigger.of(1, distance, element_type=Types.LONG())._last_descriptor
    assert descriptor.type_info == Types.LONG()
    assert ctx.get_partitioned_state(descriptor).value() == 1


@pytest.mark.parametrize("threshold", [math.nan, "5", None, True, Decimal("NaN"), 1j])
def test_thresholds_that_cannot_be(threshold: Any) -> None:
    with pytest.raises(InvalidTriggerError, match="The threshold of DeltaTrigger is"):
        DeltaTrigger.of(threshold, distance)


@pytest.mark.parametrize("function", [None, 5, int])
def test_delta_functions_that_cannot_be(function: Any) -> None:
    with pytest.raises(InvalidFunctionError, match="The delta function of DeltaTrigger is"):
        DeltaTrigger.of(Decimal(1), function)


def test_a_timeout_fires_when_the_other_trigger_took_too_long() -> None:
    trigger: Any = ProcessingTimeoutTrigger.of(CountTrigger.of(3), Time.milliseconds(100))
    trigger = pickle.loads(pickle.dumps(trigger))
    ctx = FakeTriggerContext(GlobalWindow.get(), now=50)
    assert add(trigger, ctx, "a") == [CONTINUE]
    ctx.now = 120
    assert add(trigger, ctx, "b") == [CONTINUE]
    assert ctx.times() == ([], [150])
    assert ctx.advance_clock(trigger, 150) == [FIRE]
    assert ctx.is_empty()
    assert add(trigger, ctx, *"cd") == [CONTINUE] * 2
    assert ctx.times() == ([], [250])
    assert add(trigger, ctx, "e") == [FIRE]
    assert ctx.is_empty()


def test_a_timeout_may_begin_anew_with_each_record() -> None:
    trigger: Any = ProcessingTimeoutTrigger.of(
        CountTrigger.of(9), 100, reset_timer_on_new_record=True
    )
    ctx = FakeTriggerContext(WINDOW)
    for ctx.now in (0, 60, 120):
        add(trigger, ctx, "a")
        assert ctx.times() == ([], [ctx.now + 100])
    assert ctx.advance_clock(trigger, 219) == []
    assert ctx.advance_clock(trigger, 220) == [FIRE]


def test_a_timeout_may_leave_the_other_trigger_as_it_is() -> None:
    trigger: Any = ProcessingTimeoutTrigger.of(
        CountTrigger.of(3), 100, should_clear_on_timeout=False
    )
    ctx = FakeTriggerContext(WINDOW)
    add(trigger, ctx, *"ab")
    assert ctx.advance_clock(trigger, 100) == [FIRE]
    assert add(trigger, ctx, "c") == [FIRE]
    assert ctx.is_empty()


def test_a_timeout_purges_if_the_other_trigger_does() -> None:
    trigger: Any = ProcessingTimeoutTrigger.of(PurgingTrigger.of(ProcessingTimeTrigger()), 100)
    ctx = FakeTriggerContext(WINDOW)
    assert add(trigger, ctx, "a") == [CONTINUE]
    assert ctx.advance_clock(trigger, 9) == [FIRE_AND_PURGE]
    assert ctx.is_empty()
    by_event: Any = ProcessingTimeoutTrigger.of(EventTimeTrigger(), 100)
    assert add(by_event, ctx, "a") == [CONTINUE]
    assert ctx.advance_watermark(by_event, 9) == [FIRE]
    assert ctx.is_empty()
    assert ProcessingTimeoutTrigger.of(Purges(), 1).on_event_time(1, WINDOW, ctx) is FIRE_AND_PURGE


@pytest.mark.parametrize("purges", [False, True])
def test_a_continuous_trigger_under_a_timeout_still_fires_at_the_end(purges: bool) -> None:
    nested: Any = ContinuousEventTimeTrigger.of(4)
    nested = PurgingTrigger.of(nested) if purges else nested
    trigger: Any = ProcessingTimeoutTrigger.of(nested, 100)
    ctx = FakeTriggerContext(WINDOW)
    add(trigger, ctx, "a")
    assert ctx.times() == ([4, 9], [100])
    assert ctx.advance_clock(trigger, 100) == [FIRE]
    assert ctx.times() == ([9], [])
    assert ctx.advance_watermark(trigger, 9) == [FIRE_AND_PURGE if purges else FIRE]
    assert ctx.is_empty()


def test_a_timeout_stays_within_64_bits() -> None:
    trigger: Any = ProcessingTimeoutTrigger.of(CountTrigger.of(3), MAX_TIMESTAMP)
    ctx = FakeTriggerContext(WINDOW, now=5)
    add(trigger, ctx, "a")
    assert ctx.times() == ([], [MAX_TIMESTAMP])


def test_timeouts_that_cannot_be() -> None:
    assert not ProcessingTimeoutTrigger.of(CountTrigger.of(3), 1).can_merge()
    for timeout in (0, Time.seconds(-1), None):
        with pytest.raises(InvalidTriggerError, match="The timeout of ProcessingTimeoutTrigger"):
            ProcessingTimeoutTrigger.of(CountTrigger.of(3), timeout)  # type: ignore[arg-type]
