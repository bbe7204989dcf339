"""What timer services and state backends ask of a queue of timers: the one contract of all queues."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import ClassVar

from penstock.runtime.timers.internal_timer import InternalTimer, write_timers


class KeyGroupedInternalPriorityQueue(ABC):
    """The timers of one subtask, the earliest first, each of them once.

    The order among timers of one timestamp is the queue's own affair. It is the same for every copy
    of the queue that was brought up by `apply`.

    Attributes:
        tracks_changes: False in a job's last epoch, whose changes nobody will read.
        knows_size: Whether `size` is known without counting.
    """

    tracks_changes: bool = True
    knows_size: ClassVar[bool] = False

    @abstractmethod
    def peek(self) -> InternalTimer | None:
        """Return the earliest timer, or None if there is none."""

    @abstractmethod
    def poll(self) -> InternalTimer | None:
        """Remove and return the earliest timer, or None if there is none."""

    def poll_due(self, timestamp: int) -> InternalTimer | None:
        """Remove and return the earliest timer if it is not for later than that, or None."""
        head = self.peek()
        return None if head is None or head.timestamp > timestamp else self.poll()

    def poll_together(self, timestamp: int) -> list[InternalTimer]:
        """Remove and return the timers of the earliest time, if it is not later than that."""
        found: list[InternalTimer] = []
        while (timer := self.poll_due(timestamp)) is not None:
            found.append(timer)
            timestamp = timer.timestamp
        return found

    @abstractmethod
    def add(self, timer: InternalTimer) -> bool:
        """Add a timer, unless it is there already; return whether it is the new head."""

    def add_all(self, timers: Iterable[InternalTimer]) -> None:
        """Add timers one after the other."""
        for timer in timers:
            self.add(timer)

    @abstractmethod
    def remove(self, timer: InternalTimer) -> bool:
        """Remove a timer, if it is there; return whether it was the head, or may have been.

        It may have been only if nobody has asked for the head since another head was removed.
        """

    def clear(self) -> None:
        """Remove all timers, without noting it as a change."""
        raise NotImplementedError

    @abstractmethod
    def size(self) -> int:
        """Return the number of timers."""

    @abstractmethod
    def iterate(self) -> Iterator[InternalTimer]:
        """Iterate over all timers, in no order. The queue must not change meanwhile."""

    @abstractmethod
    def changes(self) -> Iterator[bytes]:
        """Yield what changed since `forget_changes`, in frames of bounded size for `apply`."""

    @abstractmethod
    def forget_changes(self) -> None:
        """Begin to note changes anew."""

    def everything(self) -> Iterator[bytes]:
        """Yield all timers, in frames of bounded size for `apply`."""
        return write_timers((timer, True) for timer in self.iterate())

    @abstractmethod
    def everything_in(self, key_groups: range) -> Iterator[bytes]:
        """Yield all timers of some key groups; those that are there already keep their places.

        It may be asked for once `advance_index` returned True.
        """

    def begin_index(self, *, begins: bool) -> None:  # noqa: B027 - only some have to look for them
        """Begin to find out which timers are of which key group, or forget what was found."""

    def advance_index(self, count: int | None) -> bool:
        """Look at some more timers, None for all of them; return whether those were the last."""
        return True

    @abstractmethod
    def apply(self, frame: bytes) -> None:
        """Take over a frame of `changes` or `everything`, without noting it as a change."""
