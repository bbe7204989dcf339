"""What the functions of random programs do: they take and give records of a letter, a number and a time.

This file and `kinds.py` use nothing but what PyFlink has too: the other side runs these very files, with
`penstock` replaced by `pyflink` in their imports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.common import Types
from penstock.datastream import (
    AggregateFunction,
    AsyncFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeContext,
)
from penstock.datastream.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    WindowFunction,
)
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.datastream.window import SessionWindowTimeGapExtractor

Record = tuple[str, int, int]

RECORD = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
ODD = OutputTag("odd", RECORD)
LETTERS = "abcde"
MOST = 10_007


def letter(record: Record) -> str:
    return record[0]


class Letter(KeySelector):
    """Takes the key, as an object."""

    def get_key(self, value: Record) -> str:
        return value[0]


class Grow(MapFunction):
    """Changes the number.

    Args:
        by: By how much.
    """

    def __init__(self, by: int) -> None:
        self._by = by

    def open(self, runtime_context: RuntimeContext) -> None:
        self._most = MOST

    def map(self, value: Record) -> Record:
        return value[0], (value[1] + self._by) % self._most, value[2]


class Turn(MapFunction):
    """Changes the letter."""

    def map(self, value: Record) -> Record:
        return LETTERS[(value[1] + value[2]) % 5], value[1], value[2]


class Copies(FlatMapFunction):
    """Gives as many records as the number says.

    Args:
        most: Above how many none is given.
    """

    def __init__(self, most: int) -> None:
        self._most = most

    def flat_map(self, value: Record) -> Iterator[Record]:
        for index in range(value[1] % (self._most + 2)):
            yield value[0], (value[1] + index) % MOST, value[2]


class Wanted(FilterFunction):
    """Leaves some out.

    Args:
        by: Which.
    """

    def __init__(self, by: int) -> None:
        self._by = by

    def filter(self, value: Record) -> bool:
        return (value[1] + self._by) % 3 != 0


class Sort(ProcessFunction):
    """Gives odd numbers to a side output."""

    def process_element(self, value: Record, ctx: Any) -> Iterator[Any]:
        if value[1] % 2:
            yield OutputTag("odd"), value
        else:
            yield value


class Stamp(ProcessFunction):
    """Shows the record's timestamp in its number."""

    def process_element(self, value: Record, ctx: Any) -> Iterator[Record]:
        yield value[0], (value[1] * 3 + ctx.timestamp()) % MOST, value[2]


class Add(ReduceFunction):
    """Adds the numbers: the same in any order."""

    def reduce(self, value1: Record, value2: Record) -> Record:
        return value1[0], (value1[1] + value2[1]) % MOST, max(value1[2], value2[2])


class After(ReduceFunction):
    """Shows the order of records in the number."""

    def reduce(self, value1: Record, value2: Record) -> Record:
        return value1[0], (value1[1] * 31 + value2[1] + 7) % MOST, value2[2]


class Mean(AggregateFunction):
    """Computes a mean, in whole numbers: the same in any order."""

    def create_accumulator(self) -> tuple[int, int, int]:
        return 0, 0, 0

    def add(self, value: Record, accumulator: tuple[int, int, int]) -> tuple[int, int, int]:
        count, total, last = accumulator
        return count + 1, total + value[1], max(last, value[2])

    def get_result(self, accumulator: tuple[int, int, int]) -> Record:
        count, total, last = accumulator
        return "m", (total // max(count, 1) * 100 + count) % MOST, last

    def merge(self, acc_a: tuple[int, int, int], acc_b: tuple[int, int, int]) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1], max(acc_a[2], acc_b[2])


