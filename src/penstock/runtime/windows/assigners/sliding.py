"""Sliding windows: a new one starts before the last has ended."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from penstock.errors import InvalidWindowError
from penstock.runtime.keys.window_values import TimeWindow
from penstock.runtime.windows.arguments import TimeLength, millis_of, positive_millis
from penstock.runtime.windows.assigners.assigner import WindowAssigner
from penstock.runtime.windows.assigners.time_window_assigner import (
    EventTimeWindowAssigner,
    ProcessingTimeWindowAssigner,
    TimeWindowAssigner,
)
from penstock.runtime.windows.panes import PaneWindows


class _SlidingWindows(TimeWindowAssigner):
    """Sliding windows by either time."""

    def __init__(self, size: TimeLength, slide: TimeLength, offset: TimeLength) -> None:
        name = type(self).__name__
        self.size = positive_millis(size, f"The size of {name}", InvalidWindowError)
        self.slide = positive_millis(slide, f"The slide of {name}", InvalidWindowError)
        self.offset = millis_of(offset, f"The offset of {name}", InvalidWindowError)
        if abs(self.offset) >= self.slide:
            raise InvalidWindowError(
                f"The offset of {name} is {self.offset} ms, and the slide {self.slide} ms.",
                hint="Give an offset smaller than the slide, by which the start of windows is "
                "shifted.",
            )
        self._windows = PaneWindows(self.size, self.slide, self.offset)

    def _windows_at(
        self, time: int, element: Any, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        return self._windows.of(time)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.slide}, {self.offset})"


class SlidingEventTimeWindows(_SlidingWindows, EventTimeWindowAssigner):
    """Windows by the timestamps of the records, which overlap where the slide is below the size.

    A record is in each window that holds its timestamp. Where the slide is above the size, there are
    records in no window.

    Args:
        size: How long a window is; an int is a number of milliseconds.
        slide: How long after one window the next starts.
        offset: By how much the windows start later than at a multiple of the slide since
            1970-01-01 UTC.

    Raises:
        InvalidWindowError: If size or slide are not above zero, or the offset is not smaller than
            the slide.

    Attributes:
        size: The size in milliseconds.
        slide: The slide in milliseconds.
        offset: The offset in milliseconds.

    Example:
        >>> from penstock.common import Time
        >>> from penstock.datastream.window import SlidingEventTimeWindows
        >>> SlidingEventTimeWindows.of(Time.minutes(10), Time.minutes(1))
        SlidingEventTimeWindows(600000, 60000, 0)
    """

    @staticmethod
    def of(
        size: TimeLength, slide: TimeLength, offset: TimeLength | None = None
    ) -> SlidingEventTimeWindows:
        """Return sliding windows by event time; see the class for what it takes.

        Args:
            size: How long a window is.
            slide: How long after one window the next starts.
            offset: By how much windows start later. Default: not at all.

        Returns:
            The assigner.
        """
        return SlidingEventTimeWindows(size, slide, offset or 0)


class SlidingProcessingTimeWindows(_SlidingWindows, ProcessingTimeWindowAssigner):
    """Windows by the clock of the machine, which overlap where the slide is below the size.

    Args:
        size: How long a window is; an int is a number of milliseconds.
        slide: How long after one window the next starts.
        offset: By how much the windows start later than at a multiple of the slide since
            1970-01-01 UTC.

    Raises:
        InvalidWindowError: If size or slide are not above zero, or the offset is not smaller than
            the slide.

    Attributes:
        size: The size in milliseconds.
        slide: The slide in milliseconds.
        offset: The offset in milliseconds.

    Example:
        >>> from penstock.common import Time
        >>> from penstock.datastream.window import SlidingProcessingTimeWindows
        >>> SlidingProcessingTimeWindows.of(Time.seconds(10), Time.seconds(5))
        SlidingProcessingTimeWindows(10000, 5000, 0)
    """

    @staticmethod
    def of(
        size: TimeLength, slide: TimeLength, offset: TimeLength | None = None
    ) -> SlidingProcessingTimeWindows:
        """Return sliding windows by processing time; see the class for what it takes.

        Args:
            size: How long a window is.
            slide: How long after one window the next starts.
            offset: By how much windows start later. Default: not at all.

        Returns:
            The assigner.
        """
        return SlidingProcessingTimeWindows(size, slide, offset or 0)
