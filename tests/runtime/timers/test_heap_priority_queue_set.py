from __future__ import annotations

import time
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.timers import heap_priority_queue_set
from penstock.runtime.timers.heap_priority_queue_set import HeapPriorityQueueSet
from penstock.runtime.timers.internal_timer import InternalTimer, read_timers


def queue_of(*timers: InternalTimer) -> HeapPriorityQueueSet:
    queue = HeapPriorityQueueSet(lambda key: 0)
    queue.add_all(timers)
    return queue


def timers(count: int, timestamp: int = 7) -> list[InternalTimer]:
    return [InternalTimer(timestamp, number, None) for number in range(count)]


def drain(queue: HeapPriorityQueueSet) -> list[InternalTimer]:
    found = []
    while (timer := queue.poll()) is not None:
        found.append(timer)
    return found


def test_timers_of_one_timestamp_come_in_the_order_of_registration() -> None:
    assert drain(queue_of(*timers(50))) == timers(50)


def test_a_timer_that_joins_its_like_while_they_fire_comes_last() -> None:
    queue = queue_of(*timers(3))
    assert queue.poll() == InternalTimer(7, 0, None)
    queue.add(InternalTimer(7, 0, None))
    queue.remove(InternalTimer(7, 1, None))
    assert [timer.key for timer in drain(queue)] == [2, 0]


def test_a_timer_that_is_registered_again_comes_last_whoever_has_looked() -> None:
    looked_at, other = (queue_of(*timers(3)) for _ in range(2))
    looked_at.peek()
    for queue in looked_at, other:
        for key in 0, 1:
            queue.remove(InternalTimer(7, key, None))
            queue.add(InternalTimer(7, key, None))
    assert [timer.key for timer in drain(looked_at)] == [2, 0, 1]
    assert [timer.key for timer in drain(other)] == [2, 0, 1]


def test_an_earlier_timer_interrupts_a_timestamp_that_fires() -> None:
    queue = queue_of(*timers(3))
    queue.poll()
    assert queue.add(InternalTimer(6, "early", None))
    assert [timer.key for timer in drain(queue)] == ["early", 1, 2]


def timestamps_kept(queue: HeapPriorityQueueSet) -> int:
    return len(queue._heap) + len(queue._run)


def test_timestamps_whose_timers_are_gone_take_no_room() -> None:
    queue = queue_of(InternalTimer(0, "a", None))
    for timestamp in (*range(1, 2_000), *[5] * 2_000):
        queue.add(InternalTimer(timestamp, "b", None))
        queue.remove(InternalTimer(timestamp, "b", None))
        assert timestamps_kept(queue) < 200
    assert drain(queue) == [InternalTimer(0, "a", None)]


def test_timestamps_whose_timers_are_gone_are_dropped_as_others_come() -> None:
    live = 1_000
    many = [InternalTimer(timestamp, "a", None) for timestamp in range(live)]
    queue = queue_of(*many)
    for timestamp in range(20 * live):
        queue.remove(InternalTimer(timestamp, "a", None))
        queue.add(InternalTimer(timestamp + live, "a", None))
        assert timestamps_kept(queue) <= 4 * live + 200
    for timer in many:
        queue.remove(timer)
    assert [timer.timestamp for timer in drain(queue)] == list(range(20 * live, 21 * live))


def test_many_timestamps_are_sorted_once_and_forgotten_when_their_timers_are() -> None:
    many = [InternalTimer(timestamp, "a", None) for timestamp in range(5_000)]
    queue = queue_of(*reversed(many))
    queue.peek()
    queue.poll()
    queue.peek()
    assert (len(queue._heap), len(queue._run)) == (0, 4_999)
    for timer in many[2:]:
        queue.remove(timer)
    queue.remove(many[1])
    queue.add(many[1])
    assert timestamps_kept(queue) < 100
    assert drain(queue) == [many[1]]


def test_many_timers_of_one_timestamp_are_polled_in_linear_time() -> None:
    queue = queue_of(*timers(20_000))
    before = time.process_time()
    for timer in timers(20_000):
        assert queue.poll() == timer
        queue.add(InternalTimer(7, ("again", timer.key), None))
    assert time.process_time() - before < 2


def test_timers_that_came_and_went_within_an_epoch_are_no_change() -> None:
    queue = queue_of(*timers(2))
    queue.forget_changes()
    queue.add(InternalTimer(1, "a", None))
    queue.poll()
    queue.add(InternalTimer(9, "a", None))
    queue.remove(InternalTimer(9, "a", None))
    assert list(queue.changes()) == []


def test_changes_say_what_came_and_what_went() -> None:
    queue = queue_of(*timers(2))
    queue.forget_changes()
    queue.poll()
    queue.add(InternalTimer(8, "a", None))
    (frame,) = queue.changes()
    assert list(read_timers(frame)) == [
        (InternalTimer(7, 0, None), False),
        (InternalTimer(8, "a", None), True),
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from(["add", "add", "remove", "poll"]), st.integers(0, 30)),
        max_size=100,
    )
)
def test_it_is_a_sorted_set_however_often_timestamps_are_sorted_anew(
    operations: list[tuple[str, int]],
) -> None:
    queue, model = queue_of(), set[int]()
    with (
        patch.object(heap_priority_queue_set, "_FEW", 3),
        patch.object(heap_priority_queue_set, "_MANY", 2),
    ):
        for operation, timestamp in operations:
            if operation == "add":
                queue.add(InternalTimer(timestamp, "a", None))
                model.add(timestamp)
            elif operation == "remove":
                queue.remove(InternalTimer(timestamp, "a", None))
                model.discard(timestamp)
            elif (head := queue.poll()) is not None:
                assert head.timestamp == min(model)
                model.remove(head.timestamp)
            head = queue.peek()
            assert (None if head is None else head.timestamp) == min(model, default=None)
            assert set(queue._heap) | set(queue._run) >= model
            assert queue._run == sorted(queue._run, reverse=True)
    assert [timer.timestamp for timer in drain(queue)] == sorted(model)