class Total(AggregateFunction):
    """Adds numbers."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator * 2

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def digest(records: Iterable[Record], *, ordered: bool) -> int:
    """Show records in a number, and their order if it is to matter."""
    found = 1
    for record in records if ordered else sorted(records):
        found = (found * 31 + record[1] + ord(record[0]) + record[2]) % MOST
    return found


class AllOfWindow(ProcessWindowFunction[Record, Record, str, Any]):
    """Gives a record for each window, of all its records and its bounds.

    Args:
        ordered: Whether the order of the records matters.
    """

    def __init__(self, ordered: bool) -> None:
        self._ordered = ordered

    def process(self, key: str, context: Any, elements: Iterable[Record]) -> Iterator[Record]:
        window = context.window()
        found = digest(elements, ordered=self._ordered)
        yield key, (found + window.start) % MOST, window.max_timestamp()


class CountOfWindow(ProcessWindowFunction[Record, Record, str, Any]):
    """Gives what a window has, and how many windows its key had: the same in any order of the windows."""

    def process(self, key: str, context: Any, elements: Iterable[Record]) -> Iterator[Record]:
        state = context.global_state().get_state(ValueStateDescriptor("windows", Types.INT()))
        count = state.value() or 0
        state.update(count + 1)
        yield key, count, 0

    def clear(self, context: Any) -> None:
        pass


class LabelWindow(WindowFunction[Record, Record, str, Any]):
    """Gives the results of a window with its end."""

    def apply(self, key: str, window: Any, inputs: Iterable[Record]) -> Iterator[Record]:
        for record in inputs:
            yield key, record[1], window.end


class EndOfWindow(ProcessWindowFunction[Record, Record, str, Any]):
    """Gives the result of a window with its start."""

    def process(self, key: str, context: Any, elements: Iterable[Record]) -> Iterator[Record]:
        for record in elements:
            yield key, record[1], context.window().start


class AllTogether(ProcessAllWindowFunction[Record, Record, Any]):
    """Gives a record for each window of all keys."""

    def process(self, context: Any, elements: Iterable[Record]) -> Iterator[Record]:
        yield "w", digest(elements, ordered=False), context.window().end


class EachTogether(AllWindowFunction[Record, Record, Any]):
    """Gives the least record of each window of all keys."""

    def apply(self, window: Any, inputs: Iterable[Record]) -> Iterator[Record]:
        yield min(inputs)


class GapOfNumber(SessionWindowTimeGapExtractor):
    """Has the gap of a session depend on the record."""

    def extract(self, element: Record) -> int:
        return 20 + element[1] % 5 * 15


class Running(KeyedProcessFunction):
    """Counts and adds the records of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))
        self._total = runtime_context.get_reducing_state(
            ReducingStateDescriptor("total", lambda one, other: one + other, Types.LONG())
        )

    def process_element(self, value: Record, ctx: Any) -> Iterator[Record]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        self._total.add(value[1])
        yield ctx.get_current_key(), ((self._total.get() or 0) * 7 + count) % MOST, value[2]


class LastThree(KeyedProcessFunction):
    """Shows the last records of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._last = runtime_context.get_list_state(ListStateDescriptor("last", Types.LONG()))
        self._twice = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("twice", Total(), Types.LONG())
        )

    def process_element(self, value: Record, ctx: Any) -> Iterator[Record]:
        self._last.add(value[1])
        self._twice.add(value[1])
        last = list(self._last.get())[-3:]
        self._last.update(last)
        if value[1] % 11 == 0:
            self._last.clear()
        yield (
            value[0],
            (digest([("l", n, 0) for n in last], ordered=True) + (self._twice.get() or 0)) % MOST,
            value[2],
        )


class Distinct(KeyedProcessFunction):
    """Gives each number of a key once, and how often it came before others."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._seen = runtime_context.get_map_state(
            MapStateDescriptor("seen", Types.LONG(), Types.INT())
        )

    def process_element(self, value: Record, ctx: Any) -> Iterator[Record]:
        number = value[1] % 7
        if self._seen.contains(number):
            self._seen.put(number, (self._seen.get(number) or 0) + 1)
            return
        self._seen.put(number, 1)
        total = sum(self._seen.values()) * 100 + len(list(self._seen.keys()))
        yield value[0], (total * 10 + number) % MOST, value[2]


