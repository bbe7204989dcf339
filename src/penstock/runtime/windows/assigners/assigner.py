"""Window assigners: which windows a record belongs to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import Any, Generic, TypeVar

from penstock.common.serializer import TypeSerializer
from penstock.runtime.context import RuntimeContext
from penstock.runtime.keys.window_values import Window
from penstock.runtime.windows.serializers import PickledWindowSerializer
from penstock.runtime.windows.triggers.trigger import Trigger

T = TypeVar("T")
W = TypeVar("W", bound=Window)
W2 = TypeVar("W2", bound=Window)


class WindowAssigner(ABC, Generic[T, W]):
    """Says to which windows a record belongs.

    One assigner serves all keys of a subtask.

    Example:
        >>> from penstock.datastream.window import CountTrigger, CountWindow
        >>> class ByWeekday(WindowAssigner):
        ...     def assign_windows(self, element, timestamp, context):
        ...         return [CountWindow(timestamp // 86_400_000 % 7)]
        ...
        ...     def get_default_trigger(self, env):
        ...         return CountTrigger.of(100)
        ...
        ...     def is_event_time(self):
        ...         return False
    """

    class WindowAssignerContext(ABC):
        """What an assigner may ask."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the time of the clock in milliseconds since the epoch."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """Return what is known of the task, and where the keyed state is."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int | None, context: WindowAssignerContext
    ) -> Collection[W]:
        """Return the windows of a record.

        Args:
            element: The record.
            timestamp: Its timestamp in milliseconds; None if it has none.
            context: Tells the time, and more.

        Returns:
            The windows; an empty collection drops the record.
        """

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[T, W]:
        """Return the trigger of these windows where the program names none.

        Args:
            env: The environment.

        Returns:
            The trigger.
        """

    def get_window_serializer(self) -> TypeSerializer[W]:
        """Return what writes windows into state and timers, and reads them back.

        A serializer of your own says what makes windows one there: those of which it writes the same. What it reads
        has to be equal to what it wrote. It is also part of what checkpoints hold, so another class of serializer
        does not go on from them. With one of `penstock.datastream.window`, as by default, windows of any class are
        kept whole.

        Returns:
            The serializer. Default: `PickledWindowSerializer()`.
        """
        return PickledWindowSerializer()

    @abstractmethod
    def is_event_time(self) -> bool:
        """Return whether the windows end by event time, so that records can be late.

        Returns:
            True for event time, False for processing time and for windows without time.
        """

    def snapshot(self) -> Any:
        """Return what the assigner must know in the next epoch, beside keyed state.

        Returns:
            Something that can be pickled; None for nothing.
        """
        return None

    def restore(self, snapshot: Any) -> None:
        """Take over what `snapshot` gave in the epoch before.

        Args:
            snapshot: That, or None to begin anew.
        """


class MergingWindowAssigner(WindowAssigner[T, W]):
    """Says to which windows a record belongs, and which windows become one."""

    class MergeCallback(ABC, Generic[W2]):
        """Is told which windows become one."""

        @abstractmethod
        def merge(self, to_be_merged: Collection[W2], merge_result: W2) -> None:
            """Make one window of several.

            Args:
                to_be_merged: The windows.
                merge_result: What they become; it may be one of them.
            """

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergeCallback[W]) -> None:
        """Find the windows that become one.

        Args:
            windows: All windows of a key.
            callback: To be told each group of windows that become one.
        """
