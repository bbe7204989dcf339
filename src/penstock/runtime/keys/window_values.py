"""Windows: the groups into which a stream is cut."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import fields, is_dataclass
from typing import Any, Final, NamedTuple, Protocol

from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP


class Window(ABC):
    """A group of records of a key.

    Windows are values: equal ones are one window, wherever they were made. What a class of your own
    keeps in attributes makes its windows equal or not, so an attribute is never changed, and is
    what may be a key: a number, text, a date, or a tuple of those. A frozen dataclass will do.

    Example:
        >>> class Day(Window):
        ...     def __init__(self, number):
        ...         self.number = number
        ...
        ...     def max_timestamp(self):
        ...         return (self.number + 1) * 86_400_000 - 1
        >>> Day(0) == Day(0), Day(0).max_timestamp()
        (True, 86399999)
    """

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """Return the last timestamp that belongs to the window, in milliseconds."""

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(self) is type(other) and attributes(self) == attributes(other)
        )

    def __hash__(self) -> int:
        return hash((type(self), attributes(self)))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in attributes(self))
        return f"{type(self).__name__}({values})"


def attributes(window: Any) -> tuple[tuple[str, Any], ...]:
    """Return what makes windows of a class equal or not: names of attributes, with their values."""
    if is_dataclass(window):
        names = (field.name for field in fields(window) if field.compare)
        return tuple((name, getattr(window, name)) for name in names)
    state = object.__getstate__(window)
    in_dictionary, in_slots = state if isinstance(state, tuple) else (state, None)
    return tuple(sorted({**(in_dictionary or {}), **(in_slots or {})}.items()))


class MergeCallback(Protocol):
    """Such as `MergingWindowAssigner.MergeCallback`, which says more."""

    def merge(self, to_be_merged: Collection[TimeWindow], merge_result: TimeWindow) -> None:
        """Make one window of several."""


class _Bounds(NamedTuple):
    start: int
    end: int


class TimeWindow(_Bounds, Window):
    """The records from one time up to another.

    Attributes:
        start: The first timestamp of the window, in milliseconds.
        end: The first timestamp after the window, in milliseconds.

    Example:
        >>> window = TimeWindow(0, 10)
        >>> window.max_timestamp()
        9
        >>> window.intersects(TimeWindow(10, 20))
        True
    """

    # A tuple, because windows are looked up in dictionaries all the time: tuples hash and compare
    # without running Python code.

    __slots__ = ()

    def max_timestamp(self) -> int:
        """Return the last timestamp that belongs to the window, in milliseconds.

        Returns:
            The end less 1.
        """
        return self.end - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Return whether the windows overlap or touch.

        Args:
            other: Another window.

        Returns:
            Whether one window would hold both and nothing between them.
        """
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """Return the smallest window that holds both.

        Args:
            other: Another window.

        Returns:
            That window.
        """
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """Return the start of the window of a size that holds a timestamp.

        Args:
            timestamp: The timestamp in milliseconds; it may be negative.
            offset: Windows start at this time, and at all multiples of the size from there.
            window_size: The size in milliseconds.

        Returns:
            The start in milliseconds.

        Example:
            >>> TimeWindow.get_window_start_with_offset(-1, 0, 10)
            -10
        """
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: MergeCallback) -> None:
        """Find the windows that overlap or touch, and tell what they become together.

        Args:
            windows: The windows.
            callback: A `MergingWindowAssigner.MergeCallback`: is told each group of at least two, with the
                window that covers it.
        """
        group: list[TimeWindow] = []
        cover: TimeWindow | None = None
        for window in sorted(windows):
            if cover is not None and window.start <= cover.end:
                cover = cover.cover(window)
                group.append(window)
            else:
                _tell(group, cover, callback)
                cover, group = window, [window]
        _tell(group, cover, callback)


def _tell(group: Collection[TimeWindow], cover: TimeWindow | None, callback: MergeCallback) -> None:
    if cover is not None and len(group) > 1:
        callback.merge(group, cover)


def time_window(start: int, end: int) -> TimeWindow:
    """Return the window from one time to another, its bounds held within 64 bits.

    A window that would end after the last timestamp there is ends with it, and holds it.
    """
    if start < MIN_TIMESTAMP or end > MAX_TIMESTAMP:
        return TimeWindow(max(start, MIN_TIMESTAMP), min(end, MAX_TIMESTAMP))
    return TimeWindow(start, end)


def last_timestamp(window: Window) -> int:
    """Return the last timestamp of a window, held within 64 bits: a window of a user's may tell more."""
    return min(window.max_timestamp(), MAX_TIMESTAMP)


class GlobalWindow(Window):
    """The one window of all records of a key.

    Example:
        >>> GlobalWindow.get() is GlobalWindow.get()
        True
    """

    __slots__ = ()

    @staticmethod
    def get() -> GlobalWindow:
        """Return the window: there is only one.

        Returns:
            The window.
        """
        return _GLOBAL_WINDOW

    def max_timestamp(self) -> int:
        """Return the last timestamp there is, 2**63 - 1.

        Returns:
            That timestamp.
        """
        return MAX_TIMESTAMP

    def __eq__(self, other: object) -> bool:
        return type(other) is GlobalWindow

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "GlobalWindow"

    def __reduce__(self) -> tuple[Any, ...]:
        return GlobalWindow.get, ()


_GLOBAL_WINDOW: Final = GlobalWindow()


class _Id(NamedTuple):
    id: int


class CountWindow(_Id, Window):
    """A number of records of a key that came one after the other.

    Attributes:
        id: Counts the windows of a key, from 0.

    Example:
        >>> CountWindow(0) == CountWindow(0)
        True
    """

    __slots__ = ()

    def max_timestamp(self) -> int:
        """Return the last timestamp there is, 2**63 - 1: records of any time may be in the window.

        Returns:
            That timestamp.
        """
        return MAX_TIMESTAMP
