"""The triggers of time windows: fire when the window has ended."""

from __future__ import annotations

from typing import Any

from penstock.runtime.keys.window_values import TimeWindow, last_timestamp
from penstock.runtime.windows.triggers.trigger import Trigger, TriggerResult


class EventTimeTrigger(Trigger[Any, TimeWindow]):
    """Fires when the watermark has reached the end of the window, and for each late record after it.

    Example:
        >>> EventTimeTrigger.create()
        EventTimeTrigger()
    """

    @staticmethod
    def create() -> EventTimeTrigger:
        """Return the trigger.

        Returns:
            The trigger.
        """
        return EventTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int | None, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire if the window has ended, else see to it that its end is noticed."""
        end = last_timestamp(window)
        if end <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(end)
        return TriggerResult.CONTINUE

    def on_event_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire if the window ends at this time."""
        return TriggerResult.FIRE if time == last_timestamp(window) else TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        """Return True."""
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """See to it that the end of the new window is noticed."""
        if last_timestamp(window) > ctx.get_current_watermark():
            ctx.register_event_time_timer(last_timestamp(window))

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Delete the timer."""
        ctx.delete_event_time_timer(last_timestamp(window))

    def __repr__(self) -> str:
        return "EventTimeTrigger()"


class ProcessingTimeTrigger(Trigger[Any, TimeWindow]):
    """Fires when the clock has passed the end of the window.

    Example:
        >>> ProcessingTimeTrigger.create()
        ProcessingTimeTrigger()
    """

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """Return the trigger.

        Returns:
            The trigger.
        """
        return ProcessingTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int | None, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """See to it that the end of the window is noticed."""
        ctx.register_processing_time_timer(last_timestamp(window))
        return TriggerResult.CONTINUE

    def on_event_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire."""
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        """Return True."""
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """See to it that the end of the new window is noticed."""
        if last_timestamp(window) > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(last_timestamp(window))

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Delete the timer."""
        ctx.delete_processing_time_timer(last_timestamp(window))

    def __repr__(self) -> str:
        return "ProcessingTimeTrigger()"
