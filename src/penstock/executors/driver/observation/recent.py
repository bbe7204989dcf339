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


class Recent(Generic[T]):
    """Remembers what counts were, about once a second, for as long as rates look back.

    Counts change when an epoch is committed, and a span begins at such a moment: 10 seconds before its end, or
    as much more as there is to the commit before.

    Args:
        counts: Returns what the counts are now.

    Example:
        >>> count = 0
        >>> recent = Recent(lambda: count)
        >>> recent.begin(100.0)
        >>> for second in range(101, 131):
        ...     count += 50
        ...     recent.changed(second)
        >>> recent.span(130.0)
        Span(base=1000, since=120, seconds=10.0)
    """

    def __init__(self, counts: Callable[[], T]) -> None:
        self._counts = counts
        self._points: deque[tuple[float, T | None]] = deque()
        self._changed = 0.0

    def begin(self, at: float) -> None:
        """Note when counting begins, if it has not."""
        if not self._points:
            self._points.append((at, None))
            self._changed = at

    def changed(self, at: float) -> None:
        """Note that the counts have changed."""
        points = self._points
        self._changed = at
        if at - points[-1][0] < _STEP:
            return
        points.append((at, self._counts()))
        while points[1][0] <= at - 2 * SPAN:
            points.popleft()

    def span(self, end: float) -> Span[T]:
        """Return the last seconds before a moment, until which nothing has changed since the last change."""
        begin = end - SPAN
        if not self._points:
            return Span(None, end, 0.0)
        if self._changed <= begin:
            return Span(self._counts(), begin, SPAN)
        since, base = next(
            (point for point in reversed(self._points) if point[0] <= begin), self._points[0]
        )
        return Span(base, since, end - since)
