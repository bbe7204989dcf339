"""Evictors: which records are taken out of a window around the call of its function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, NamedTuple, TypeVar

from penstock.runtime.metrics import MetricGroup
from penstock.runtime.windowing.window import Window

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
