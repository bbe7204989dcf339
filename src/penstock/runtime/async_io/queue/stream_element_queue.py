"""The queue of the records that are under way: what both kinds can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from penstock.runtime.async_io.queue.entries import StreamElementQueueEntry


class StreamElementQueue(ABC):
    """The records that are under way, and the elements that keep their places between them.

    The task's own thread alone uses it: it waits for others where the queue has to wait.

    Args:
        capacity: The most entries, watermarks included.
        wait: Waits until something was completed, and completes it here; called as often as needed.
    """

    def __init__(self, capacity: int, wait: Callable[[], None]) -> None:
        self.capacity = capacity
        self._wait = wait

    def put(self, entry: StreamElementQueueEntry, make_room: Callable[[], None]) -> None:
        """Add an entry, once there is room.

        Args:
            entry: The entry.
            make_room: Waits until something can be taken out, and takes it out; called as often as
                needed.
        """
        while not self.try_put(entry):
            make_room()

    def try_put(self, entry: StreamElementQueueEntry) -> bool:
        """Add an entry; return False if the queue is full."""
        if self.size() >= self.capacity:
            return False
        self._add(entry)
        return True

    def peek_blockingly(self) -> StreamElementQueueEntry:
        """Return the entry that is to be emitted next, once it is done; it stays in the queue."""
        while not self.has_completed():
            self._wait()
        return next(self.completed())

    def poll(self) -> StreamElementQueueEntry:
        """Take out the entry that is to be emitted next, once it is done, and return it."""
        while not self.has_completed():
            self._wait()
        return self._pop()

    @abstractmethod
    def _add(self, entry: StreamElementQueueEntry) -> None:
        """Add an entry."""

    @abstractmethod
    def _pop(self) -> StreamElementQueueEntry:
        """Take out the entry that is to be emitted next, which is done."""

    @abstractmethod
    def has_completed(self) -> bool:
        """Return whether there is an entry that may be emitted now."""

    @abstractmethod
    def completed(self) -> Iterator[StreamElementQueueEntry]:
        """Yield, in order, entries that may be emitted now; `poll` gives the same one after the other."""

    @abstractmethod
    def awaited(self) -> StreamElementQueueEntry | None:
        """Return the entry to wait for: the youngest of those that would be emitted when they are done.

        None if there is none.
        """

    @abstractmethod
    def values(self) -> list[StreamElementQueueEntry]:
        """Return all entries: those that are to be emitted next first."""

    @abstractmethod
    def size(self) -> int:
        """Return how many entries there are."""

    def is_empty(self) -> bool:
        """Return whether there is no entry."""
        return not self.size()
