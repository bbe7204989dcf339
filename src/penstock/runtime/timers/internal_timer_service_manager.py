"""All timer services of one operator."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from penstock.runtime.timers.internal_timer_service import (
    InternalTimerService,
    KeyContext,
    Triggerable,
)
from penstock.runtime.timers.key_grouped_priority_queue import KeyGroupedInternalPriorityQueue
from penstock.runtime.timers.processing_time_service import ProcessingTimeService

_SHARE: Final = 100
"""How many times as long as a count took the next one waits."""


class InternalTimerServiceManager:
    """Keeps the timer services of one operator, and tells all of them of watermarks.

    Services are told in the order in which they were made.

    Args:
        key_context: Tells and takes the current key.
        timer_queue: Returns the queue of a name.
        processing_time_service: Tells the time, and calls back when timers are due.
        at_end: Whether processing-time timers fire at the end of the input only, as in BATCH mode.
    """

    def __init__(
        self,
        key_context: KeyContext,
        timer_queue: Callable[[str], KeyGroupedInternalPriorityQueue],
        processing_time_service: ProcessingTimeService,
        *,
        at_end: bool = False,
    ) -> None:
        self._at_end = at_end
        self._key_context = key_context
        self._timer_queue = timer_queue
        self._processing_time_service = processing_time_service
        self._services: dict[str, InternalTimerService] = {}
        self._count = 0
        self._fired = 0
        self._next_count = 0.0

    def get_internal_timer_service(
        self, name: str, triggerable: Triggerable
    ) -> InternalTimerService:
        """Return the service of a name, made at the first call with what it tells of its timers."""
        service = self._services.get(name)
        if service is None:
            service = self._services[name] = InternalTimerService(
                self._key_context,
                self._timer_queue(f"event time timers of {name}"),
                self._timer_queue(f"processing time timers of {name}"),
                self._processing_time_service,
                triggerable,
                at_end=self._at_end,
            )
        return service

    @property
    def services(self) -> tuple[InternalTimerService, ...]:
        """All services, in the order in which they were made."""
        return tuple(self._services.values())

    def size(self) -> int:
        """Return the number of all timers.

        Where they have to be counted it is a count from not long ago, so that counting takes no more
        than a hundredth of the time.
        """
        queues = [
            queue
            for service in self._services.values()
            for queue in (service.event_time_queue, service.processing_time_queue)
        ]
        began = time.perf_counter()
        if began >= self._next_count or all(queue.knows_size for queue in queues):
            self._count = sum(queue.size() for queue in queues)
            took = time.perf_counter() - began
            self._next_count = began + _SHARE * took
        return self._count

    def take_fired(self) -> int:
        """Return how many timers have fired since the last call."""
        fired = sum(service.fired for service in self._services.values())
        gained, self._fired = fired - self._fired, fired
        return gained

    def advance_watermark(self, timestamp: int) -> None:
        """Fire all event-time timers up to a watermark (milliseconds), before it is forwarded."""
        for service in self._services.values():
            service.advance_watermark(timestamp)

    def fire_processing_time_timers(self) -> None:
        """Fire all processing-time timers, at the end of the input; none that these register."""
        for service in self._services.values():
            service.fire_processing_time_timers()

    def resume(self, watermark: int) -> None:
        """Take up what the queues now hold, at a watermark that has fired all of its own."""
        for service in self._services.values():
            service.resume(watermark)
