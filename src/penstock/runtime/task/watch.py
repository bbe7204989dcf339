"""How a subtask spends the time of an epoch."""

from __future__ import annotations

import time
from typing import NamedTuple


class Spent(NamedTuple):
    """How a subtask spent an epoch, and what passed through it.

    Attributes:
        begun: When it began, in seconds since 1970.
        ended: When it had done all that it had to.
        busy: For how many seconds in between it read, processed records and timers, and wrote its state.
        blocked: For how many it waited until what it had sent was taken.
        bytes_in: Bytes received from other chains.
        bytes_out: Bytes sent to other chains.
    """

    begun: float = 0.0
    ended: float = 0.0
    busy: float = 0.0
    blocked: float = 0.0
    bytes_in: int = 0
    bytes_out: int = 0


class Watch:
    """Measures how a subtask spends an epoch: with each buffer or block that it is given, not with each record.

    Attributes:
        busy: For how many seconds it did something, but for what it does now.
        blocked: For how many it waited until what it had sent was taken.
        since: When it began what it does now.
        bytes_in: Bytes received from other chains.
        bytes_out: Bytes sent to other chains.
    """

    __slots__ = ("_begun", "blocked", "busy", "bytes_in", "bytes_out", "since")

    def __init__(self) -> None:
        self.begin_epoch(time.perf_counter())

    def begin_epoch(self, since: float) -> None:
        """Begin an epoch, with something that has been done since then."""
        self.since = since
        self._begun = time.time() - (time.perf_counter() - since)
        self.busy = self.blocked = 0.0
        self.bytes_in = self.bytes_out = 0

    def note_done(self) -> None:
        """Note that what it did is done."""
        self.busy += time.perf_counter() - self.since

    def spent(self) -> Spent:
        """Return how the epoch was spent, which ends with what it does now."""
        busy = self.busy + time.perf_counter() - self.since
        return Spent(self._begun, time.time(), busy, self.blocked, self.bytes_in, self.bytes_out)
