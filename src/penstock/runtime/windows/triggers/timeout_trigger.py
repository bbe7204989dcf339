"""The trigger that does not wait longer than so long."""

from __future__ import annotations

from typing import Any, Final

from penstock.common.typeinfo.types import Types
from penstock.errors import InvalidTriggerError
from penstock.runtime.keys.window_values import Window
from penstock.runtime.state.descriptors import ValueStateDescriptor
from penstock.runtime.timestamp import MAX_TIMESTAMP
from penstock.runtime.windows.arguments import TimeLength, positive_millis
from penstock.runtime.windows.triggers.trigger import Trigger, TriggerResult, trigger_of

_TIMEOUT: Final = ValueStateDescriptor("trigger-timeout", Types.LONG())


class ProcessingTimeoutTrigger(Trigger[Any, Any]):
    """Fires when another trigger does, or when that took too long by the clock of the machine.

    The time begins with the first record, and anew with the first record after the other trigger
    fired. Each timer of the other trigger fires as well.

    Args:
        nested_trigger: The other trigger.
        timeout: How long it may take; an int is a number of milliseconds.
        reset_timer_on_new_record: Whether the time begins anew with each record.
        should_clear_on_timeout: Whether the other trigger begins anew, too, when the time is over.
            If not, the time is over only once, unless new records begin it anew.

    Raises:
        InvalidTriggerError: If the timeout is not above zero, or the other trigger is none.

    Example:
        >>> from penstock.common import Time
        >>> from penstock.datastream.window import CountTrigger, ProcessingTimeoutTrigger
        >>> ProcessingTimeoutTrigger.of(CountTrigger.of(100), Time.seconds(10))
        ProcessingTimeoutTrigger(CountTrigger(100), 10000)
    """

    def __init__(
        self,
        nested_trigger: Trigger[Any, Any],
        timeout: TimeLength,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> None:
        self.nested_trigger = trigger_of(nested_trigger, "ProcessingTimeoutTrigger")
        self.timeout = positive_millis(
            timeout, "The timeout of ProcessingTimeoutTrigger", InvalidTriggerError
        )
        self.reset_timer_on_new_record = reset_timer_on_new_record
        self.should_clear_on_timeout = should_clear_on_timeout

    @staticmethod
    def of(
        nested_trigger: Trigger[Any, Any],
        timeout: TimeLength,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> ProcessingTimeoutTrigger:
        """Return the trigger; see the class.

        Args:
            nested_trigger: The other trigger.
            timeout: How long it may take.
            reset_timer_on_new_record: Whether the time begins anew with each record.
            should_clear_on_timeout: Whether the other trigger begins anew when the time is over.

        Returns:
            The trigger.
        """
        return ProcessingTimeoutTrigger(
            nested_trigger, timeout, reset_timer_on_new_record, should_clear_on_timeout
        )

    def on_element(
        self, element: Any, timestamp: int | None, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire if the other trigger does; else the time may begin."""
        result = self.nested_trigger.on_element(element, timestamp, window, ctx)
        if result.is_fire():
            self.clear(window, ctx)
            return result
        state = ctx.get_partitioned_state(_TIMEOUT)
        due = state.value()
        if due is not None:
            if not self.reset_timer_on_new_record:
                return result
            ctx.delete_processing_time_timer(due)
        due = min(ctx.get_current_processing_time() + self.timeout, MAX_TIMESTAMP)
        state.update(due)
        ctx.register_processing_time_timer(due)
        return result

    def on_processing_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire, and purge if the other trigger does."""
        result = self.nested_trigger.on_processing_time(time, window, ctx)
        return self._fire(result, window, ctx)

    def on_event_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire, and purge if the other trigger does."""
        result = self.nested_trigger.on_event_time(time, window, ctx)
        return self._fire(result, window, ctx)

    def _fire(
        self, nested: TriggerResult, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if self.should_clear_on_timeout:
            self.clear(window, ctx)
        return TriggerResult.FIRE_AND_PURGE if nested.is_purge() else TriggerResult.FIRE

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Forget the time, delete its timer, and clear the other trigger."""
        state = ctx.get_partitioned_state(_TIMEOUT)
        due = state.value()
        if due is not None:
            ctx.delete_processing_time_timer(due)
            state.clear()
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"ProcessingTimeoutTrigger({self.nested_trigger!r}, {self.timeout})"
