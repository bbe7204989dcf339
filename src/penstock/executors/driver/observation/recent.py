"""What counts came to in the last seconds, told from what they were at a few moments before."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

SPAN: Final = 10.0
"""Over how many seconds, or a little more, rates and shares are taken."""

_STEP: Final = 1.0

T = TypeVar("T")


class Span(NamedTuple, Generic[T]):
    """The last seconds.

    Attributes:
        base: What the counts were when they began; None if nothing had been counted.
        since: When they began.
        seconds: How long they are.
    """

    base: T | None
    since: float
    seconds: float


class _Point(Generic[T]):
    """What counts were since a moment, and for how long nothing changed."""

    __slots__ = ("counts", "since", "until")

    def __init__(self, since: float, counts: T | None) -> None:
        self.since = self.until = since
        self.counts = counts


class Recent(Generic[T]):
    """Remembers what counts were, about once a second, for as long as rates look back.

    Counts change when an epoch is committed, by all that it did since it began. So a span begins 10 seconds
    before its end; or, if an epoch ran then, when that began.

    Args:
        counts: Returns what the counts are now.

    Example:
        >>> count = 0
        >>> recent = Recent(lambda: count)
        >>> for second in range(100, 130):
        ...     recent.begin(second)
        ...     count += 50
        ...     recent.changed(second + 1)
        >>> recent.span(130.0)
        Span(base=1000, since=120, seconds=10.0)
    """

    def __init__(self, counts: Callable[[], T]) -> None:
        self._counts = counts
        self._points: deque[_Point[T]] = deque()
        self._changed = 0.0

    def begin(self, at: float) -> None:
        """Note that an epoch begins: nothing has changed since the last one."""
        points = self._points
        if not points:
            points.append(_Point(at, None))
            self._changed = at
        elif at - self._changed >= _STEP:
            if points[-1].since < self._changed:
                points.append(_Point(self._changed, self._counts()))
            points[-1].until = at

    def changed(self, at: float) -> None:
        """Note that the counts have changed."""
        points = self._points
        self._changed = at
        if at - points[-1].until < _STEP:
            return
        points.append(_Point(at, self._counts()))
        while points[1].since <= at - 2 * SPAN:
            points.popleft()

    def span(self, end: float) -> Span[T]:
        """Return the last seconds before a moment, until which nothing has changed since the last change."""
        begin = end - SPAN
        if not self._points:
            return Span(None, end, 0.0)
        if self._changed <= begin:
            return Span(self._counts(), begin, SPAN)
        points = reversed(self._points)
        point = next((point for point in points if point.since <= begin), self._points[0])
        since = max(point.since, min(begin, point.until))
        return Span(point.counts, since, end - since)
