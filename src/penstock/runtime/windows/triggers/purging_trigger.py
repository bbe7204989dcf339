"""The trigger that drops what it has fired."""

from __future__ import annotations

from typing import Any

from penstock.runtime.keys.window_values import Window
from penstock.runtime.windows.triggers.trigger import Trigger, TriggerResult, trigger_of


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result


class PurgingTrigger(Trigger[Any, Any]):
    """Fires when another trigger does, and then has the contents of the window dropped.

    Args:
        nested_trigger: The other trigger.

    Raises:
        InvalidTriggerError: If that is no trigger.

    Example:
        >>> from penstock.datastream.window import CountTrigger
        >>> PurgingTrigger.of(CountTrigger.of(3))
        PurgingTrigger(CountTrigger(3))
    """

    def __init__(self, nested_trigger: Trigger[Any, Any]) -> None:
        self.nested_trigger = trigger_of(nested_trigger, "PurgingTrigger")

    @staticmethod
    def of(nested_trigger: Trigger[Any, Any]) -> PurgingTrigger:
        """Return the trigger; see the class.

        Args:
            nested_trigger: The other trigger.

        Returns:
            The trigger.
        """
        return PurgingTrigger(nested_trigger)

    def on_element(
        self, element: Any, timestamp: int | None, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_event_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def on_processing_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def can_merge(self) -> bool:
        """Return whether the other trigger can."""
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"PurgingTrigger({self.nested_trigger!r})"
