"""Tumbling windows: one after the other."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from penstock.errors import InvalidWindowError
from penstock.runtime.keys.window_values import TimeWindow
from penstock.runtime.windows.arguments import TimeLength, millis_of, positive_millis
from penstock.runtime.windows.assigners.assigner import WindowAssigner
from penstock.runtime.windows.assigners.stagger import WindowStagger, task_key
from penstock.runtime.windows.assigners.time_window_assigner import (
    EventTimeWindowAssigner,
    ProcessingTimeWindowAssigner,
    TimeWindowAssigner,
)
from penstock.runtime.windows.panes import PaneWindows


class _TumblingWindows(TimeWindowAssigner):
    """Tumbling windows by either time."""

    def __init__(
        self,
        size: TimeLength,
        offset: TimeLength,
        *,
        window_stagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> None:
        name = type(self).__name__
        self.size = positive_millis(size, f"The size of {name}", InvalidWindowError)
        self.offset = millis_of(offset, f"The offset of {name}", InvalidWindowError)
        if abs(self.offset) >= self.size:
            raise InvalidWindowError(
                f"The offset of {name} is {self.offset} ms, and the size {self.size} ms.",
                hint="Give an offset smaller than the size, by which the start of windows is shifted.",
            )
        if not isinstance(window_stagger, WindowStagger):
            raise InvalidWindowError(
                f"The stagger of {name} is {window_stagger!r}.",
                hint="Take WindowStagger.ALIGNED, RANDOM or NATURAL.",
            )
        self.window_stagger = window_stagger
        self._set_stagger(0 if window_stagger is WindowStagger.ALIGNED else None)

    def _set_stagger(self, stagger: int | None) -> None:
        self._stagger = stagger
        self._windows = PaneWindows(self.size, self.size, self.offset + (stagger or 0))

    def _windows_at(
        self, time: int, element: Any, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        if self._stagger is None:
            now = context.get_current_processing_time()
            task = task_key(context.get_runtime_context())
            self._set_stagger(self.window_stagger.get_stagger_offset(now, self.size, task))
        return self._windows.of(time)

    def snapshot(self) -> int | None:
        is_aligned = self.window_stagger is WindowStagger.ALIGNED
        return None if is_aligned else self._stagger

    def restore(self, snapshot: int | None) -> None:
        if self.window_stagger is not WindowStagger.ALIGNED:
            self._set_stagger(snapshot)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.offset})"


class TumblingEventTimeWindows(_TumblingWindows, EventTimeWindowAssigner):
    """Windows by the timestamps of the records: each starts where the one before ends.

    Args:
        size: How long a window is; an int is a number of milliseconds.
        offset: By how much the windows start later than at a multiple of their size since
            1970-01-01 UTC. For days of a time zone 8 hours before UTC: -8 hours.
        window_stagger: Whether the windows of some subtasks start later still.

    Raises:
        InvalidWindowError: If the size is not above zero, or the offset not smaller than the size.

    Attributes:
        size: The size in milliseconds.
        offset: The offset in milliseconds.
        window_stagger: Whether the windows of some subtasks start later still.

    Example:
        >>> from penstock.common import Time
        >>> from penstock.datastream.window import TumblingEventTimeWindows
        >>> TumblingEventTimeWindows.of(Time.hours(1))
        TumblingEventTimeWindows(3600000, 0)
    """

    @staticmethod
    def of(
        size: TimeLength,
        offset: TimeLength | None = None,
        *,
        window_stagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> TumblingEventTimeWindows:
        """Return tumbling windows by event time; see the class for what it takes.

        Args:
            size: How long a window is.
            offset: By how much windows start later. Default: not at all.
            window_stagger: Whether the windows of some subtasks start later still.

        Returns:
            The assigner.
        """
        return TumblingEventTimeWindows(size, offset or 0, window_stagger=window_stagger)


class TumblingProcessingTimeWindows(_TumblingWindows, ProcessingTimeWindowAssigner):
    """Windows by the clock of the machine: each starts where the one before ends.

    Args:
        size: How long a window is; an int is a number of milliseconds.
        offset: By how much the windows start later than at a multiple of their size since
            1970-01-01 UTC.
        window_stagger: Whether the windows of some subtasks start later still.

    Raises:
        InvalidWindowError: If the size is not above zero, or the offset not smaller than the size.

    Attributes:
        size: The size in milliseconds.
        offset: The offset in milliseconds.
        window_stagger: Whether the windows of some subtasks start later still.

    Example:
        >>> from penstock.common import Time
        >>> from penstock.datastream.window import TumblingProcessingTimeWindows
        >>> TumblingProcessingTimeWindows.of(Time.seconds(10), Time.seconds(1))
        TumblingProcessingTimeWindows(10000, 1000)
    """

    @staticmethod
    def of(
        size: TimeLength,
        offset: TimeLength | None = None,
        *,
        window_stagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> TumblingProcessingTimeWindows:
        """Return tumbling windows by processing time; see the class for what it takes.

        Args:
            size: How long a window is.
            offset: By how much windows start later. Default: not at all.
            window_stagger: Whether the windows of some subtasks start later still.

        Returns:
            The assigner.
        """
        return TumblingProcessingTimeWindows(size, offset or 0, window_stagger=window_stagger)
