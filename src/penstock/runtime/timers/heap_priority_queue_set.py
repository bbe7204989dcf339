"""A timer queue in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import chain
from typing import Any, Final

from penstock.runtime.keys.key_groups import GroupIndex
from penstock.runtime.keys.key_types import VOID_NAMESPACE
from penstock.runtime.timers.internal_timer import (
    InternalTimer,
    new_timer,
    read_timers,
    write_timers,
)
from penstock.runtime.timers.key_grouped_priority_queue import KeyGroupedInternalPriorityQueue

_FEW: Final = 64
_MANY: Final = 1024


class HeapPriorityQueueSet(KeyGroupedInternalPriorityQueue):
    """A timer queue in memory: distinct timestamps in order, and the timers of each timestamp.

    It has the contract of a binary heap of timers that know their index, and is several times as
    fast in Python: keeping order is the standard library's work, and timers that share a timestamp,
    such as those of a window's end, are ordered as one. Timers of one timestamp
    fire in the order in which they were registered. A timer's double can only be at the same
    timestamp, so that is where it is looked for.

    Of a timer that is alone at its timestamp and in no namespace only the key is kept: each object that a
    timer consists of is a place in memory that has to be fetched where timers are deleted in any order.

    Args:
        key_group: Gives the key group of a key.
    """

    knows_size = True

    def __init__(self, key_group: Callable[[Any], int]) -> None:
        self._key_group = key_group
        # At each timestamp several timers, or a single one, or the key of a single one in no namespace.
        self._timers: dict[int, InternalTimer | _Simultaneous | Any] = {}
        # The earliest of the timestamps in `_timers`, unless it went: then it is sought once it is asked
        # for. All of them are in the heap or in the run, some twice, with others whose timers are gone.
        # The run is in falling order: of many timestamps, the next is found faster at the end of a
        # sorted list than in a heap.
        self._first: int | None = None
        self._first_is_gone = False
        self._heap: list[int] = []
        self._run: list[int] = []
        # When the heap has grown to more than that, a look is due at how many of them are gone.
        self._limit = _FEW
        self._size = 0
        # What differs from the last version: the timers of it that went, whether or not they are back,
        # and those that came since and are still here, in their order.
        self._gone: list[InternalTimer] = []
        self._new: dict[InternalTimer, None] = {}
        self._index: GroupIndex[None, InternalTimer] | None = None

    def clear(self) -> None:
        self._timers.clear()
        self._first = None
        self._first_is_gone = False
        self._heap.clear()
        self._run.clear()
        self._limit = _FEW
        self._size = 0
        self._gone = []
        self._new = {}
        self._index = None

    def peek(self) -> InternalTimer | None:
        if self._first_is_gone:
            self._find_first()
        if self._first is None:
            return None
        timers = self._timers[self._first]
        return timers.first() if type(timers) is _Simultaneous else _single(self._first, timers)

    def poll(self) -> InternalTimer | None:
        if self._first_is_gone:
            self._find_first()
        return None if self._first is None else self._poll_at(self._first)

    def poll_due(self, timestamp: int) -> InternalTimer | None:
        if self._first_is_gone:
            self._find_first()
        first = self._first
        return None if first is None or first > timestamp else self._poll_at(first)

    def _poll_at(self, timestamp: int) -> InternalTimer:
        """Remove and return the first timer of the earliest timestamp."""
        timers = self._timers[timestamp]
        if type(timers) is _Simultaneous:
            head = timers.poll()
            if not timers:
                self._forget_timestamp(timestamp)
        else:
            head = _single(timestamp, timers)
            self._forget_timestamp(timestamp)
        self._size -= 1
        if self.tracks_changes:
            self._note_removed(head)
        return head

    def poll_together(self, timestamp: int) -> list[InternalTimer]:
        if self._first_is_gone:
            self._find_first()
        first = self._first
        if first is None or first > timestamp:
            return []
        timers = self._timers[first]
        found = list(_all(first, timers))
        self._forget_timestamp(first)
        self._size -= len(found)
        if self.tracks_changes:
            for timer in found:
                self._note_removed(timer)
        return found

    def add(self, timer: InternalTimer) -> bool:
        if not self._put(timer):
            return False
        if self.tracks_changes:
            self._new[timer] = None
        if self._first_is_gone:
            self._find_first()
        return self._first == timer[0] and type(self._timers[timer[0]]) is not _Simultaneous

    def remove(self, timer: InternalTimer) -> bool:
        timestamp, key, namespace = timer
        # Mostly it is alone at its timestamp: taken out first, it is looked for only once. And mostly in
        # no namespace: what `_is_single` would say of it is said here without a call.
        kept = self._timers.pop(timestamp, _NONE)
        if (
            kept == key and type(kept) is not InternalTimer
            if namespace is VOID_NAMESPACE
            else _is_single(kept, timer)
        ):
            self._size -= 1
            if timestamp == self._first:
                self._first_is_gone = True
            was_head = self._first_is_gone
        else:
            if kept is not _NONE:
                self._timers[timestamp] = kept
            was_head = self._first_is_gone or (self._first == timestamp and timer == self.peek())
            if not self._discard(timer):
                return False
        if self.tracks_changes:
            # What `_note_removed` does, without a call.
            new = self._new
            if new and timer in new:
                del new[timer]
            else:
                self._gone.append(timer)
        return was_head

    def size(self) -> int:
        return self._size

    def iterate(self) -> Iterator[InternalTimer]:
        for timestamp, timers in self._timers.items():
            yield from _all(timestamp, timers)

    def changes(self) -> Iterator[bytes]:
        gone, new = ((timer, False) for timer in self._gone), ((timer, True) for timer in self._new)
        return write_timers(chain(gone, new))

    def forget_changes(self) -> None:
        self._gone.clear()
        self._new.clear()

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
        return write_timers(
            (timer, None)
            for found in groups
            for _, timers in found
            for timer in timers
            if self._contains(timer)
        )

    def apply(self, frame: bytes) -> None:
        for timer, is_present in read_timers(frame):
            if is_present is None:
                self._put(timer)
                continue
            # A timer that is there already was removed and registered again: it goes to the end.
            self._discard(timer)
            if is_present:
                self._put(timer)

    def _note_removed(self, timer: InternalTimer) -> None:
        new = self._new
        if new and timer in new:
            del new[timer]
        else:
            self._gone.append(timer)

    def _contains(self, timer: InternalTimer) -> bool:
        timers = self._timers.get(timer[0], _NONE)
        return timer in timers if type(timers) is _Simultaneous else _is_single(timers, timer)

    def _put(self, timer: InternalTimer) -> bool:
        timestamp = timer[0]
        timers = self._timers.get(timestamp, _NONE)
        if timers is _NONE:
            self._timers[timestamp] = timer[1] if timer[2] is VOID_NAMESPACE else timer
            heap = self._heap
            heappush(heap, timestamp)
            if len(heap) > self._limit:
                self._look_for_gone()
            if self._first is None or timestamp < self._first:
                self._first = timestamp
        elif type(timers) is not _Simultaneous:
            if _is_single(timers, timer):
                return False
            known = _single(timestamp, timers)
            self._timers[timestamp] = _Simultaneous({known: False, timer: False})
        elif timer in timers:
            return False
        else:
            timers[timer] = False
        self._size += 1
        return True

    def _discard(self, timer: InternalTimer) -> bool:
        timestamp = timer[0]
        timers = self._timers.get(timestamp, _NONE)
        if type(timers) is not _Simultaneous:
            if not _is_single(timers, timer):
                return False
            self._forget_timestamp(timestamp)
        elif timer not in timers:
            return False
        else:
            del timers[timer]
            if not timers:
                self._forget_timestamp(timestamp)
        self._size -= 1
        return True

    def _forget_timestamp(self, timestamp: int) -> None:
        del self._timers[timestamp]
        if timestamp == self._first:
            self._first_is_gone = True

    def _find_first(self) -> None:
        """Find the earliest timestamp."""
        timers, heap, run = self._timers, self._heap, self._run
        is_loose = len(heap) + len(run) > 2 * len(timers) + _FEW
        if is_loose or len(heap) > len(run) + _MANY:
            self._join()
        while heap and heap[0] not in timers:
            heappop(heap)
        while run and run[-1] not in timers:
            run.pop()
        if heap and (not run or heap[0] < run[-1]):
            self._first = heap[0]
        else:
            self._first = run[-1] if run else None
        self._first_is_gone = False

    def _look_for_gone(self) -> None:
        """Let go of the timestamps whose timers are gone, if they are more than the others."""
        if len(self._heap) + len(self._run) > 2 * len(self._timers) + _FEW:
            self._join()
        self._limit = len(self._heap) + len(self._timers) + _FEW

    def _join(self) -> None:
        """Put all timestamps into the run."""
        self._heap.clear()
        self._run[:] = sorted(self._timers, reverse=True)


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


def _single(timestamp: int, kept: Any) -> InternalTimer:
    """Return the timer that stands for itself, or by its key alone, at a timestamp."""
    if type(kept) is InternalTimer:
        return kept
    return new_timer((timestamp, kept, VOID_NAMESPACE))


def _is_single(kept: Any, timer: InternalTimer) -> bool:
    """Return whether what is kept at the timestamp of a timer is that timer alone."""
    if timer[2] is VOID_NAMESPACE:
        return kept is timer[1] or (type(kept) not in _NO_KEYS and kept == timer[1])
    return type(kept) is InternalTimer and kept == timer


def _all(timestamp: int, kept: Any) -> Iterable[InternalTimer]:
    return kept if type(kept) is _Simultaneous else (_single(timestamp, kept),)


_NONE: Final = _Simultaneous()
"""Stands where no timer is."""

_NO_KEYS: Final = (InternalTimer, _Simultaneous)
