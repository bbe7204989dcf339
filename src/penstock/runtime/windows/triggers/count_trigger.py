"""The trigger that counts."""

from __future__ import annotations

import operator
from typing import Any, Final

from penstock.common.typeinfo.types import Types
from penstock.errors import InvalidTriggerError
from penstock.runtime.keys.window_values import Window
from penstock.runtime.state.descriptors import ReducingStateDescriptor
from penstock.runtime.windows.arguments import count_of
from penstock.runtime.windows.triggers.trigger import Trigger, TriggerResult

_COUNT: Final = ReducingStateDescriptor("trigger-count", operator.add, Types.LONG())


class CountTrigger(Trigger[Any, Any]):
    """Fires whenever a number of records have come to the window.

    Args:
        window_size: How many records.

    Raises:
        InvalidTriggerError: If the number is below 1.

    Example:
        >>> CountTrigger.of(3)
        CountTrigger(3)
    """

    def __init__(self, window_size: int) -> None:
        self.window_size = count_of(
            window_size, "The count of CountTrigger", 1, InvalidTriggerError
        )

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """Return the trigger; see the class.

        Args:
            window_size: How many records.

        Returns:
            The trigger.
        """
        return CountTrigger(window_size)

    def on_element(
        self, element: Any, timestamp: int | None, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Count the record, and fire if it is the last of the number; then the count begins anew."""
        count = ctx.get_partitioned_state(_COUNT)
        count.add(1)
        if count.get() < self.window_size:
            return TriggerResult.CONTINUE
        count.clear()
        return TriggerResult.FIRE

    def on_processing_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        """Return True."""
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Add up the counts."""
        ctx.merge_partitioned_state(_COUNT)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Forget the count."""
        ctx.get_partitioned_state(_COUNT).clear()

    def __repr__(self) -> str:
        return f"CountTrigger({self.window_size})"
