"""The queue that lets records overtake each other, but no watermark."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from penstock.runtime.async_io.queue.entries import StreamElementQueueEntry, StreamRecordQueueEntry
from penstock.runtime.async_io.queue.stream_element_queue import StreamElementQueue


class Segment:
    """What stands between two watermarks: records in any order, or one element in band.

    Attributes:
        completed: What is done, in the order in which it was.
    """

    __slots__ = ("_incomplete", "completed")

    def __init__(self) -> None:
        # A dict, as it remembers the order in which records came.
        self._incomplete: dict[StreamElementQueueEntry, None] = {}
        self.completed: deque[StreamElementQueueEntry] = deque()

    def add(self, entry: StreamElementQueueEntry) -> None:
        """Add an entry; a record comes to `completed` when it is done."""
        if isinstance(entry, StreamRecordQueueEntry):
            if not entry.is_done:
                self._incomplete[entry] = None
            entry.on_complete(self._on_complete)
        else:
            self.completed.append(entry)

    def _on_complete(self, entry: StreamRecordQueueEntry) -> None:
        self._incomplete.pop(entry, None)
        self.completed.append(entry)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in it."""
        return not self.completed and not self._incomplete

    @property
    def youngest_incomplete(self) -> StreamElementQueueEntry | None:
        """The record that came last of those that are not done."""
        return next(reversed(self._incomplete), None)

    def values(self) -> list[StreamElementQueueEntry]:
        """Return the entries, those that are done first."""
        return [*self.completed, *self._incomplete]


class UnorderedStreamElementQueue(StreamElementQueue):
    """Emits records as they are done, but none before a watermark that came before it, or after one behind.

    Segments follow each other: the records before a watermark, the watermark, those behind it. Only
    the first segment emits.

    Args:
        capacity: The most entries, watermarks included.
        wait: Waits until something was completed, and completes it.
    """

    def __init__(self, capacity: int, wait: Callable[[], None]) -> None:
        super().__init__(capacity, wait)
        self._segments: deque[Segment] = deque([Segment()])
        self._size = 0

    def _add(self, entry: StreamElementQueueEntry) -> None:
        if entry.is_in_band:
            self._last_empty_segment().add(entry)
            self._segments.append(Segment())
        else:
            self._segments[-1].add(entry)
        self._size += 1

    def _last_empty_segment(self) -> Segment:
        if not self._segments[-1].is_empty:
            self._segments.append(Segment())
        return self._segments[-1]

    def _pop(self) -> StreamElementQueueEntry:
        segments = self._segments
        entry = segments[0].completed.popleft()
        self._size -= 1
        while len(segments) > 1 and segments[0].is_empty:
            segments.popleft()
        return entry

    def has_completed(self) -> bool:
        return bool(self._segments[0].completed)

    def completed(self) -> Iterator[StreamElementQueueEntry]:
        return iter(self._segments[0].completed)

    def awaited(self) -> StreamElementQueueEntry | None:
        return self._segments[0].youngest_incomplete

    def values(self) -> list[StreamElementQueueEntry]:
        return [entry for segment in self._segments for entry in segment.values()]

    def size(self) -> int:
        return self._size
