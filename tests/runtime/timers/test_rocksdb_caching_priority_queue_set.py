from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.timers.sorted_store import SortedStore

from penstock.runtime.timers.internal_timer import InternalTimer
from penstock.runtime.timers.rocksdb_caching_priority_queue_set import (
    RocksDBCachingPriorityQueueSet,
)

PREFIX = b"\x00\x05"


def timer(timestamp: int) -> InternalTimer:
    return InternalTimer(timestamp, "a", None)


def queue_on(store: SortedStore, cache_size: int = 3) -> RocksDBCachingPriorityQueueSet:
    return RocksDBCachingPriorityQueueSet(store, PREFIX, cache_size)


def polled(queue: RocksDBCachingPriorityQueueSet) -> list[int]:
    found = []
    while (head := queue.poll()) is not None:
        found.append(head.timestamp)
    return found


def test_it_is_written_through() -> None:
    store = SortedStore()
    queue = queue_on(store)
    for timestamp in (5, 1, 3, 9, 2, 7):
        queue.add(timer(timestamp))
    assert len(store.names) == 6
    queue.remove(timer(3))
    queue.remove(timer(9))
    queue.poll()
    assert len(store.names) == 3
    assert polled(queue_on(store)) == [2, 5, 7]


def test_what_the_store_holds_already_is_found() -> None:
    store = SortedStore()
    for timestamp in range(10):
        queue_on(store).add(timer(timestamp))
    queue = queue_on(store)
    assert queue.size() == 10
    assert queue.peek() == timer(0)
    assert polled(queue) == list(range(10))


def test_a_new_queue_does_not_read_the_store_before_its_cache_is_full() -> None:
    store = SortedStore()
    queue = RocksDBCachingPriorityQueueSet(store, PREFIX, 3, is_new=True)
    assert (queue.peek(), queue.size(), list(queue.iterate())) == (None, 0, [])
    for timestamp in (5, 1, 3):
        queue.add(timer(timestamp))
    assert [found.timestamp for found in queue.iterate()] == [1, 3, 5]
    queue.remove(timer(3))
    assert (queue.size(), polled(queue)) == (2, [1, 5])
    assert store.calls["scan"] == 0

    for timestamp in range(9):
        queue.add(timer(timestamp))
    assert queue.size() == 9
    assert polled(queue) == list(range(9))


def test_the_neighbours_in_the_store_are_left_alone() -> None:
    store = SortedStore()
    neighbours = [b"\x00\x04\xff", b"\x00\x06"]
    for name in neighbours:
        store.put(name)
    queue = queue_on(store)
    assert queue.peek() is None
    queue.add(timer(-(2**63)))
    assert [found.timestamp for found in queue.iterate()] == [-(2**63)]
    assert polled(queue) == [-(2**63)]
    assert store.names == neighbours


def test_the_cache_is_bounded_and_below_all_else() -> None:
    store = SortedStore()
    queue = queue_on(store, cache_size=4)
    for timestamp in (50, 40, 30, 20, 10, 25, 60, 5):
        queue.add(timer(timestamp))
        assert len(queue._cache) <= 4
        assert queue._cache == store.names[: len(queue._cache)]


def test_a_small_queue_lives_in_the_cache() -> None:
    store = SortedStore()
    queue = queue_on(store, cache_size=10)
    for round_ in range(5):
        for number in range(9):
            queue.add(timer(10 * round_ + number))
        polled(queue)
    assert store.calls["scan"] == 1


def test_the_head_is_read_once() -> None:
    store = SortedStore()
    for timestamp in (1, 2):
        queue_on(store).add(timer(timestamp))
    queue = queue_on(store)
    for _ in range(5):
        assert queue.peek() == timer(1)
    assert queue.poll() == timer(1)
    assert store.calls["get"] == 1
    assert queue.add(timer(0))
    assert queue.poll() == timer(0)
    assert store.calls["get"] == 1


def test_what_is_known_not_to_be_there_is_not_deleted() -> None:
    store = SortedStore()
    queue = queue_on(store)
    for timestamp in (1, 3, 5, 7):
        queue.add(timer(timestamp))
    queue.remove(timer(2))
    assert store.calls["delete"] == 0
    queue.remove(timer(6))
    assert store.calls["delete"] == 1


def test_nothing_is_read_to_remove() -> None:
    store = SortedStore()
    queue = queue_on(store, cache_size=2)
    for timestamp in range(6):
        queue.add(timer(timestamp))
    store.calls.clear()
    for timestamp in (1, 0, 3, 2, 5):
        queue.remove(timer(timestamp))
    assert store.calls["scan"] == store.calls["get"] == 0
    assert polled(queue) == [4]


def test_a_scan_begins_behind_what_was_polled() -> None:
    store = SortedStore()
    queue = queue_on(store, cache_size=2)
    for timestamp in range(6):
        queue.add(timer(timestamp))
    gone = list(store.names)
    polled(queue)
    assert store.scanned_from == [PREFIX, gone[1], gone[3], gone[5]]


@given(
    st.integers(1, 4),
    st.lists(
        st.tuples(
            st.sampled_from(["add", "add", "remove", "poll", "peek", "reopen"]), st.integers(0, 15)
        ),
        max_size=60,
    ),
)
def test_it_is_a_sorted_set_at_any_cache_size(
    cache_size: int, operations: list[tuple[str, int]]
) -> None:
    store = SortedStore()
    queue, model = queue_on(store, cache_size), set[int]()
    for operation, timestamp in operations:
        least = min(model, default=None)
        if operation == "add":
            assert queue.add(timer(timestamp)) == (least is None or timestamp < least)
            model.add(timestamp)
        elif operation == "remove":
            knows_head = bool(queue._cache) or queue._all_in_cache
            assert queue.remove(timer(timestamp)) == (timestamp == least or not knows_head)
            model.discard(timestamp)
        elif operation == "reopen":
            queue = queue_on(store, cache_size)
        else:
            head = queue.poll() if operation == "poll" else queue.peek()
            assert (None if head is None else head.timestamp) == least
            if operation == "poll":
                model.discard(least if least is not None else -1)
        assert queue._cache == store.names[: len(queue._cache)]
        assert len(queue._cache) <= cache_size
        assert len(store.names) == queue.size() == len(model)
    assert polled(queue) == sorted(model)
