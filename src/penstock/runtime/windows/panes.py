"""Windows of one size that start at regular times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import gcd
from typing import Any, Final

from penstock.runtime.keys.window_values import TimeWindow, time_window
from penstock.runtime.timestamp import MAX_TIMESTAMP


class PaneWindows(dict[int, tuple[TimeWindow, ...]]):
    """Maps the start of a pane to the windows that hold it, remembering those already seen.

    A pane is the longest stretch of time that no window begins or ends in: all records of a pane
    belong to the same windows. Looking them up takes a tenth of the time of making them.

    Args:
        size: How long a window is, in milliseconds.
        slide: How long after one window the next starts, in milliseconds.
        offset: When some window starts, in milliseconds.

    Attributes:
        pane_size: How long a pane is, in milliseconds.

    Example:
        >>> PaneWindows(10, 5, 0).of(-1)
        (TimeWindow(start=-5, end=5), TimeWindow(start=-10, end=0))
    """

    LIMIT: Final = 1 << 12
    _MOST_PANES_A_SLIDE: Final = 8

    def __init__(self, size: int, slide: int, offset: int) -> None:
        super().__init__()
        self.size = size
        self.slide = slide
        self.offset = offset
        self.pane_size = gcd(size, slide)

    def of(self, time: int) -> tuple[TimeWindow, ...]:
        """Return the windows that hold a time (milliseconds), the latest first."""
        # As `pane_of` does, without a call: it is asked for each record.
        return self[time - (time - self.offset) % self.pane_size]

    def pane_of(self, time: int) -> int:
        """Return the start of the pane that holds a time (milliseconds)."""
        return time - (time - self.offset) % self.pane_size

    def starts(self, pane: int) -> range:
        """Return the starts of the windows that hold a pane, the latest first, without limits."""
        last = TimeWindow.get_window_start_with_offset(pane, self.offset, self.slide)
        return range(last, pane - self.size, -self.slide)

    @property
    def is_worth_sharing(self) -> bool:
        """Whether it is less work to join records by pane, and then panes by window.

        There are several windows to a record then, and not many more panes than windows.
        """
        overlap = self.size >= 2 * self.slide
        return overlap and self.slide <= self._MOST_PANES_A_SLIDE * self.pane_size

    def indexes_of(self, times: list[int]) -> Mapping[int, Sequence[int]]:
        """Return at which indexes there are times of which pane."""
        if not times:
            return {}
        offset, size = self.offset, self.pane_size
        first = self.pane_of(min(times))
        if max(times) < first + size:
            return {first: range(len(times))}
        panes = [time - (time - offset) % size for time in times]
        found: dict[int, list[int]] = {pane: [] for pane in dict.fromkeys(panes)}
        for index, pane in enumerate(panes):
            found[pane].append(index)
        return found

    def end_from(self, time: int) -> int:
        """Return the first end of a window that is not before a time, without limits."""
        return time + (self.offset + self.size - time) % self.slide

    def ends_at(self, last: int, newest: int) -> range:
        """Return the ends of the windows whose last timestamp is this one, without limits.

        All windows that would end behind the last timestamp there is end with it: those up to the last
        that holds the pane `newest`.
        """
        end = last + 1
        stop = end + 1 if end < MAX_TIMESTAMP else newest + self.size + 1
        return range(self.end_from(end), stop, self.slide)

    def next_end(self, time: int, panes: Iterable[int]) -> int | None:
        """Return the last timestamp of the next window that holds a pane, and ends after a time.

        Args:
            time: The time, in milliseconds, at which all windows have ended that end with it.
            panes: The panes, in order.
        """
        end = self.end_from(time + 2)
        inside = next((pane for pane in panes if pane >= end - self.size), None)
        if inside is None:
            return None
        found = min(max(end, self.end_from(inside + self.pane_size)), MAX_TIMESTAMP) - 1
        return found if found > time else None

    def __missing__(self, pane: int) -> tuple[TimeWindow, ...]:
        size = self.size
        windows = tuple(time_window(start, start + size) for start in self.starts(pane))
        if len(self) >= self.LIMIT:
            self.clear()
        self[pane] = windows
        return windows


def panes_of(assigner: Any) -> PaneWindows:
    """Return the windows of a tumbling or sliding assigner."""
    return PaneWindows(assigner.size, getattr(assigner, "slide", assigner.size), assigner.offset)
