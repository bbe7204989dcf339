"""Triggers: when the result of a window is emitted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, Generic, TypeVar

from penstock.errors import InvalidTriggerError, UnsupportedOperationError
from penstock.metrics import MetricGroup
from penstock.runtime.keys.window_values import Window
from penstock.runtime.state.descriptors import StateDescriptor

T = TypeVar("T")
W = TypeVar("W", bound=Window)


class TriggerResult(Enum):
    """What is to become of a window."""

    CONTINUE = (False, False)
    """Nothing."""
    FIRE_AND_PURGE = (True, True)
    """Its result is emitted and its contents are dropped; the window itself stays."""
    FIRE = (True, False)
    """Its result is emitted."""
    PURGE = (False, True)
    """Its contents are dropped, and nothing is emitted."""

    def is_fire(self) -> bool:
        """Return whether the result of the window is emitted.

        Returns:
            Whether it is.
        """
        return self._value_[0]

    def is_purge(self) -> bool:
        """Return whether the contents of the window are dropped.

        Returns:
            Whether they are.
        """
        return self._value_[1]


class Trigger(ABC, Generic[T, W]):
    """Says when the result of a window is emitted.

    One trigger serves all keys and windows of a subtask. What it must remember of a window it keeps
    in that window's own state, by `TriggerContext.get_partitioned_state`, and forgets in `clear`.

    Example:
        >>> from penstock.datastream.window import Trigger, TriggerResult
        >>> class WhenEmpty(Trigger):
        ...     '''Fires for each record that is the empty text.'''
        ...
        ...     def on_element(self, element, timestamp, window, ctx):
        ...         return TriggerResult.CONTINUE if element else TriggerResult.FIRE
        ...
        ...     def on_processing_time(self, time, window, ctx):
        ...         return TriggerResult.CONTINUE
        ...
        ...     def on_event_time(self, time, window, ctx):
        ...         return TriggerResult.CONTINUE
        ...
        ...     def clear(self, window, ctx):
        ...         pass
    """

    class TriggerContext(ABC):
        """What a trigger may ask and do about the window that it is called for."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the time of the clock in milliseconds since the epoch."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Return the group in which the trigger may register metrics."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the last watermark in milliseconds; -2**63 before the first."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Have `on_processing_time` called when the clock has passed a time.

            Args:
                time: Milliseconds since the epoch.
            """

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Have `on_event_time` called when the watermark reaches a time.

            Args:
                time: Milliseconds since the epoch.
            """

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Delete the processing-time timer of the window for a time, if there is one.

            Args:
                time: Milliseconds since the epoch.
            """

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Delete the event-time timer of the window for a time, if there is one.

            Args:
                time: Milliseconds since the epoch.
            """

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
            """Return a state that the window has for itself, under the current key.

            Args:
                state_descriptor: Says which state.

            Returns:
                The state.
            """

    class OnMergeContext(TriggerContext):
        """What a trigger may do besides when windows become one."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Join the states of the windows that became one to that of the new window.

            Args:
                state_descriptor: Says which state; one to which values are added, such as a
                    reducing state.
            """

    @abstractmethod
    def on_element(
        self, element: T, timestamp: int | None, window: W, ctx: TriggerContext
    ) -> TriggerResult:
        """Decide about a window to which a record was added.

        Args:
            element: The record.
            timestamp: Its timestamp in milliseconds; None if it has none.
            window: The window.
            ctx: Registers timers and finds state.

        Returns:
            What is to become of the window.
        """

    @abstractmethod
    def on_processing_time(self, time: int, window: W, ctx: TriggerContext) -> TriggerResult:
        """Decide about a window of which a processing-time timer fires.

        Args:
            time: The time of the timer in milliseconds.
            window: The window.
            ctx: Registers timers and finds state.

        Returns:
            What is to become of the window.
        """

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: TriggerContext) -> TriggerResult:
        """Decide about a window of which an event-time timer fires.

        Args:
            time: The time of the timer in milliseconds.
            window: The window.
            ctx: Registers timers and finds state.

        Returns:
            What is to become of the window.
        """

    def can_merge(self) -> bool:
        """Return whether windows with this trigger may become one, as session windows do.

        Returns:
            False, unless the trigger says otherwise; then it must define `on_merge`.
        """
        return False

    def on_merge(self, window: W, ctx: OnMergeContext) -> None:
        """Merge what the trigger remembers of windows that became one.

        Args:
            window: The new window.
            ctx: Registers timers, and finds and merges state.

        Raises:
            UnsupportedOperationError: If the trigger does not define it.
        """
        raise UnsupportedOperationError(
            f"The trigger {type(self).__name__} has no on_merge, so its windows cannot become one.",
            hint="Define on_merge, or use windows that do not merge.",
        )

    @abstractmethod
    def clear(self, window: W, ctx: TriggerContext) -> None:
        """Forget all that the trigger remembers of a window, and delete its timers.

        Args:
            window: The window.
            ctx: Deletes timers and finds state.
        """


def trigger_of(value: Any, where: str) -> Trigger[Any, Any]:
    """Return a trigger.

    Raises:
        InvalidTriggerError: If the value is none.
    """
    if not isinstance(value, Trigger):
        raise InvalidTriggerError(
            f"{where} was given {value!r}, which is no trigger.",
            hint="Give an object of a class derived from Trigger, as CountTrigger.of(3).",
        )
    return value
