from __future__ import annotations

from tests.runtime.timers.sorted_store import SortedStore

from penstock.runtime.timers.internal_timer import InternalTimer, write_timers
from penstock.runtime.timers.key_group_partitioned_queue import KeyGroupPartitionedPriorityQueue
from penstock.runtime.timers.rocksdb_caching_priority_queue_set import (
    RocksDBCachingPriorityQueueSet,
)


def queue_of(groups: range, store: SortedStore) -> KeyGroupPartitionedPriorityQueue:
    return KeyGroupPartitionedPriorityQueue(
        groups,
        lambda key: int(key) % 10,
        lambda group: RocksDBCachingPriorityQueueSet(store, bytes([group]), 2),
    )


def timer(timestamp: int, key: int) -> InternalTimer:
    return InternalTimer(timestamp, key, None)


def test_timers_of_one_timestamp_fire_by_key_group() -> None:
    queue = queue_of(range(10), SortedStore())
    queue.add_all(timer(1, key) for key in (7, 3, 23, 13, 9, 0))
    queue.add(timer(0, 9))
    found = []
    while (head := queue.poll()) is not None:
        found.append(head.key)
    assert found == [9, 0, 3, 13, 23, 7, 9]


def test_timers_that_are_in_the_store_already_are_found() -> None:
    store = SortedStore()
    queue_of(range(10), store).add_all(timer(9 - key, key) for key in range(5))
    queue = queue_of(range(10), store)
    assert queue.peek() is not None
    assert queue.size() == 5
    assert queue.peek() == timer(5, 4)


def test_heads_are_looked_for_when_they_count() -> None:
    store = SortedStore()
    queue = queue_of(range(10), store)
    queue.add_all(timer(time, key) for key in range(10) for time in (1 + key, 30 + key, 60 + key))
    queue.peek()
    store.calls.clear()
    for key in range(1, 10):
        assert not queue.remove(timer(1 + key, key))
        assert not queue.remove(timer(30 + key, key))
    assert store.calls["scan"] == 0
    assert queue.remove(timer(1, 0))
    assert store.calls["scan"] == 0
    assert queue.peek() is not None
    assert store.calls["scan"] == 9
    assert queue.poll() == timer(30, 0)
    assert queue.add(timer(59, 9))
    found = []
    while (head := queue.poll()) is not None:
        found.append(head.timestamp)
    assert found == list(range(59, 70))
    assert queue.peek() is None


def test_a_removed_timer_may_have_been_the_head_if_nobody_knows_the_head() -> None:
    queue = queue_of(range(10), SortedStore())
    queue.add_all([timer(1, 1), timer(9, 1), timer(2, 2), timer(3, 3)])
    assert not queue.remove(timer(2, 2))
    assert queue.remove(timer(1, 1))
    assert queue.remove(timer(3, 3))
    assert queue.peek() == timer(9, 1)


def test_a_head_that_others_removed_is_not_polled() -> None:
    queue = queue_of(range(10), SortedStore())
    queue.add_all([timer(1, 1), timer(9, 1), timer(2, 2)])
    (frame,) = write_timers([(timer(1, 1), False)])
    queue.apply(frame)
    assert [queue.poll(), queue.poll(), queue.poll()] == [timer(2, 2), timer(9, 1), None]


def test_timers_of_other_key_groups_in_a_frame_are_left_to_others() -> None:
    (frame,) = write_timers((timer(1, key), True) for key in range(10))
    queue = queue_of(range(3, 6), SortedStore())
    queue.apply(frame)
    assert {found.key for found in queue.iterate()} == {3, 4, 5}
    (frame,) = write_timers((timer(1, key), False) for key in range(4))
    queue.apply(frame)
    assert queue.size() == 2
