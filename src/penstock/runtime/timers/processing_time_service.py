"""Processing time: what the clock says, and callbacks at set times. No thread: the task polls."""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum

from penstock.errors import ProcessingTimeServiceShutDownError
from penstock.runtime.timers.heap_priority_queue import NOT_IN_QUEUE, HeapPriorityQueue
from penstock.runtime.timestamp import MIN_TIMESTAMP

Clock = Callable[[], int]
"""Returns the time in milliseconds since the epoch."""

ProcessingTimeCallback = Callable[[int], None]
"""Is called with the time it was registered for, in milliseconds, however late it is."""


def system_clock() -> int:
    """Return the time of this machine, in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class MonotonicClock:
    """A clock that never goes back, though the one it reads may.

    Args:
        clock: The clock it reads.
        previous: What it showed last, in an earlier process perhaps, in milliseconds.

    Attributes:
        previous: What it showed last, in milliseconds.

    Example:
        >>> readings = iter([5, 3, 8])
        >>> clock = MonotonicClock(lambda: next(readings), previous=4)
        >>> clock(), clock(), clock()
        (5, 5, 8)
    """

    def __init__(self, clock: Clock = system_clock, previous: int = MIN_TIMESTAMP) -> None:
        self._clock = clock
        self.previous = previous

    def __call__(self) -> int:
        """Return the time in milliseconds: not less than at any call before."""
        self.previous = max(self.previous, self._clock())
        return self.previous


class ServiceStatus(Enum):
    """The life of a processing time service."""

    ALIVE = "alive"
    QUIESCED = "quiesced"
    SHUTDOWN = "shutdown"


class ScheduledCallback:
    """A callback that was registered; done when it was called or cancelled."""

    __slots__ = ("_callback", "_order", "_queue", "heap_index", "timestamp")

    def __init__(
        self,
        timestamp: int,
        callback: ProcessingTimeCallback,
        order: int,
        queue: HeapPriorityQueue[ScheduledCallback],
    ) -> None:
        self.timestamp = timestamp
        self.heap_index = NOT_IN_QUEUE
        self._callback = callback
        self._order = order
        self._queue = queue

    @property
    def is_pending(self) -> bool:
        """Whether the callback may yet be called."""
        return self in self._queue

    def cancel(self) -> bool:
        """Make sure that the callback will not be called; return whether it was pending."""
        was_pending = self.is_pending
        self._queue.remove(self)
        return was_pending

    def priority(self) -> tuple[int, int]:
        """Return what orders callbacks: their time, then their registration."""
        return self.timestamp, self._order

    def call(self) -> None:
        self._callback(self.timestamp)


class ProcessingTimeService(ABC):
    """Tells the time, and calls back at set times when it is polled.

    Attributes:
        status: Alive at first. Quiesced, it calls nothing any more, and what is registered is never
            called. Shut down, it takes no registrations.
    """

    def __init__(self) -> None:
        self.status = ServiceStatus.ALIVE
        self._orders = itertools.count()
        self._lookouts: list[Callable[[], None]] = []
        self._scheduled: HeapPriorityQueue[ScheduledCallback] = HeapPriorityQueue(
            ScheduledCallback.priority
        )

    @abstractmethod
    def current_processing_time(self) -> int:
        """Return the time in milliseconds since the epoch."""

    @abstractmethod
    def is_due(self, timestamp: int, now: int) -> bool:
        """Return whether what was registered for a time is to be called now."""

    def register_timer(self, timestamp: int, callback: ProcessingTimeCallback) -> ScheduledCallback:
        """Register a callback for a time in milliseconds; one in the past is called at the next poll.

        Raises:
            ProcessingTimeServiceShutDownError: If the service was shut down.
        """
        if self.status is ServiceStatus.SHUTDOWN:
            raise ProcessingTimeServiceShutDownError(
                f"A processing-time timer for {timestamp} was registered after the task had ended.",
                hint="Register timers in process_element or on_timer, not in close.",
            )
        scheduled = ScheduledCallback(timestamp, callback, next(self._orders), self._scheduled)
        if self.status is ServiceStatus.ALIVE:
            self._scheduled.add(scheduled)
        return scheduled

    def at_every_poll(self, lookout: Callable[[], None]) -> None:
        """Call something whenever the task polls: between blocks, and as epochs begin and end."""
        self._lookouts.append(lookout)

    def fire_due(self, now: int | None = None) -> int:
        """Call all that is due, the earliest first, also what these callbacks register.

        Args:
            now: The time in milliseconds; by default what the clock shows.

        Returns:
            How many callbacks were called.
        """
        for lookout in self._lookouts:
            lookout()
        if self._scheduled.is_empty():
            return 0
        if now is None:
            now = self.current_processing_time()
        count = 0
        while (head := self._scheduled.peek()) and self.is_due(head.timestamp, now):
            self._scheduled.poll()
            head.call()
            count += 1
        return count

    def next_timestamp(self) -> int | None:
        """Return the earliest time that a callback is registered for, None if there is none."""
        head = self._scheduled.peek()
        return None if head is None else head.timestamp

    def quiesce(self) -> None:
        """Call nothing any more: the task's input has ended."""
        if self.status is ServiceStatus.ALIVE:
            self.status = ServiceStatus.QUIESCED
        self._scheduled.clear()

    def shutdown(self) -> None:
        """Call nothing any more, and take no registrations."""
        self.status = ServiceStatus.SHUTDOWN
        self._scheduled.clear()


class SystemProcessingTimeService(ProcessingTimeService):
    """The processing time service of a running task.

    A callback for time T is called when the clock has passed T, so at least one millisecond later:
    as a watermark T says that nothing at or before T comes any more, so does a timer that fires.

    Args:
        clock: The clock, which must never go back.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def current_processing_time(self) -> int:
        return self._clock()

    def is_due(self, timestamp: int, now: int) -> bool:
        return timestamp < now


class TestProcessingTimeService(ProcessingTimeService):
    """A processing time service whose time stands still until it is moved.

    A callback for time T is called as soon as it is T.

    Args:
        now: The time at first, in milliseconds.

    Example:
        >>> service = TestProcessingTimeService()
        >>> _ = service.register_timer(5, lambda timestamp: print(f"called for {timestamp}"))
        >>> service.advance(4)
        >>> service.advance(4)
        called for 5
        >>> service.current_processing_time()
        8
    """

    __test__ = False  # This is not a test, whatever its name.

    def __init__(self, now: int = 0) -> None:
        super().__init__()
        self._now = now

    def current_processing_time(self) -> int:
        return self._now

    def is_due(self, timestamp: int, now: int) -> bool:
        return timestamp <= now

    def set_current_time(self, now: int) -> None:
        """Move the time to `now` (milliseconds), and call what is due."""
        self._now = now
        self.fire_due(now)

    def advance(self, milliseconds: int) -> None:
        """Move the time on, and call what is due."""
        self.set_current_time(self._now + milliseconds)
