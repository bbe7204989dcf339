"""The triggers of the global window."""

from __future__ import annotations

from typing import Any

from penstock.runtime.keys.window_values import GlobalWindow
from penstock.runtime.windows.triggers.trigger import Trigger, TriggerResult


class NeverTrigger(Trigger[Any, GlobalWindow]):
    """Never fires."""

    def on_element(
        self, element: Any, timestamp: int | None, window: GlobalWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: GlobalWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(
        self, time: int, window: GlobalWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: GlobalWindow, ctx: Trigger.OnMergeContext) -> None:
        pass

    def clear(self, window: GlobalWindow, ctx: Trigger.TriggerContext) -> None:
        pass

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class EndOfStreamTrigger(NeverTrigger):
    """Fires once: when the input has ended, so that no record can come any more.

    Example:
        >>> EndOfStreamTrigger.create()
        EndOfStreamTrigger()
    """

    @staticmethod
    def create() -> EndOfStreamTrigger:
        """Return the trigger.

        Returns:
            The trigger.
        """
        return EndOfStreamTrigger()

    def on_element(
        self, element: Any, timestamp: int | None, window: GlobalWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """See to it that the end of the input is noticed."""
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(
        self, time: int, window: GlobalWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire if the time is the last there is."""
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def clear(self, window: GlobalWindow, ctx: Trigger.TriggerContext) -> None:
        """Delete the timer."""
        ctx.delete_event_time_timer(window.max_timestamp())
