"""A timer queue in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any, Final

from penstock.runtime.state.group_index import GroupIndex
from penstock.runtime.timers.internal_timer import InternalTimer
from penstock.runtime.timers.key_grouped_priority_queue import KeyGroupedInternalPriorityQueue
from penstock.runtime.timers.timer_frames import read_frame, write_frames

_FEW: Final = 64
_MANY: Final = 1024


class HeapPriorityQueueSet(KeyGroupedInternalPriorityQueue):
    """A timer queue in memory: distinct timestamps in order, and the timers of each timestamp.

    It has the contract of a binary heap of timers that know their index, and is several times as
    fast in Python: keeping order is the standard library's work, and timers that share a timestamp,
    such as those of a window's end, are ordered as one. Timers of one timestamp
    fire in the order in which they were registered. A timer's double can only be at the same
    timestamp, so that is where it is looked for.

    Args:
        key_group: Gives the key group of a key.
    """

    knows_size = True

    def __init__(self, key_group: Callable[[Any], int]) -> None:
        self._key_group = key_group
        self._timers: dict[int, InternalTimer | _Simultaneous] = {}
        # The earliest of the timestamps in `_timers`. All of them are in the heap or in the run, some
        # twice, with others whose timers are gone. The run is in falling order: of many timestamps,
        # the next is found faster at the end of a sorted list than in a heap.
        self._first: int | None = None
        self._heap: list[int] = []
        self._run: list[int] = []
        self._size = 0
        # What differs from the last version: each timer with whether it was there in that version.
        self._changed: dict[InternalTimer, bool] = {}
        self._index: GroupIndex[None, InternalTimer] | None = None

    def peek(self) -> InternalTimer | None:
        if self._first is None:
            return None
        timers = self._timers[self._first]
        return timers if type(timers) is InternalTimer else timers.first()

    def poll(self) -> InternalTimer | None:
        timestamp = self._first
        if timestamp is None:
            return None
        timers = self._timers[timestamp]
        if type(timers) is InternalTimer:
            head = timers
            self._forget_timestamp(timestamp)
        else:
            head = timers.poll()
            if not timers:
                self._forget_timestamp(timestamp)
        self._size -= 1
        if self.tracks_changes:
            self._note_removed(head)
        return head

    def poll_due(self, timestamp: int) -> InternalTimer | None:
        first = self._first
        return None if first is None or first > timestamp else self.poll()

    def poll_together(self, timestamp: int) -> list[InternalTimer]:
        first = self._first
        if first is None or first > timestamp:
            return []
        timers = self._timers[first]
        found = [timers] if type(timers) is InternalTimer else list(timers)
        self._forget_timestamp(first)
        self._size -= len(found)
        if self.tracks_changes:
            for timer in found:
                self._note_removed(timer)
        return found

    def add(self, timer: InternalTimer) -> bool:
        if not self._put(timer):
            return False
        changed = self._changed
        if self.tracks_changes and changed.setdefault(timer, False):
            # Taken out first, so that changes are in the order in which they were made.
            changed[timer] = changed.pop(timer)
        return self._first == timer[0] and self._timers[timer[0]] is timer

    def remove(self, timer: InternalTimer) -> bool:
        timestamp = timer[0]
        is_first = self._first == timestamp
        was_head = is_first and timer == self.peek()
        # Mostly it is alone at its timestamp: taken out first, it is looked for only once.
        timers = self._timers.pop(timestamp, None)
        if timers == timer:
            self._size -= 1
            if is_first or len(self._heap) + len(self._run) > 2 * len(self._timers) + _FEW:
                self._timestamp_gone(timestamp)
        else:
            if timers is not None:
                self._timers[timestamp] = timers
            if not self._discard(timer):
                return False
        if self.tracks_changes and not self._changed.setdefault(timer, True):
            del self._changed[timer]
        return was_head

    def is_empty(self) -> bool:
        return self._size == 0

    def size(self) -> int:
        return self._size

    def iterate(self) -> Iterator[InternalTimer]:
        for timers in self._timers.values():
            if type(timers) is InternalTimer:
                yield timers
            else:
                yield from timers

    def subset_for_key_group(self, group: int) -> set[InternalTimer]:
        return {timer for timer in self.iterate() if self._key_group(timer.key) == group}

    def changes(self) -> Iterator[bytes]:
        return write_frames((timer, self._contains(timer)) for timer in self._changed)

    def forget_changes(self) -> None:
        self._changed.clear()

    def everything(self) -> Iterator[bytes]:
        return write_frames((timer, True) for timer in self.iterate())

    def begin_index(self, *, begins: bool) -> None:
        self._index = None
        if begins:
            timers = list(self.iterate())
            self._index = GroupIndex([(None, timers)], lambda timer: self._key_group(timer.key))

    def advance_index(self, count: int | None) -> bool:
        return self._index is None or self._index.advance(count)

    def everything_in(self, key_groups: range) -> Iterator[bytes]:
        # A queue that was made after the round began has all its timers in changelogs of the round.
        index = self._index
        groups = () if index is None else map(index.of, key_groups)
        return write_frames(
            (timer, None)
            for found in groups
            for _, timers in found
            for timer in timers
            if self._contains(timer)
        )

    def apply(self, frame: bytes) -> None:
        for timer, is_present in read_frame(frame):
            if is_present is None:
                self._put(timer)
                continue
            # A timer that is there already was removed and registered again: it goes to the end.
            self._discard(timer)
            if is_present:
                self._put(timer)

    def _note_removed(self, timer: InternalTimer) -> None:
        if not self._changed.setdefault(timer, True):
            del self._changed[timer]

    def _contains(self, timer: InternalTimer) -> bool:
        timers = self._timers.get(timer[0])
        return timer == timers if type(timers) is InternalTimer else timer in (timers or ())

    def _put(self, timer: InternalTimer) -> bool:
        timestamp = timer[0]
        timers = self._timers.get(timestamp)
        if timers is None:
            self._timers[timestamp] = timer
            heappush(self._heap, timestamp)
            if self._first is None or timestamp < self._first:
                self._first = timestamp
        elif type(timers) is InternalTimer:
            if timers == timer:
                return False
            self._timers[timestamp] = _Simultaneous({timers: False, timer: False})
        elif timer in timers:
            return False
        else:
            timers[timer] = False
        self._size += 1
        return True

    def _discard(self, timer: InternalTimer) -> bool:
        timestamp = timer[0]
        timers = self._timers.get(timestamp)
        if timers == timer:
            self._forget_timestamp(timestamp)
        elif timers is None or type(timers) is InternalTimer or timer not in timers:
            return False
        else:
            del timers[timer]
            if not timers:
                self._forget_timestamp(timestamp)
        self._size -= 1
        return True

    def _forget_timestamp(self, timestamp: int) -> None:
        del self._timers[timestamp]
        self._timestamp_gone(timestamp)

    def _timestamp_gone(self, timestamp: int) -> None:
        timers, heap, run = self._timers, self._heap, self._run
        is_loose = len(heap) + len(run) > 2 * len(timers) + _FEW
        if timestamp != self._first and not is_loose:
            return
        if is_loose or len(heap) > len(run) + _MANY:
            heap.clear()
            run[:] = sorted(timers, reverse=True)
        while heap and heap[0] not in timers:
            heappop(heap)
        while run and run[-1] not in timers:
            run.pop()
        if heap and (not run or heap[0] < run[-1]):
            self._first = heap[0]
        else:
            self._first = run[-1] if run else None


class _Simultaneous(dict[InternalTimer, bool]):
    """Timers of one timestamp, in the order in which they were added.

    Each with whether it is in the queue: one that was removed and added again has left a trace there,
    at a place that is no longer its own.
    """

    __slots__ = ("_queue",)

    _queue: list[InternalTimer]
    """The timers to come first, last to first: a dictionary that loses its first entries again and
    again would have to skip ever more holes."""

    def first(self) -> InternalTimer:
        queue: list[InternalTimer] | None = getattr(self, "_queue", None)
        while queue:
            if self.get(queue[-1]):
                return queue[-1]
            queue.pop()
        timers = list(self)
        self.clear()
        self.update(dict.fromkeys(timers, True))
        self._queue = timers[::-1]
        return timers[0]

    def poll(self) -> InternalTimer:
        head = self.first()
        self._queue.pop()
        del self[head]
        return head
