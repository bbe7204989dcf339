"""A few of the records that went nowhere, for people to look at."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

_LENGTH: Final = 200
_MOST_A_SECOND: Final = 3
_MOST: Final = 10


class Sample(NamedTuple):
    """A record that went nowhere.

    Attributes:
        kind: `late` or `failed`.
        record: The record, as `repr` shows it, cut.
        reason: Why, in one line.
        happened: When, in milliseconds since 1970.
    """

    kind: str
    record: str
    reason: str
    happened: int


class Samples:
    """Keeps a few of the records that an operator drops as late or passes over: three a second, and the last ten.

    All others cost a look at the clock.

    Args:
        clock: Tells the time, in seconds since 1970.

    Example:
        >>> samples = Samples(clock=lambda: 7.0)
        >>> samples.late({"user": 3}, 12_000)
        >>> samples.take()
        (Sample(kind='late', record="{'user': 3}", reason='12,000 ms behind the watermark', happened=7000),)
        >>> samples.take()
        ()
    """

    __slots__ = ("_clock", "_found", "_left", "_until")

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._found: list[Sample] = []
        self._left = 0
        self._until = 0.0

    def late(self, record: Any, behind: int) -> None:
        """Keep a record that came late, so many milliseconds behind the watermark; unless there were too many."""
        if self._has_room():
            self._keep("late", record, f"{behind:,} ms behind the watermark")

    def failed(self, record: Any, reason: str) -> None:
        """Keep a record that failed, unless there were too many."""
        if self._has_room():
            self._keep("failed", record, reason)

    def _has_room(self) -> bool:
        now = self._clock()
        if now >= self._until:
            self._until, self._left = now + 1, _MOST_A_SECOND
        self._left -= 1
        return self._left >= 0

    def _keep(self, kind: str, record: Any, reason: str) -> None:
        now = int(self._clock() * 1000)
        self._found.append(Sample(kind, _shown(record), _shortened(reason), now))
        del self._found[:-_MOST]

    def take(self) -> tuple[Sample, ...]:
        """Return what was kept since the last call, oldest first."""
        if not self._found:
            return ()
        found, self._found = tuple(self._found), []
        return found


def _shown(record: Any) -> str:
    try:
        return _shortened(repr(record))
    except Exception as error:  # noqa: BLE001 - a repr may raise anything
        return f"<a {type(record).__qualname__} whose repr raised {type(error).__name__}>"


def _shortened(text: str) -> str:
    line = " ".join(text[: 2 * _LENGTH].split())
    return line if len(line) <= _LENGTH else f"{line[: _LENGTH - 3]}..."
