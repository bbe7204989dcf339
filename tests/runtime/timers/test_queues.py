"""What all timer queues have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.timers.sorted_store import SortedStore
from tests.strategies import any_of, from_zero

from penstock.runtime.keys.key_groups import key_group
from penstock.runtime.timers.heap_priority_queue_set import HeapPriorityQueueSet
from penstock.runtime.timers.internal_timer import InternalTimer, read_timers
from penstock.runtime.timers.key_group_partitioned_queue import KeyGroupPartitionedPriorityQueue
from penstock.runtime.timers.key_grouped_priority_queue import KeyGroupedInternalPriorityQueue
from penstock.runtime.timers.rocksdb_caching_priority_queue_set import (
    RocksDBCachingPriorityQueueSet,
)
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP

MAX_PARALLELISM = 6


@dataclass(frozen=True)
class Span:
    start: int
    end: int


def group_of(key: Any) -> int:
    return key_group(key, MAX_PARALLELISM)


def heap_queue() -> HeapPriorityQueueSet:
    return HeapPriorityQueueSet(group_of)


def stored_queue(
    store: SortedStore | None = None, cache_size: int = 3
) -> KeyGroupPartitionedPriorityQueue:
    kept = SortedStore() if store is None else store
    return KeyGroupPartitionedPriorityQueue(
        range(MAX_PARALLELISM),
        group_of,
        lambda group: RocksDBCachingPriorityQueueSet(
            kept, bytes([group]), cache_size, is_new=store is None
        ),
    )


MAKERS: list[Callable[[], KeyGroupedInternalPriorityQueue]] = [heap_queue, stored_queue]
queues = pytest.mark.parametrize("make", MAKERS)

Maker = Callable[[], KeyGroupedInternalPriorityQueue]


def timer(timestamp: int, key: Any = "a", namespace: Any = None) -> InternalTimer:
    return InternalTimer(timestamp, key, namespace)


def drain(queue: KeyGroupedInternalPriorityQueue) -> list[InternalTimer]:
    found = []
    while (head := queue.peek()) is not None:
        polled = queue.poll()
        assert polled == head
        found.append(head)
    assert queue.poll() is None
    return found


@queues
def test_an_empty_queue(make: Maker) -> None:
    queue = make()
    assert queue.peek() is None
    assert queue.poll() is None
    assert queue.size() == 0
    assert list(queue.iterate()) == []
    assert list(queue.changes()) == list(queue.everything()) == []
    assert not queue.remove(timer(1))


@queues
def test_timers_come_by_timestamp(make: Maker) -> None:
    queue = make()
    times = [5, -3, 0, MAX_TIMESTAMP, -1, MIN_TIMESTAMP, 2**40]
    queue.add_all(map(timer, times))
    assert [found.timestamp for found in drain(queue)] == sorted(times)


@queues
def test_a_timer_registered_twice_is_one_timer(make: Maker) -> None:
    queue = make()
    assert queue.add(timer(5))
    assert not queue.add(timer(5))
    queue.add(timer(5, namespace=Span(0, 5)))
    queue.add(timer(5, "b"))
    queue.add(timer(6))
    queue.add(timer(5, namespace=Span(0, 5)))
    assert queue.size() == 4
    assert len(drain(queue)) == 4


@queues
def test_equal_keys_have_one_timer(make: Maker) -> None:
    queue = make()
    queue.add_all(timer(1, key) for key in (1, 1.0, True, Decimal(1)))
    queue.add_all(timer(2, key) for key in (("a", 2), ("a", 2.0)))
    assert queue.size() == 2
    queue.remove(timer(1, Decimal("1.0")))
    assert [(found.key, found.timestamp) for found in drain(queue)] == [(("a", 2), 2)]


@queues
def test_what_a_timer_belongs_to_comes_back_as_it_was(make: Maker) -> None:
    queue = make()
    timers = [
        timer(number, key, namespace)
        for number, (key, namespace) in enumerate(
            [(1, None), (1.5, Span(-1, 2)), (("a", None), "b"), (b"", 0), (None, None), ("", "")]
        )
    ]
    queue.add_all(timers)
    assert set(queue.iterate()) == set(timers)
    assert drain(queue) == timers


@queues
def test_add_and_remove_tell_whether_the_head_changed(make: Maker) -> None:
    queue = make()
    assert queue.add(timer(5))
    assert not queue.add(timer(7))
    assert queue.add(timer(3, "b"))
    assert not queue.remove(timer(4))
    assert not queue.remove(timer(7))
    assert not queue.remove(timer(3))
    assert queue.remove(timer(3, "b"))
    assert queue.peek() == timer(5)


@queues
def test_subsets_by_key_group_make_up_the_whole(make: Maker) -> None:
    queue = make()
    timers = {timer(number % 7, f"key {number}") for number in range(40)}
    queue.add_all(timers)
    queue.begin_index(begins=True)
    assert queue.advance_index(None)
    subsets = [
        {
            found
            for frame in queue.everything_in(range(group, group + 1))
            for found, _ in read_timers(frame)
        }
        for group in range(MAX_PARALLELISM)
    ]
    assert set.union(*subsets) == timers
    for group, subset in enumerate(subsets):
        assert all(group_of(found.key) == group for found in subset)


@queues
def test_no_changes_are_noted_where_nobody_will_read_them(make: Maker) -> None:
    queue = make()
    queue.tracks_changes = False
    queue.add_all([timer(1), timer(2)])
    queue.poll()
    queue.remove(timer(2))
    assert list(queue.changes()) == []


@queues
def test_frames_are_of_bounded_size(make: Maker) -> None:
    queue = make()
    queue.add_all(timer(number, f"key {number}") for number in range(10_000))
    frames = list(queue.everything())
    assert len(frames) > 2
    assert max(map(len, frames)) < 1 << 17
    copy = make()
    for frame in frames:
        copy.apply(frame)
    assert copy.size() == 10_000


@pytest.mark.parametrize("write", MAKERS)
@pytest.mark.parametrize("read", MAKERS)
def test_queues_of_one_kind_read_what_the_other_wrote(write: Maker, read: Maker) -> None:
    queue = write()
    queue.add_all(timer(number % 5, number) for number in range(30))
    copy = read()
    for frame in queue.everything():
        copy.apply(frame)
    assert set(copy.iterate()) == set(queue.iterate())
    assert list(copy.changes()) == []


TIMERS = [
    InternalTimer(*parts)
    for parts in product(
        [*from_zero(-4, 4), MIN_TIMESTAMP, MAX_TIMESTAMP],
        ["a", "b", 0, 1, True, 1.0, ("a", 1), None],
        [None, Span(0, 1), Span(0, 2)],
    )
]
OPERATIONS = st.lists(any_of(["add", "add", "add", "remove", "poll"], TIMERS), max_size=80)
Operations = list[tuple[str, InternalTimer]]


def run(queue: KeyGroupedInternalPriorityQueue, operations: Operations) -> None:
    for operation, touched in operations:
        if operation == "add":
            queue.add(touched)
        elif operation == "remove":
            queue.remove(touched)
        else:
            queue.poll()


@queues
@given(OPERATIONS)
def test_it_is_a_sorted_set(make: Maker, operations: Operations) -> None:
    queue, model = make(), set[InternalTimer]()
    for operation, touched in operations:
        head = queue.peek()
        if operation == "add":
            is_new_head = queue.add(touched)
            assert is_new_head == (queue.peek() != head)
            model.add(touched)
        elif operation == "remove":
            was_head = queue.remove(touched)
            assert was_head == (touched == head)
            model.discard(touched)
        elif head is not None:
            assert queue.poll() == head
            model.remove(head)
        least = min((found.timestamp for found in model), default=None)
        head = queue.peek()
        assert (None if head is None else head.timestamp) == least
        assert queue.size() == len(model)
    assert set(queue.iterate()) == model
    rest = drain(queue)
    assert [found.timestamp for found in rest] == sorted(found.timestamp for found in model)
    assert set(rest) == model


@queues
@given(OPERATIONS)
def test_it_is_a_sorted_set_if_nobody_asks_for_the_head(
    make: Maker, operations: Operations
) -> None:
    queue, model = make(), set[InternalTimer]()
    for operation, touched in operations:
        least = min((found.timestamp for found in model), default=None)
        heads = {found for found in model if found.timestamp == least}
        if operation == "add":
            is_new_head = queue.add(touched)
            if touched.timestamp != least:
                assert is_new_head == (least is None or touched.timestamp < least)
            model.add(touched)
        elif operation == "remove":
            assert queue.remove(touched) or heads != {touched}
            model.discard(touched)
        elif heads:
            head = queue.poll()
            assert head in heads
            model.remove(head)
    assert queue.size() == len(model)
    rest = drain(queue)
    assert [found.timestamp for found in rest] == sorted(found.timestamp for found in model)
    assert set(rest) == model


@queues
@given(st.lists(st.tuples(OPERATIONS, st.booleans()), max_size=4))
def test_a_copy_that_follows_the_changes_fires_alike(
    make: Maker, epochs: list[tuple[Operations, bool]]
) -> None:
    queue, copy = make(), make()
    for operations, reads_snapshot in epochs:
        run(queue, operations)
        if reads_snapshot:
            copy = make()
        for frame in queue.everything() if reads_snapshot else queue.changes():
            copy.apply(frame)
        queue.forget_changes()
        assert list(queue.changes()) == list(copy.changes()) == []
        assert set(copy.iterate()) == set(queue.iterate())
    assert drain(copy) == drain(queue)


@queues
@given(
    times=st.lists(st.tuples(st.integers(-2, 3), st.sampled_from("abc")), max_size=20),
    polled=st.integers(0, 3),
    until=st.integers(-3, 4),
)
def test_timers_of_one_time_are_taken_together_as_they_are_one_by_one(
    make: Maker, times: list[tuple[int, str]], polled: int, until: int
) -> None:
    queue, twin = make(), make()
    for each in (queue, twin):
        each.add_all(timer(time, key) for time, key in times)
        for _ in range(polled):
            each.poll()
        each.forget_changes()
    while together := queue.poll_together(until):
        assert len({found.timestamp for found in together}) == 1
        assert together == [twin.poll() for _ in together]
    head = twin.peek()
    assert head is None or head.timestamp > until
    assert queue.size() == twin.size()
    assert list(queue.changes()) == list(twin.changes())
    assert drain(queue) == drain(twin)
