from __future__ import annotations

from typing import ClassVar

import pytest
from tests.runtime.timers.test_internal_timer_service import Keys

from penstock.runtime.timers.heap_priority_queue_set import HeapPriorityQueueSet
from penstock.runtime.timers.internal_timer_service_manager import InternalTimerServiceManager
from penstock.runtime.timers.processing_time_service import TestProcessingTimeService


class Fixture:
    def __init__(self) -> None:
        self.keys = Keys()
        self.time = TestProcessingTimeService()
        self.queues: dict[str, HeapPriorityQueueSet] = {}
        self.manager = self.new_manager()

    def new_manager(self) -> InternalTimerServiceManager:
        return InternalTimerServiceManager(self.keys, self.queue, self.time)

    def queue(self, name: str) -> HeapPriorityQueueSet:
        return self.queues.setdefault(name, HeapPriorityQueueSet(lambda key: 0))


def test_a_name_has_one_service_with_two_queues() -> None:
    on = Fixture()
    service = on.manager.get_internal_timer_service("windows", on.keys)
    assert on.manager.get_internal_timer_service("windows", on.keys) is service
    assert len(on.queues) == 2
    assert on.manager.get_internal_timer_service("user", on.keys) is not service
    assert len(on.queues) == 4


def test_a_watermark_reaches_all_services_in_the_order_in_which_they_were_made() -> None:
    on = Fixture()
    for name, timestamp in [("second", 1), ("first", 2), ("third", 9)]:
        service = on.manager.get_internal_timer_service(name, on.keys)
        on.keys.current_key = name
        service.register_event_time_timer(None, timestamp)
    on.manager.advance_watermark(5)
    assert on.keys.take() == [(1, "second"), (2, "first")]
    assert service.current_watermark == 5


def test_timers_that_fire_are_counted() -> None:
    on = Fixture()
    on.keys.current_key = "a"
    for name in ("one", "other"):
        service = on.manager.get_internal_timer_service(name, on.keys)
        for timestamp in (1, 2, 9):
            service.register_event_time_timer(None, timestamp)
        service.register_processing_time_timer(None, 3)
    service.delete_event_time_timer(None, 2)
    on.manager.advance_watermark(5)
    assert (on.manager.take_fired(), on.manager.take_fired()) == (3, 0)
    on.time.advance(4)
    assert on.manager.take_fired() == 2


def test_all_services_resume() -> None:
    on = Fixture()
    on.keys.current_key = "a"
    on.manager.get_internal_timer_service("user", on.keys).register_processing_time_timer(None, 3)
    on.time = TestProcessingTimeService()
    manager = on.new_manager()
    service = manager.get_internal_timer_service("user", on.keys)
    manager.resume(7)
    assert service.current_watermark == 7
    on.time.set_current_time(3)
    assert on.keys.take() == [(3, "a")]


class CountedQueue(HeapPriorityQueueSet):
    """A queue that has to count its timers, which takes as long as the test says."""

    knows_size: ClassVar[bool] = False
    clock = 0.0
    seconds = 0.0
    counts = 0

    def size(self) -> int:
        CountedQueue.clock += self.seconds
        CountedQueue.counts += 1
        return super().size()


def test_timers_that_must_be_counted_take_a_hundredth_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("time.perf_counter", lambda: CountedQueue.clock)
    monkeypatch.setattr(CountedQueue, "clock", 1.0)
    monkeypatch.setattr(CountedQueue, "counts", 0)
    monkeypatch.setattr(CountedQueue, "seconds", 0.5)
    queues = {name: CountedQueue(lambda key: 0) for name in ("event", "processing")}
    keys = Keys()
    manager = InternalTimerServiceManager(
        keys, lambda name: queues[name.split()[0]], TestProcessingTimeService()
    )
    service = manager.get_internal_timer_service("user", keys)
    keys.current_key = "a"
    sizes: list[int] = []
    for seconds in (0, 90, 8, 2):
        service.register_event_time_timer(None, len(sizes))
        CountedQueue.clock += seconds
        sizes.append(manager.size())

    # Two queues take a second, so the next count comes a hundred seconds after the last began.
    assert sizes == [1, 1, 1, 4]
    assert CountedQueue.counts == 4


def test_timers_whose_number_is_known_are_never_stale() -> None:
    on = Fixture()
    service = on.manager.get_internal_timer_service("user", on.keys)
    on.keys.current_key = "a"
    sizes = []
    for timestamp in range(3):
        service.register_event_time_timer(None, timestamp)
        sizes.append(on.manager.size())

    assert sizes == [1, 2, 3]
