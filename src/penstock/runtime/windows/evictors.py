"""Evictors: which records are taken out of a window around the call of its function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from penstock.errors import InvalidEvictorError
from penstock.metrics import MetricGroup
from penstock.runtime.keys.window_values import Window
from penstock.runtime.windows.arguments import (
    TimeLength,
    callable_of,
    count_of,
    millis_of,
    threshold_of,
)

T = TypeVar("T")
W = TypeVar("W", bound=Window)


class TimestampedValue(NamedTuple):
    """A record in a window.

    Attributes:
        value: The record.
        timestamp: Its timestamp in milliseconds; None if it has none.
    """

    value: Any
    timestamp: int | None = None


class Evictor(ABC, Generic[T, W]):
    """Takes records out of a window, before or after its function is called.

    The two methods are given the records of the window as a list, in the order in which they came,
    and delete from that list what is to go. What they leave in it is what the window has from then on.

    Example:
        >>> class WithoutBlanks(Evictor):
        ...     def evict_before(self, elements, size, window, ctx):
        ...         elements[:] = [element for element in elements if element.value]
        ...
        ...     def evict_after(self, elements, size, window, ctx):
        ...         pass
    """

    class EvictorContext(ABC):
        """What an evictor may ask."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the time of the clock in milliseconds since the epoch."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Return the group in which the evictor may register metrics."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the last watermark in milliseconds; -2**63 before the first."""

    @abstractmethod
    def evict_before(
        self, elements: list[TimestampedValue], size: int, window: W, ctx: EvictorContext
    ) -> None:
        """Take records out of a window before its function is called.

        Args:
            elements: The records, in the order in which they came; to be changed in place.
            size: How many they are.
            window: The window.
            ctx: Tells the time.
        """

    @abstractmethod
    def evict_after(
        self, elements: list[TimestampedValue], size: int, window: W, ctx: EvictorContext
    ) -> None:
        """Take records out of a window after its function was called.

        Args:
            elements: The records that are left, in the order in which they came; to be changed in
                place.
            size: How many they are.
            window: The window.
            ctx: Tells the time.
        """


class _BeforeOrAfter(Evictor[Any, Window]):
    """Evicts in the same way before the function of the window is called, or after it."""

    def __init__(self, *, do_evict_after: bool) -> None:
        self.do_evict_after = do_evict_after

    def evict_before(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: Window,
        ctx: Evictor.EvictorContext,
    ) -> None:
        if not self.do_evict_after:
            self._evict(elements)

    def evict_after(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: Window,
        ctx: Evictor.EvictorContext,
    ) -> None:
        if self.do_evict_after:
            self._evict(elements)

    @abstractmethod
    def _evict(self, elements: list[TimestampedValue]) -> None:
        """Delete records from the list."""


class CountEvictor(_BeforeOrAfter):
    """Keeps the last records, so many.

    Args:
        max_count: How many.
        do_evict_after: Whether the others are evicted after the function of the window is called,
            not before.

    Raises:
        InvalidEvictorError: If the number is below 0.

    Example:
        >>> CountEvictor.of(100)
        CountEvictor(100)
    """

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after=do_evict_after)
        self.max_count = count_of(max_count, "The count of CountEvictor", 0, InvalidEvictorError)

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:
        """Return the evictor; see the class.

        Args:
            max_count: How many records are kept.
            do_evict_after: Whether the others are evicted after the call.

        Returns:
            The evictor.
        """
        return CountEvictor(max_count, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        del elements[: max(len(elements) - self.max_count, 0)]

    def __repr__(self) -> str:
        return f"CountEvictor({self.max_count})"


class TimeEvictor(_BeforeOrAfter):
    """Keeps the records that are younger than a length of time before the youngest.

    Where the records have no timestamps, it keeps all.

    Args:
        window_size: The length of time; an int is a number of milliseconds.
        do_evict_after: Whether the others are evicted after the function of the window is called,
            not before.

    Raises:
        InvalidEvictorError: If the length is below 0.

    Example:
        >>> from penstock.common import Time
        >>> from penstock.datastream.window import TimeEvictor
        >>> TimeEvictor.of(Time.seconds(10))
        TimeEvictor(10000)
    """

    def __init__(self, window_size: TimeLength, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after=do_evict_after)
        what = "The length of time of TimeEvictor"
        self.window_size = millis_of(window_size, what, InvalidEvictorError)
        if self.window_size < 0:
            raise InvalidEvictorError(
                f"{what} is {self.window_size} ms.", hint="Give one that is not below 0."
            )

    @staticmethod
    def of(window_size: TimeLength, do_evict_after: bool = False) -> TimeEvictor:
        """Return the evictor; see the class.

        Args:
            window_size: The length of time.
            do_evict_after: Whether the others are evicted after the call.

        Returns:
            The evictor.
        """
        return TimeEvictor(window_size, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        timestamps = [element.timestamp for element in elements if element.timestamp is not None]
        if not timestamps:
            return
        cutoff = max(timestamps) - self.window_size
        elements[:] = [
            element
            for element in elements
            if element.timestamp is None or element.timestamp > cutoff
        ]

    def __repr__(self) -> str:
        return f"TimeEvictor({self.window_size})"


class DeltaEvictor(_BeforeOrAfter):
    """Keeps the records that are near to the last one.

    Args:
        threshold: A record is evicted if its delta is not below this.
        delta_function: Is called with a record and the last one, and returns how far they are from
            each other.
        do_evict_after: Whether the others are evicted after the function of the window is called,
            not before.

    Raises:
        InvalidEvictorError: If the threshold is no number.
        InvalidFunctionError: If `delta_function` cannot be called.

    Example:
        >>> DeltaEvictor.of(10, lambda old, last: abs(last - old))
        DeltaEvictor(10)
    """

    def __init__(
        self,
        threshold: Any,
        delta_function: Callable[[Any, Any], Any],
        do_evict_after: bool = False,
    ) -> None:
        super().__init__(do_evict_after=do_evict_after)
        self.threshold = threshold_of(
            threshold, "The threshold of DeltaEvictor", InvalidEvictorError
        )
        self.delta_function = callable_of(
            delta_function,
            "The delta function of DeltaEvictor",
            "Give a function from two records to a number.",
        )

    @staticmethod
    def of(
        threshold: Any,
        delta_function: Callable[[Any, Any], Any],
        do_evict_after: bool = False,
    ) -> DeltaEvictor:
        """Return the evictor; see the class.

        Args:
            threshold: A record is evicted if its delta is not below this.
            delta_function: Returns how far two records are from each other.
            do_evict_after: Whether records are evicted after the call.

        Returns:
            The evictor.
        """
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if not elements:
            return
        last, delta, threshold = elements[-1].value, self.delta_function, self.threshold
        elements[:] = [
            element for element in elements if not delta(element.value, last) >= threshold
        ]

    def __repr__(self) -> str:
        return f"DeltaEvictor({self.threshold})"
