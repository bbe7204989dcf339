"""Registers timers under the current key, and fires them."""

from __future__ import annotations

import operator
from typing import Any, Protocol

from penstock.errors import InvalidTimerError
from penstock.runtime.timers.internal_timer import InternalTimer, new_timer
from penstock.runtime.timers.key_grouped_priority_queue import KeyGroupedInternalPriorityQueue
from penstock.runtime.timers.processing_time_service import (
    ProcessingTimeService,
    ScheduledCallback,
)
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP


class KeyContext(Protocol):
    """Knows under which key state and timers are kept at the moment."""

    @property
    def current_key(self) -> Any:
        """The key of the record or timer that is being processed."""

    def set_current_key(self, key: Any) -> None:
        """Let state and timers be those of another key."""


class Triggerable(Protocol):
    """Is told of timers that fire."""

    def on_event_time(self, timer: InternalTimer) -> None:
        """Do what is to be done for an event-time timer. Its key is the current one."""

    def on_processing_time(self, timer: InternalTimer) -> None:
        """Do what is to be done for a processing-time timer. Its key is the current one."""


class InternalTimerService:
    """The timers of one operator under one name: each is for a time, the current key and a namespace.

    Registering a timer twice makes one timer; deleting one that is not there does nothing. Timers
    may be registered and deleted while timers fire.

    Args:
        key_context: Tells and takes the current key.
        event_time_queue: Keeps the event-time timers.
        processing_time_queue: Keeps the processing-time timers.
        processing_time_service: Calls back when the first of these is due.
        triggerable: Is told of each timer that fires.
        at_end: Whether processing-time timers fire at the end of the input only, as in BATCH mode.

    Attributes:
        current_watermark: The last watermark, in milliseconds.
        fired: How many timers have fired.
    """

    def __init__(
        self,
        key_context: KeyContext,
        event_time_queue: KeyGroupedInternalPriorityQueue,
        processing_time_queue: KeyGroupedInternalPriorityQueue,
        processing_time_service: ProcessingTimeService,
        triggerable: Triggerable,
        *,
        at_end: bool = False,
    ) -> None:
        self._at_end = at_end
        self.current_watermark = MIN_TIMESTAMP
        self.fired = 0
        self.event_time_queue = event_time_queue
        self.processing_time_queue = processing_time_queue
        self._key_context = key_context
        self._processing_time_service = processing_time_service
        self._triggerable = triggerable
        self._next: ScheduledCallback | None = None

    def current_processing_time(self) -> int:
        """Return the time in milliseconds since the epoch."""
        return self._processing_time_service.current_processing_time()

    def register_event_time_timer(self, namespace: Any, timestamp: int) -> None:
        """Register a timer that fires when the watermark reaches a time (milliseconds).

        A timer for a time the watermark has reached already fires with the next watermark.

        Raises:
            InvalidTimerError: If the time is no integer of 64 bits.
        """
        self.event_time_queue.add(self._timer(namespace, timestamp))

    def delete_event_time_timer(self, namespace: Any, timestamp: int) -> None:
        """Delete an event-time timer of the current key, if there is one for that time.

        Raises:
            InvalidTimerError: If the time is no integer of 64 bits.
        """
        # What `_timer` does, without a call: to find a timer in memory costs enough.
        key = self._key_context.current_key
        if type(timestamp) is not int or not MIN_TIMESTAMP <= timestamp <= MAX_TIMESTAMP:
            timestamp = _checked(timestamp, key)
        self.event_time_queue.remove(new_timer((timestamp, key, namespace)))

    def register_processing_time_timer(self, namespace: Any, timestamp: int) -> None:
        """Register a timer that fires when the clock has passed a time (milliseconds).

        Raises:
            InvalidTimerError: If the time is no integer of 64 bits.
        """
        timer = self._timer(namespace, timestamp)
        if self.processing_time_queue.add(timer):
            self._schedule(timer.timestamp)

    def delete_processing_time_timer(self, namespace: Any, timestamp: int) -> None:
        """Delete a processing-time timer of the current key, if there is one for that time.

        Raises:
            InvalidTimerError: If the time is no integer of 64 bits.
        """
        # The service still calls at that time; nothing is due then.
        self.processing_time_queue.remove(self._timer(namespace, timestamp))

    def advance_watermark(self, timestamp: int) -> None:
        """Fire the event-time timers up to a watermark, and those they register up to there."""
        self.current_watermark = timestamp
        queue, set_current_key = self.event_time_queue, self._key_context.set_current_key
        on_event_time = self._triggerable.on_event_time
        while (timer := queue.poll_due(timestamp)) is not None:
            set_current_key(timer.key)
            self.fired += 1
            on_event_time(timer)

    def on_processing_time(self, timestamp: int) -> None:
        """Fire the processing-time timers up to a time, and those they register up to there."""
        self._next = None
        queue, set_current_key = self.processing_time_queue, self._key_context.set_current_key
        on_processing_time = self._triggerable.on_processing_time
        while (timer := queue.poll_due(timestamp)) is not None:
            set_current_key(timer.key)
            self.fired += 1
            on_processing_time(timer)
        head = queue.peek()
        if head is not None and self._next is None:
            self._schedule(head.timestamp)

    def fire_processing_time_timers(self) -> None:
        """Fire all processing-time timers: the end of the input is the end of time.

        What is registered meanwhile never fires.
        """
        queue, set_current_key = self.processing_time_queue, self._key_context.set_current_key
        known = set(queue.iterate())
        while (timer := queue.poll()) is not None:
            if timer in known:
                known.remove(timer)
                set_current_key(timer.key)
                self.fired += 1
                self._triggerable.on_processing_time(timer)

    def resume(self, watermark: int) -> None:
        """Take up the timers that the queues now hold, at a watermark that has fired all of its own.

        To be called whenever the queues were changed from elsewhere, as at the start of an epoch.
        """
        self.current_watermark = watermark
        head = self.processing_time_queue.peek()
        if head is not None:
            self._schedule(head.timestamp)

    def _schedule(self, timestamp: int) -> None:
        """Have the service call for the new head of the queue, and for no other timer."""
        if self._at_end:
            return
        if self._next is not None:
            self._next.cancel()
        self._next = self._processing_time_service.register_timer(
            timestamp, self.on_processing_time
        )

    def _timer(self, namespace: Any, timestamp: int) -> InternalTimer:
        if type(timestamp) is not int or not MIN_TIMESTAMP <= timestamp <= MAX_TIMESTAMP:
            timestamp = _checked(timestamp, self._key_context.current_key)
        return new_timer((timestamp, self._key_context.current_key, namespace))


def _checked(timestamp: Any, key: Any) -> int:
    """Return the integer that some other kind of integer stands for, such as NumPy's."""
    try:
        found = None if isinstance(timestamp, bool) else operator.index(timestamp)
    except TypeError:
        found = None
    if found is None:
        raise InvalidTimerError(
            f"A timer for the key {key!r} has a time that is no integer: {timestamp!r}.",
            hint="A time is an int: milliseconds since 1970-01-01 UTC.",
        )
    if MIN_TIMESTAMP <= found <= MAX_TIMESTAMP:
        return found
    raise InvalidTimerError(
        f"A timer for the key {key!r} has a time that does not fit into 64 bits: {found}.",
        hint="Times are in milliseconds; for a timer that fires at the end use 2**63 - 1.",
    )