class RunningMap(MapFunction):
    """Adds the records of each key, in a `map` of a keyed stream."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def map(self, value: Record) -> Record:
        total = (self._total.value() or 0) * 3 + value[1]
        self._total.update(total % MOST)
        return value[0], total % MOST, value[2]


class Buckets(KeyedProcessFunction):
    """Adds what comes in each bucket of time, by timers: windows by hand.

    Args:
        size: The size of a bucket, in milliseconds.
        again: How often a timer sets one more behind it.
    """

    def __init__(self, size: int, again: int) -> None:
        self._size = size
        self._again = again

    def open(self, runtime_context: RuntimeContext) -> None:
        self._sums = runtime_context.get_map_state(
            MapStateDescriptor("sums", Types.LONG(), Types.LONG())
        )
        self._left = runtime_context.get_map_state(
            MapStateDescriptor("left", Types.LONG(), Types.INT())
        )

    def process_element(self, value: Record, ctx: Any) -> None:
        end = ctx.timestamp() - ctx.timestamp() % self._size + self._size - 1
        self._sums.put(end, (self._sums.get(end) or 0) + value[1])
        self._left.put(end, self._again)
        timers = ctx.timer_service()
        timers.register_event_time_timer(end)
        timers.register_event_time_timer(end + 1)
        timers.delete_event_time_timer(end + 1)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Record]:
        if not self._sums.contains(timestamp):
            return
        total = self._sums.get(timestamp) or 0
        left = self._left.get(timestamp) or 0
        self._sums.remove(timestamp)
        self._left.remove(timestamp)
        yield ctx.get_current_key(), (total + left) % MOST, ctx.timestamp()
        behind = timestamp + self._size * 1_000
        if left:
            self._sums.put(behind, total)
            self._left.put(behind, left - 1)
            ctx.timer_service().register_event_time_timer(behind)


class BothMap(CoMapFunction):
    """Marks where a record comes from; gives nothing for some."""

    def map1(self, value: Record) -> Record:
        return value[0], (value[1] * 2) % MOST, value[2]

    def map2(self, value: Record) -> Record | None:
        return None if value[1] % 4 == 0 else ("x", value[1], value[2])


class BothFlatMap(CoFlatMapFunction):
    """Copies what comes from the first."""

    def flat_map1(self, value: Record) -> Iterator[Record]:
        yield value
        yield "y", value[1], value[2]

    def flat_map2(self, value: Record) -> Iterator[Record]:
        if value[1] % 3:
            yield value


class BothProcess(CoProcessFunction):
    """Shows the timestamps of both."""

    def process_element1(self, value: Record, ctx: Any) -> Iterator[Record]:
        yield value[0], (value[1] + ctx.timestamp()) % MOST, value[2]

    def process_element2(self, value: Record, ctx: Any) -> Iterator[Any]:
        yield OutputTag("odd"), value
        yield value[0], (value[1] - ctx.timestamp()) % MOST, value[2]


class BothBuckets(KeyedCoProcessFunction):
    """Joins what both have in each bucket of time.

    Args:
        size: The size of a bucket, in milliseconds.
    """

    def __init__(self, size: int) -> None:
        self._size = size

    def open(self, runtime_context: RuntimeContext) -> None:
        self._sums, self._counts = (
            runtime_context.get_map_state(MapStateDescriptor(name, Types.LONG(), Types.LONG()))
            for name in ("sums", "counts")
        )

    def _take(self, state: Any, number: int, ctx: Any) -> None:
        end = ctx.timestamp() // self._size * self._size + self._size
        state.put(end, (state.get(end) or 0) + number)
        ctx.timer_service().register_event_time_timer(end)

    def process_element1(self, value: Record, ctx: Any) -> None:
        self._take(self._sums, value[1], ctx)

    def process_element2(self, value: Record, ctx: Any) -> None:
        self._take(self._counts, 1, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Record]:
        if not self._sums.contains(timestamp) and not self._counts.contains(timestamp):
            return
        total = self._sums.get(timestamp) or 0
        count = self._counts.get(timestamp) or 0
        self._sums.remove(timestamp)
        self._counts.remove(timestamp)
        yield ctx.get_current_key(), (total * 13 + count) % MOST, timestamp


class Ask(AsyncFunction[Record, Record]):
    """Answers at once.

    Args:
        most: Up to how many answers there are.
    """

    def __init__(self, most: int) -> None:
        self._most = most

    async def async_invoke(self, value: Record) -> list[Record]:
        return [
            (value[0], (value[1] + index) % MOST, value[2])
            for index in range(value[1] % self._most + 1)
        ]
