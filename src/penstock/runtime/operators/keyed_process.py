"""Process functions of keyed streams: with state and timers for each key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.elements import BLOCK_SIZE, Block
from penstock.runtime.keys.key_types import VOID_NAMESPACE
from penstock.runtime.objects.mutability import IMMUTABLE_TYPES, NO_PAIR, copied
from penstock.runtime.operator import BatchOrder
from penstock.runtime.operators.collector import Collector
from penstock.runtime.operators.function_operator import FunctionOperator
from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.timers.internal_timer import InternalTimer, TimeDomain
from penstock.runtime.timers.internal_timer_service import InternalTimerService
from penstock.runtime.timestamp import MAX_TIMESTAMP
from penstock.runtime.user_code import (
    FAILURES,
    described_failure,
    record_text,
    timer_callback,
)

_SERVICE: Final = "user-timers"


class UserTimers:
    """The timers of the current key, as a function of the user sees them.

    Args:
        service: Where they are registered.
        batch: Whether it is BATCH mode, in which timers registered at the end of time never fire.
    """

    def __init__(self, service: InternalTimerService, *, batch: bool = False) -> None:
        self._service = service
        self._batch = batch

    @property
    def _has_ended(self) -> bool:
        return self._batch and self._service.current_watermark == MAX_TIMESTAMP

    def current_processing_time(self) -> int:
        """Return the time in milliseconds since the epoch."""
        return self._service.current_processing_time()

    def current_watermark(self) -> int:
        """Return the last watermark in milliseconds."""
        return self._service.current_watermark

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Register a timer that fires when the clock has passed a time (milliseconds)."""
        if not self._has_ended:
            self._service.register_processing_time_timer(VOID_NAMESPACE, timestamp)

    def register_event_time_timer(self, timestamp: int) -> None:
        """Register a timer that fires when the watermark reaches a time (milliseconds)."""
        if not self._has_ended:
            self._service.register_event_time_timer(VOID_NAMESPACE, timestamp)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Delete the processing-time timer for a time (milliseconds), if there is one."""
        self._service.delete_processing_time_timer(VOID_NAMESPACE, timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Delete the event-time timer for a time (milliseconds), if there is one."""
        self._service.delete_event_time_timer(VOID_NAMESPACE, timestamp)


class KeyedProcessContext:
    """What a process function of a keyed stream may ask about the record or timer it is called with."""

    __slots__ = ("domain", "record_timestamp", "state", "timers")

    def __init__(self, state: KeyedStateBackend, timers: UserTimers) -> None:
        self.state = state
        self.timers = timers
        self.record_timestamp: int | None = None
        self.domain: TimeDomain | None = None

    def get_current_key(self) -> Any:
        """Return the key of the record or timer."""
        key = self.state.current_key
        # Most keys are of these two, and to compare is faster than to look up.
        if type(key) is int or type(key) is str or type(key) in IMMUTABLE_TYPES:
            return key
        return copied(key)

    def timestamp(self) -> int | None:
        """Return the timestamp of the record or timer in milliseconds, None if it has none."""
        return self.record_timestamp

    def timer_service(self) -> UserTimers:
        """Return the timers of the current key."""
        return self.timers

    def time_domain(self) -> TimeDomain | None:
        """Return which clock the timer that fires follows."""
        return self.domain


class KeyedProcessOperator(FunctionOperator):
    """Emits all that the user's function returns or yields, for records and for timers.

    A tuple of an `OutputTag` and a value goes to that side output. What a timer emits has the timer's
    timestamp.
    """

    method = "process_element"
    is_stateful = True
    batch_order = BatchOrder.BY_KEY

    @property
    def wants_wake_ups(self) -> bool:
        return timer_callback(self.function.function) is not None

    def open(self) -> None:
        assert self.timers is not None
        service = self.timers.get_internal_timer_service(_SERVICE, self)
        self._context = KeyedProcessContext(self.state, UserTimers(service, batch=self.batch))
        self._on_timer = timer_callback(self.function.function)
        super().open()

    def begin_epoch(self, epoch: Epoch) -> None:
        self._collector = Collector(self.output)

    def process_block(self, block: Block) -> None:
        self._process(block, self._call)

    def _process(self, block: Block, call: Callable[..., Any]) -> None:
        keys = self._keys_of(block)
        context, state, collector = self._context, self.state, self._collector
        is_plain = not state.works_for_every_record
        is_timed = block.timestamps is not None
        rest = iter(block.values)
        timestamps = block.timestamps or [None] * len(keys)
        found, times = collector.start(timed=is_timed)
        # The types of the last pair: if nobody could change that, nobody can change one like it.
        first: type | None = None
        second: type | None = None
        pair: type | None = tuple
        wide: type | None = None
        kind, fixed, length, size = type, IMMUTABLE_TYPES, len, BLOCK_SIZE
        try:
            # Each call less makes counting records a tenth faster.
            for value, key, timestamp in zip(rest, keys, timestamps, strict=True):
                if is_plain:
                    state.current_key = key
                else:
                    state.set_current_key(key)
                context.record_timestamp = timestamp
                results = call(value, context)
                if results is None:
                    continue
                for result in results:
                    try:
                        one, other = result if kind(result) is pair else NO_PAIR
                    except ValueError:  # wider tuples come, or narrower ones
                        pair, wide = None, tuple
                        one, other = NO_PAIR
                    if (
                        (kind(one) is not first or kind(other) is not second)
                        and kind(result) not in fixed
                        and (kind(result) is not wide or not fixed.issuperset(map(kind, result)))
                    ):
                        if kind(one) in fixed and kind(other) in fixed:
                            first, second = kind(one), kind(other)
                        elif not collector.is_to_gather(result, timestamp):
                            found, times = collector.lists
                            continue
                    found.append(result)
                    if times is not None:
                        times.append(timestamp)
                    if length(found) == size:
                        found, times = collector.start(timed=is_timed)
        except FAILURES as error:
            raise self._failure(error, block, rest) from error
        collector.flush()

    def _keys_of(self, block: Block) -> list[Any]:
        if block.keys is None:
            raise TypeError(f"{self.name!r} got records without keys.")
        return block.keys

    def process_watermark(self, timestamp: int) -> None:
        assert self.timers is not None
        self.timers.advance_watermark(timestamp)
        if self.batch and timestamp == MAX_TIMESTAMP:
            self.timers.fire_processing_time_timers()
        self._collector.flush()
        self.output.emit_watermark(timestamp)

    def on_event_time(self, timer: InternalTimer) -> None:
        """Call the user's function for an event-time timer."""
        self._fire(timer, TimeDomain.EVENT_TIME)

    def on_processing_time(self, timer: InternalTimer) -> None:
        """Call the user's function for a processing-time timer."""
        self._fire(timer, TimeDomain.PROCESSING_TIME)
        self._collector.flush()

    def _fire(self, timer: InternalTimer, domain: TimeDomain) -> None:
        if self._on_timer is None:
            return
        context = self._context
        context.record_timestamp = timer.timestamp
        context.domain = domain
        try:
            results = self._on_timer(timer.timestamp, context)
            if results is not None:
                self._collector.collect(results, timer.timestamp)
        except FAILURES as error:
            what = f"the timer for {timer.timestamp} of the key {record_text(timer.key)}"
            raise described_failure(error, self.name, what) from error
