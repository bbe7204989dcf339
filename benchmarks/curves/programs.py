"""The programs whose growth is measured, and what they have to come to."""

# ruff: noqa: D102 - what overrides a documented method is documented

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from random import Random

from benchmarks.sides.calls import after_ten_ms
from benchmarks.sides.window_events import Event, add, amount_of, key_of, time_of

from penstock.common import Duration, Types, WatermarkStrategy
from penstock.datastream import (
    AsyncDataStream,
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    ValueStateDescriptor,
)
from penstock.datastream.window import SlidingEventTimeWindows

BUCKETS = 1_000
WINDOW_KEYS = 100
SLIDE = 1_000
CALL_TIMEOUT = 60_000


class Count(KeyedProcessFunction):
    """Emits how often a record's key has come, from a value state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield count


def itself(number: int) -> int:
    return number


def bucket(number: int) -> int:
    return number % BUCKETS


def plus_one(number: int) -> int:
    return number + 1


def counted(numbers: DataStream) -> DataStream:
    """Count the numbers themselves."""
    return numbers.key_by(itself).process(Count())


def counted_by_bucket(numbers: DataStream) -> DataStream:
    """Count 1,000 keys."""
    return numbers.key_by(bucket).process(Count())


def counted_by_bucket_to(records: int) -> tuple[int, int]:
    """What `counted_by_bucket` comes to over the numbers from 0."""
    each, more = divmod(records, BUCKETS)
    total = (BUCKETS - more) * each * (each + 1) // 2 + more * (each + 1) * (each + 2) // 2
    return records, total


def chained(length: int) -> Callable[[DataStream], DataStream]:
    """Add 1 in so many maps, one after the other."""

    def program(numbers: DataStream) -> DataStream:
        for _ in range(length):
            numbers = numbers.map(plus_one)
        return numbers

    return program


def exchanged(exchanges: int) -> Callable[[DataStream], DataStream]:
    """Add 1 behind each of so many exchanges."""

    def program(numbers: DataStream) -> DataStream:
        for _ in range(exchanges):
            numbers = numbers.key_by(itself).map(plus_one)
        return numbers

    return program


def added_to(records: int, ones: int) -> tuple[int, int]:
    """What the numbers from 0 come to, each with so many ones added."""
    return records, records * (records - 1) // 2 + ones * records


def slid(panes: int) -> Callable[[DataStream], DataStream]:
    """Add up events in windows that slide by a second and hold so many seconds."""

    def program(events: DataStream) -> DataStream:
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(0))
        timed = events.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(time_of))
        windows = SlidingEventTimeWindows.of(panes * SLIDE, SLIDE)
        return timed.key_by(key_of).window(windows).reduce(add).map(amount_of)

    return program


def events(first: int, count: int) -> list[Event]:
    """One event a millisecond, each with the amount 1; the keys take turns."""
    return [(number % WINDOW_KEYS, number, 1) for number in range(first, first + count)]


def slid_to(records: int, panes: int) -> tuple[int, int]:
    """What `slid` comes to over whole seconds of events."""
    seconds = records // (SLIDE)
    return WINDOW_KEYS * (seconds + panes - 1), records * panes


def asked(capacity: int) -> Callable[[DataStream], DataStream]:
    """Make a call of 10 ms for each number, so many at once."""

    def program(numbers: DataStream) -> DataStream:
        return AsyncDataStream.unordered_wait(numbers, after_ten_ms, CALL_TIMEOUT, capacity)

    return program


class KnownKeys:
    """Makes the epochs that bring new keys, and those of keys that are known, and counts along.

    Attributes:
        found: How many records it has made, and what `counted` comes to over them.
    """

    def __init__(self) -> None:
        self._counts = array("L")
        self._random = Random(1)
        self.found = 0, 0

    def __len__(self) -> int:
        return len(self._counts)

    def grown(self, keys: int) -> list[int]:
        """Records of keys that are new, until there are so many."""
        first = len(self._counts)
        self._counts.frombytes(bytes(self._counts.itemsize * (keys - first)))
        return self._seen(list(range(first, keys)))

    def chosen(self, records: int) -> list[int]:
        """So many records of keys that are known."""
        known, draw = len(self._counts), self._random.random
        return self._seen([int(draw() * known) for _ in range(records)])

    def _seen(self, keys: list[int]) -> list[int]:
        counts = self._counts
        total = 0
        for key in keys:
            counts[key] += 1
            total += counts[key]
        self.found = self.found[0] + len(keys), self.found[1] + total
        return keys
