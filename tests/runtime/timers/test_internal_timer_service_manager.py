from __future__ import annotations

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
