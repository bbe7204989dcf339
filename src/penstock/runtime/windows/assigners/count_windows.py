"""Windows of a number of records."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from penstock.common.typeinfo.types import Types
from penstock.errors import InvalidWindowError
from penstock.runtime.keys.window_values import CountWindow
from penstock.runtime.state.descriptors import ValueStateDescriptor
from penstock.runtime.windows.arguments import count_of
from penstock.runtime.windows.assigners.assigner import WindowAssigner
from penstock.runtime.windows.serializers import CountWindowSerializer
from penstock.runtime.windows.triggers.count_trigger import CountTrigger
from penstock.runtime.windows.triggers.purging_trigger import PurgingTrigger
from penstock.runtime.windows.triggers.trigger import Trigger

_COUNT: Final = ValueStateDescriptor("count-assigner", Types.LONG())


def _number_of_record(context: WindowAssigner.WindowAssignerContext) -> int:
    """Return how many records of the key came before this one, and count it."""
    state = context.get_runtime_context().get_state(_COUNT)
    number: int = state.value() or 0
    state.update(number + 1)
    return number


class _CountWindows(WindowAssigner[Any, CountWindow]):
    """Count windows of either kind."""

    def __init__(self, window_size: int) -> None:
        what = f"The size of {type(self).__name__}"
        self.window_size = count_of(window_size, what, 1, InvalidWindowError)

    def get_default_trigger(self, env: Any) -> Trigger[Any, CountWindow]:
        """Return a trigger that fires when the window is full, and then drops its records."""
        return PurgingTrigger(CountTrigger(self.window_size))

    def get_window_serializer(self) -> CountWindowSerializer:
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        """Return False."""
        return False


class CountTumblingWindowAssigner(_CountWindows):
    """Windows of a number of records of a key, one after the other.

    Args:
        window_size: How many records a window has.

    Raises:
        InvalidWindowError: If the size is below 1.

    Attributes:
        window_size: How many records a window has.

    Example:
        >>> from penstock.datastream.window import CountTumblingWindowAssigner
        >>> CountTumblingWindowAssigner.of(3)
        CountTumblingWindowAssigner(3)
    """

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        """Return the assigner; see the class.

        Args:
            window_size: How many records a window has.

        Returns:
            The assigner.
        """
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        """Return the window that the record is in by its number."""
        return (CountWindow(_number_of_record(context) // self.window_size),)

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self.window_size})"


class CountSlidingWindowAssigner(_CountWindows):
    """Windows of a number of records of a key, which overlap where the slide is below the size.

    A window fires when it is full, so the first results come with the first `window_size` records.

    Args:
        window_size: How many records a window has.
        window_slide: How many records after one window the next starts.

    Raises:
        InvalidWindowError: If size or slide are below 1.

    Attributes:
        window_size: How many records a window has.
        window_slide: How many records after one window the next starts.

    Example:
        >>> from penstock.datastream.window import CountSlidingWindowAssigner
        >>> CountSlidingWindowAssigner.of(3, 1)
        CountSlidingWindowAssigner(3, 1)
    """

    def __init__(self, window_size: int, window_slide: int) -> None:
        super().__init__(window_size)
        what = "The slide of CountSlidingWindowAssigner"
        self.window_slide = count_of(window_slide, what, 1, InvalidWindowError)

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        """Return the assigner; see the class.

        Args:
            window_size: How many records a window has.
            window_slide: How many records after one window the next starts.

        Returns:
            The assigner.
        """
        return CountSlidingWindowAssigner(window_size, window_slide)

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        """Return the windows that the record is in by its number, the latest first."""
        number, slide = _number_of_record(context), self.window_slide
        first = max((number - self.window_size) // slide + 1, 0)
        return tuple(map(CountWindow, range(number // slide, first - 1, -1)))

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self.window_size}, {self.window_slide})"


def count_windows(size: int, slide: int) -> WindowAssigner[Any, Any]:
    """Return the assigner of windows of a number of records; a slide of 0 stands for the size.

    Raises:
        InvalidWindowError: If the size is below 1, or the slide below 0.
    """
    if slide == 0 and not isinstance(slide, bool):
        return CountTumblingWindowAssigner.of(size)
    return CountSlidingWindowAssigner.of(size, slide)
