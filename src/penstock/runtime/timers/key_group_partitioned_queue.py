"""A timer queue in RocksDB, made of one queue for each key group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from operator import attrgetter
from typing import Any

from penstock.runtime.timers.heap_priority_queue import NOT_IN_QUEUE, HeapPriorityQueue
from penstock.runtime.timers.internal_timer import InternalTimer, read_timers, write_timers
from penstock.runtime.timers.key_grouped_priority_queue import KeyGroupedInternalPriorityQueue
from penstock.runtime.timers.rocksdb_caching_priority_queue_set import (
    RocksDBCachingPriorityQueueSet,
)


class KeyGroupPartitionedPriorityQueue(KeyGroupedInternalPriorityQueue):
    """A heap of the queues of key groups, each of which brings its earliest timer.

    A queue whose head was removed keeps its place until it is the first in the heap: to find its new
    head may mean to read from a store, and it may well be removed too before it counts.

    Timers of one timestamp fire by key group, and within it in the order of its queue.

    Args:
        key_groups: The key groups of the subtask. Timers of others in a frame are left to others.
        key_group: Gives the key group of a key.
        make_queue: Makes the queue of a key group; there may be timers in it already.
    """

    def __init__(
        self,
        key_groups: range,
        key_group: Callable[[Any], int],
        make_queue: Callable[[int], RocksDBCachingPriorityQueueSet],
    ) -> None:
        self._key_group = key_group
        self._partitions = {group: _Partition(group, make_queue(group)) for group in key_groups}
        # Holds the partitions that have timers.
        self._heap: HeapPriorityQueue[_Partition] = HeapPriorityQueue(attrgetter("order"))
        for partition in self._partitions.values():
            self._head_changed(partition)
        # What an epoch touched: each timer with whether it is there now.
        self._changed: dict[InternalTimer, bool] = {}

    def peek(self) -> InternalTimer | None:
        partition = self._first()
        return None if partition is None else partition.queue.peek()

    def poll(self) -> InternalTimer | None:
        partition = self._first()
        if partition is None:
            return None
        timer = partition.queue.poll()
        assert timer is not None
        self._head_changed(partition)
        if self.tracks_changes:
            self._changed[timer] = False
        return timer

    def add(self, timer: InternalTimer) -> bool:
        partition = self._partitions[self._key_group(timer.key)]
        if self.tracks_changes:
            self._changed[timer] = True
        if not partition.queue.add(timer):
            return False
        self._head_changed(partition)
        return self._first() is partition

    def remove(self, timer: InternalTimer) -> bool:
        partition = self._partitions[self._key_group(timer.key)]
        if self.tracks_changes:
            self._changed[timer] = False
        first = self._heap.peek()
        if not partition.queue.remove(timer):
            return False
        partition.has_place = False
        return first is not None and (first is partition or not first.has_place)

    def size(self) -> int:
        return sum(partition.queue.size() for partition in self._heap)

    def iterate(self) -> Iterator[InternalTimer]:
        return chain.from_iterable(
            partition.queue.iterate() for partition in self._partitions.values()
        )

    def changes(self) -> Iterator[bytes]:
        return write_timers(self._changed.items())

    def forget_changes(self) -> None:
        self._changed.clear()

    def everything_in(self, key_groups: range) -> Iterator[bytes]:
        queues = (self._partitions[group].queue for group in key_groups)
        return write_timers((timer, None) for queue in queues for timer in queue.iterate())

    def apply(self, frame: bytes) -> None:
        for timer, is_present in read_timers(frame):
            partition = self._partitions.get(self._key_group(timer.key))
            if partition is None:
                continue
            queue = partition.queue
            if is_present is False:
                if queue.remove(timer):
                    partition.has_place = False
            elif queue.add(timer):
                self._head_changed(partition)

    def _first(self) -> _Partition | None:
        """Return the partition that has the earliest timer."""
        while (partition := self._heap.peek()) is not None and not partition.has_place:
            self._head_changed(partition)
        return partition

    def _head_changed(self, partition: _Partition) -> None:
        partition.has_place = True
        head = partition.queue.peek()
        if head is None:
            self._heap.remove(partition)
            return
        partition.order = (head.timestamp, partition.group)
        if partition in self._heap:
            self._heap.adjust(partition)
        else:
            self._heap.add(partition)


class _Partition:
    """One key group: its queue, and its place among the others.

    Attributes:
        has_place: Whether its place is that of its head; if not, its head is later.
    """

    __slots__ = ("group", "has_place", "heap_index", "order", "queue")

    def __init__(self, group: int, queue: RocksDBCachingPriorityQueueSet) -> None:
        self.group = group
        self.queue = queue
        self.heap_index = NOT_IN_QUEUE
        self.has_place = True
        self.order = (0, group)
