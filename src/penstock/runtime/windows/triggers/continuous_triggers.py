"""Triggers that fire again and again while the window is open."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Final

from penstock.common.typeinfo.types import Types
from penstock.errors import InvalidTimestampError, InvalidTriggerError
from penstock.runtime.keys.window_values import Window, last_timestamp
from penstock.runtime.state.api import ReducingState
from penstock.runtime.state.descriptors import ReducingStateDescriptor
from penstock.runtime.timestamp import MAX_TIMESTAMP
from penstock.runtime.user_code import record_text
from penstock.runtime.windows.arguments import TimeLength, positive_millis
from penstock.runtime.windows.triggers.trigger import Trigger, TriggerResult

_FIRE_TIME: Final = ReducingStateDescriptor("trigger-fire-time", min, Types.LONG())


class _ContinuousTrigger(Trigger[Any, Any]):
    """Fires by either time.

    Args:
        interval: How long after one result the next comes, while there are records.
    """

    def __init__(self, interval: TimeLength) -> None:
        what = f"The interval of {type(self).__name__}"
        self.interval = positive_millis(interval, what, InvalidTriggerError)

    @abstractmethod
    def _register_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        """Register a timer of the trigger's time."""

    @abstractmethod
    def _delete_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        """Delete a timer of the trigger's time."""

    def _next_fire_time(self, time: int, end: int, ctx: Trigger.TriggerContext) -> int:
        """Return when to fire after a time, in a window with that last timestamp."""
        return min(time + self.interval, end)

    def _on_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire if the time is the next multiple, or the end of the window."""
        if time == last_timestamp(window):
            return TriggerResult.FIRE
        state = ctx.get_partitioned_state(_FIRE_TIME)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        self.register_next_fire_timestamp(time, window, ctx, state)
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        """Return True."""
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Go on with the earliest of the next multiples."""
        ctx.merge_partitioned_state(_FIRE_TIME)
        fire_time = ctx.get_partitioned_state(_FIRE_TIME).get()
        if fire_time is not None:
            self._register_timer(fire_time, ctx)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Forget the next multiple, and delete its timer; that for the end of the window stays."""
        state = ctx.get_partitioned_state(_FIRE_TIME)
        fire_time = state.get()
        if fire_time is not None:
            self._delete_timer(fire_time, ctx)
            state.clear()

    def register_next_fire_timestamp(
        self,
        time: int,
        window: Window,
        ctx: Trigger.TriggerContext,
        fire_timestamp_state: ReducingState[int],
    ) -> None:
        """See to it that the time one interval later is noticed, or the end of the window.

        Args:
            time: When the trigger fired last, in milliseconds.
            window: The window.
            ctx: Registers the timer.
            fire_timestamp_state: Remembers its time.
        """
        fire_time = self._next_fire_time(time, last_timestamp(window), ctx)
        fire_timestamp_state.add(fire_time)
        self._register_timer(fire_time, ctx)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.interval})"


class ContinuousEventTimeTrigger(_ContinuousTrigger):
    """Fires whenever the watermark passes a multiple of an interval, and at the end of the window.

    Args:
        interval: The interval; an int is a number of milliseconds.

    Raises:
        InvalidTriggerError: If the interval is not above zero.

    Attributes:
        interval: The interval in milliseconds.

    Example:
        >>> from penstock.common import Time
        >>> from penstock.datastream.window import ContinuousEventTimeTrigger
        >>> ContinuousEventTimeTrigger.of(Time.seconds(10))
        ContinuousEventTimeTrigger(10000)
    """

    @staticmethod
    def of(interval: TimeLength) -> ContinuousEventTimeTrigger:
        """Return the trigger; see the class.

        Args:
            interval: The interval.

        Returns:
            The trigger.
        """
        return ContinuousEventTimeTrigger(interval)

    def on_element(
        self, element: Any, timestamp: int | None, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire if the window has ended, else see to it that the next multiple is noticed."""
        if last_timestamp(window) <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(last_timestamp(window))
        state = ctx.get_partitioned_state(_FIRE_TIME)
        if state.get() is None:
            if timestamp is None:
                raise InvalidTimestampError(
                    f"{self!r} needs the timestamp of the record {record_text(element)}, which has "
                    "none.",
                    hint="Call assign_timestamps_and_watermarks() before, with a strategy that has a "
                    "timestamp assigner.",
                )
            last = timestamp - timestamp % self.interval
            self.register_next_fire_timestamp(last, window, ctx, state)
        return TriggerResult.CONTINUE

    def on_event_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire if the time is the next multiple, or the end of the window."""
        return self._on_time(time, window, ctx)

    def on_processing_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def _next_fire_time(self, time: int, end: int, ctx: Trigger.TriggerContext) -> int:
        # At the end of the input a window without an end would fire for ever.
        is_over = end == MAX_TIMESTAMP == ctx.get_current_watermark()
        return end if is_over else super()._next_fire_time(time, end, ctx)

    def _register_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_event_time_timer(time)

    def _delete_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(time)


class ContinuousProcessingTimeTrigger(_ContinuousTrigger):
    """Fires whenever the clock passes a multiple of an interval, and at the end of the window.

    Args:
        interval: The interval; an int is a number of milliseconds.

    Raises:
        InvalidTriggerError: If the interval is not above zero.

    Attributes:
        interval: The interval in milliseconds.

    Example:
        >>> from penstock.common import Time
        >>> from penstock.datastream.window import ContinuousProcessingTimeTrigger
        >>> ContinuousProcessingTimeTrigger.of(Time.seconds(10))
        ContinuousProcessingTimeTrigger(10000)
    """

    @staticmethod
    def of(interval: TimeLength) -> ContinuousProcessingTimeTrigger:
        """Return the trigger; see the class.

        Args:
            interval: The interval.

        Returns:
            The trigger.
        """
        return ContinuousProcessingTimeTrigger(interval)

    def on_element(
        self, element: Any, timestamp: int | None, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """See to it that the next multiple is noticed."""
        state = ctx.get_partitioned_state(_FIRE_TIME)
        if state.get() is None:
            now = ctx.get_current_processing_time()
            self.register_next_fire_timestamp(now - now % self.interval, window, ctx, state)
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire if the time is the next multiple, or the end of the window."""
        return self._on_time(time, window, ctx)

    def on_event_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def _register_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_processing_time_timer(time)

    def _delete_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(time)
