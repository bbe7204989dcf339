"""The trigger that looks at how far records are from each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.typeinfo.type_information import TypeInformation
from penstock.common.typeinfo.types import Types
from penstock.errors import InvalidTriggerError
from penstock.runtime.keys.window_values import Window
from penstock.runtime.state.descriptors import ValueStateDescriptor
from penstock.runtime.windows.arguments import callable_of, threshold_of
from penstock.runtime.windows.triggers.trigger import Trigger, TriggerResult


class DeltaTrigger(Trigger[Any, Any]):
    """Fires when a record is too far from the one it last fired for, or from the first one.

    Args:
        threshold: Fires if the delta is above this.
        delta_function: Is called with an earlier record and the new one, and returns how far they are
            from each other.
        element_type: The type of the records. Default: any that can be pickled.

    Raises:
        InvalidTriggerError: If the threshold is no number.
        InvalidFunctionError: If `delta_function` cannot be called.

    Example:
        >>> from penstock.datastream.window import DeltaTrigger
        >>> DeltaTrigger.of(10, lambda old, new: abs(new - old))
        DeltaTrigger(10)
    """

    def __init__(
        self,
        threshold: Any,
        delta_function: Callable[[Any, Any], Any],
        *,
        element_type: TypeInformation | None = None,
    ) -> None:
        self.threshold = threshold_of(
            threshold, "The threshold of DeltaTrigger", InvalidTriggerError
        )
        self.delta_function = callable_of(
            delta_function,
            "The delta function of DeltaTrigger",
            "Give a function from two records to a number.",
        )
        self._last_descriptor = ValueStateDescriptor(
            "trigger-last-element", element_type or Types.PICKLED_BYTE_ARRAY()
        )

    @staticmethod
    def of(
        threshold: Any,
        delta_function: Callable[[Any, Any], Any],
        *,
        element_type: TypeInformation | None = None,
    ) -> DeltaTrigger:
        """Return the trigger; see the class.

        Args:
            threshold: Fires if the delta is above this.
            delta_function: Returns how far two records are from each other.
            element_type: The type of the records. Default: any that can be pickled.

        Returns:
            The trigger.
        """
        return DeltaTrigger(threshold, delta_function, element_type=element_type)

    def on_element(
        self, element: Any, timestamp: int | None, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire if the record is too far from the one that the trigger remembers, and remember it."""
        last = ctx.get_partitioned_state(self._last_descriptor)
        before = last.value()
        if before is None:
            last.update(element)
        elif self.delta_function(before, element) > self.threshold:
            last.update(element)
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Forget the record."""
        ctx.get_partitioned_state(self._last_descriptor).clear()

    def __repr__(self) -> str:
        return f"DeltaTrigger({self.threshold})"
