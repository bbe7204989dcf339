"""The queue that keeps order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import takewhile
from operator import attrgetter

from penstock.runtime.async_io.queue.entries import StreamElementQueueEntry
from penstock.runtime.async_io.queue.stream_element_queue import StreamElementQueue

_is_done = attrgetter("is_done")


class OrderedStreamElementQueue(StreamElementQueue):
    """Emits entries in the order in which they came, whatever order they are done in.

    Args:
        capacity: The most entries, watermarks included.
        wait: Waits until something was completed, and completes it.
    """

    def __init__(self, capacity: int, wait: Callable[[], None]) -> None:
        super().__init__(capacity, wait)
        self._entries: deque[StreamElementQueueEntry] = deque()

    def _add(self, entry: StreamElementQueueEntry) -> None:
        self._entries.append(entry)

    def _pop(self) -> StreamElementQueueEntry:
        return self._entries.popleft()

    def has_completed(self) -> bool:
        return bool(self._entries) and self._entries[0].is_done

    def completed(self) -> Iterator[StreamElementQueueEntry]:
        return takewhile(_is_done, self._entries)

    def awaited(self) -> StreamElementQueueEntry | None:
        return self._entries[0] if self._entries else None

    def values(self) -> list[StreamElementQueueEntry]:
        return list(self._entries)

    def size(self) -> int:
        return len(self._entries)
