"""The programs whose instructions are counted, and the process that is counted while it runs them.

    python benchmarks/instructions_programs.py --records 2048 NAME ...
    python benchmarks/instructions_programs.py --records 2048 --results NAME ...

Each program runs twice, with so many records and with twice as many, each time in a process that is forked
from this one, so that nothing is imported twice. A line for each says which process it was. All that a program
does for its records it does in other threads than the first one.

With `--results` there is a line with a digest of what each program gives, and nothing is forked.
"""

# ruff: noqa: D102 - the first lines of the programs' docstrings are the names that readers see

from __future__ import annotations

import argparse
import gc
import hashlib
import itertools
import json
import os
import queue
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.sides import functions

from penstock.common import Time, Types, WatermarkStrategy
from penstock.datastream import (
    AggregateFunction,
    AsyncDataStream,
    DataStream,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    KeyedProcessFunction,
    KeyedStream,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    SinkFunction,
    ValueStateDescriptor,
)
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.testing import local_environment

KEYS = 100
WINDOW = Time.milliseconds(1_000)
SLIDING = Time.milliseconds(4_000)
GAP = Time.milliseconds(150)
"""Records of a key are 100 ms apart, one a millisecond: a session goes on to the end."""
TICK = 0.2
"""How many seconds pass between two looks at the clock: enough for a watermark."""
PATIENCE = 60.0

Program = Callable[[DataStream], DataStream]
"""Makes a stream of the numbers from 1."""

Pair = tuple[int, int]
Record = dict[str, Any]

SEEN = {"records": 0}
"""What functions reach that reach more than their arguments."""


def key_of_number(number: int) -> int:
    return number % KEYS


def pair(number: int) -> Pair:
    return number % KEYS, number


def first(record: Pair) -> int:
    return record[0]


def second(record: Pair) -> int:
    return record[1]


def add(known: Pair, new: Pair) -> Pair:
    return known[0], known[1] + new[1]


def time_of(record: Pair, _: int | None) -> int:
    return record[1]


class Counting(KeyedProcessFunction):
    """Counts a key's records in a value state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Pair]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


class Averaging(KeyedProcessFunction):
    """Keeps count and sum as a pair."""

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("known", Types.PICKLED_BYTE_ARRAY())
        self.known = runtime_context.get_state(descriptor)

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        count, total = self.known.value() or (0, 0)
        self.known.update((count + 1, total + value))
        yield total


class Waking(KeyedProcessFunction):
    """Registers a timer for each record's second."""

    def process_element(self, value: Pair, ctx: KeyedProcessFunction.Context) -> Iterator[Pair]:
        ctx.timer_service().register_event_time_timer(value[1] // 1_000 * 1_000 + 1_000)
        yield value

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Pair]:
        yield ctx.get_current_key(), timestamp


class Splitting(ProcessFunction):
    """Makes a pair of a number."""

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Pair]:
        yield value % KEYS, value


class Total(AggregateFunction):
    """Count and sum, as a pair."""

    def create_accumulator(self) -> Pair:
        return 0, 0

    def add(self, value: Pair, accumulator: Pair) -> Pair:
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator: Pair) -> Pair:
        return accumulator

    def merge(self, acc_a: Pair, acc_b: Pair) -> Pair:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Number(ProcessWindowFunction[Pair, Pair, int, Any]):
    """How many records a window has."""

    def process(
        self, key: int, context: ProcessWindowFunction.Context[Any], elements: Iterable[Pair]
    ) -> Iterator[Pair]:
        yield key, len(list(elements))


async def answer(record: Pair) -> list[Pair]:
    return [record]


def by_key(numbers: DataStream) -> KeyedStream:
    return numbers.map(pair).key_by(first)


def timed(numbers: DataStream) -> KeyedStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(time_of)
    return numbers.map(pair).assign_timestamps_and_watermarks(strategy).key_by(first)


def ten_maps(numbers: DataStream) -> DataStream:
    """Ten maps in a chain."""
    stream = numbers.map(functions.pair)
    for step in range(1, 10):
        stream = stream.map(getattr(functions, f"step_{step}"))
    return stream


def six_functions(numbers: DataStream) -> DataStream:
    """Numbers: map, map, filter, `key_by`, `reduce`, filter."""
    wanted = numbers.map(functions.spread).map(functions.bucket).filter(functions.is_wanted)
    return wanted.key_by(functions.key_of).reduce(functions.add).filter(functions.is_even)


def reduced_pairs(numbers: DataStream) -> DataStream:
    """Pairs: `key_by`, `reduce`."""
    return by_key(numbers).reduce(add)


def flat_map(numbers: DataStream) -> DataStream:
    """`flat_map` to two numbers, filter, `flat_map`."""
    return numbers.flat_map(lambda n: [n, n + 1]).filter(lambda n: n % 2).flat_map(lambda n: (n,))


def process(numbers: DataStream) -> DataStream:
    """`process` without keys, map."""
    return numbers.process(Splitting()).map(second)


def union(numbers: DataStream) -> DataStream:
    """A stream of pairs in two branches, and their union."""
    pairs = numbers.map(pair)
    return pairs.map(first).union(pairs.map(second)).map(str)


def counting(numbers: DataStream) -> DataStream:
    """Counting in keyed state, in memory."""
    return numbers.key_by(key_of_number).process(Counting())


def counting_in_rocksdb(numbers: DataStream) -> DataStream:
    """Counting in keyed state, in RocksDB."""
    numbers.get_execution_environment().set_state_backend(EmbeddedRocksDBStateBackend())
    return counting(numbers)


def state_of_pairs(numbers: DataStream) -> DataStream:
    """Pairs in keyed state."""
    return numbers.key_by(key_of_number).process(Averaging())


def timers(numbers: DataStream) -> DataStream:
    """Timers of event time."""
    return timed(numbers).process(Waking())


def tumbling_reduce(numbers: DataStream) -> DataStream:
    """Tumbling windows of pairs: `reduce`."""
    return timed(numbers).window(TumblingEventTimeWindows.of(WINDOW)).reduce(add)


def tumbling_aggregate(numbers: DataStream) -> DataStream:
    """Tumbling windows of pairs: `aggregate`."""
    return timed(numbers).window(TumblingEventTimeWindows.of(WINDOW)).aggregate(Total())


def tumbling_process(numbers: DataStream) -> DataStream:
    """Tumbling windows of pairs: `process`."""
    return timed(numbers).window(TumblingEventTimeWindows.of(WINDOW)).process(Number())


def sliding_reduce(numbers: DataStream) -> DataStream:
    """Sliding windows of pairs: `reduce`."""
    return timed(numbers).window(SlidingEventTimeWindows.of(SLIDING, WINDOW)).reduce(add)


def sliding_aggregate(numbers: DataStream) -> DataStream:
    """Sliding windows of pairs: `aggregate`."""
    return timed(numbers).window(SlidingEventTimeWindows.of(SLIDING, WINDOW)).aggregate(Total())


def session_reduce(numbers: DataStream) -> DataStream:
    """Session windows of pairs: `reduce`."""
    return timed(numbers).window(EventTimeSessionWindows.with_gap(GAP)).reduce(add)


def session_aggregate(numbers: DataStream) -> DataStream:
    """Session windows of pairs: `aggregate`."""
    return timed(numbers).window(EventTimeSessionWindows.with_gap(GAP)).aggregate(Total())


def asynchronous(numbers: DataStream) -> DataStream:
    """Asynchronous calls that return pairs at once, ordered."""
    return AsyncDataStream.ordered_wait(numbers.map(pair), answer, Time.seconds(10), 1_000)


FIXED: tuple[Program, ...] = (
    *(ten_maps, six_functions, reduced_pairs, flat_map, process, union),
    *(counting, counting_in_rocksdb, state_of_pairs, timers),
    *(tumbling_reduce, tumbling_aggregate, tumbling_process),
    *(sliding_reduce, sliding_aggregate, session_reduce, session_aggregate, asynchronous),
)
"""Those whose values nobody can change."""


@dataclass
class Item:
    """An object of a class as most are."""

    key: int
    number: int


class Marking(ProcessFunction):
    """Changes its record, and gives it out."""

    def process_element(self, value: Record, ctx: ProcessFunction.Context) -> Iterator[Record]:
        value["more"] = value["number"] + 1
        yield value


class Extending(ProcessFunction):
    """Makes another record of its own."""

    def process_element(self, value: Record, ctx: ProcessFunction.Context) -> Iterator[Record]:
        yield {**value, "all": 2}


class Remembering(KeyedProcessFunction):
    """Changes the dict that it holds in state, and gives it out."""

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("known", Types.PICKLED_BYTE_ARRAY())
        self.known = runtime_context.get_state(descriptor)

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Record]:
        known = self.known.value() or {"count": 0, "total": 0}
        known["count"] += 1
        known["total"] += value
        self.known.update(known)
        yield known


TEXTS = [json.dumps({"key": n, "number": n, "tags": ["a", "b"]}) for n in range(KEYS)]


def record(number: int) -> Record:
    return {"key": number % 100, "number": number, "name": "pen", "price": 2.5}


def counted_record(number: int) -> Record:
    SEEN["records"] += 1
    return {"key": number % 100, "number": number, "name": "pen", "price": 2.5}


def counted_tree(number: int) -> Record:
    SEEN["records"] += 1
    return {"key": number % 100, "number": number, "tags": ["a", "b"], "at": {"x": 1, "y": 2}}


def counted_list(number: int) -> list[int]:
    SEEN["records"] += 1
    return [number % 100, number]


def counted_item(number: int) -> Item:
    SEEN["records"] += 1
    return Item(number % 100, number)


def parsed(number: int) -> Any:
    return json.loads(TEXTS[number % KEYS])


def key_of(known: Record) -> Any:
    return known["key"]


def number_of(known: Record) -> Any:
    return known["number"]


def number_as_time(known: Record, _: int | None) -> Any:
    return known["number"]


def add_records(known: Record, new: Record) -> Record:
    return {"key": known["key"], "number": known["number"] + new["number"]}


def add_in_place(known: Record, new: Record) -> Record:
    known["number"] += new["number"]
    return known


def chain_of_dicts(numbers: DataStream) -> DataStream:
    """Dicts: map, `process`, map, `process`, map."""
    made = numbers.map(record).process(Marking())
    return made.map(lambda r: {**r, "seen": SEEN["records"]}).process(Extending()).map(number_of)


def plain_dicts(numbers: DataStream) -> DataStream:
    """Dicts that functions make of their arguments alone: `key_by`, map."""
    return numbers.map(record).key_by(key_of).map(number_of)


def dicts(numbers: DataStream) -> DataStream:
    """Dicts of a function that counts in a global dict: `key_by`, map."""
    return numbers.map(counted_record).key_by(key_of).map(number_of)


def trees(numbers: DataStream) -> DataStream:
    """Dicts with a list and a dict in them: `key_by`, map."""
    return numbers.map(counted_tree).key_by(key_of).map(number_of)


def lists(numbers: DataStream) -> DataStream:
    """Lists: `key_by`, map."""
    return numbers.map(counted_list).key_by(lambda r: r[0]).map(lambda r: r[1])


def objects(numbers: DataStream) -> DataStream:
    """Objects of a class of the program's: `key_by`, map."""
    return numbers.map(counted_item).key_by(lambda r: r.key).map(lambda r: r.number)


def fork(numbers: DataStream) -> DataStream:
    """Dicts in two branches."""
    made = numbers.map(counted_record)
    made.map(key_of).add_sink(Nowhere())
    return made.map(number_of)


def reduced_dicts(numbers: DataStream) -> DataStream:
    """Dicts: `key_by`, `reduce` to a new dict, map."""
    return numbers.map(counted_record).key_by(key_of).reduce(add_records).map(number_of)


def reduced_in_place(numbers: DataStream) -> DataStream:
    """Dicts: `key_by`, `reduce` that changes its first argument, map."""
    return numbers.map(counted_record).key_by(key_of).reduce(add_in_place).map(number_of)


def dicts_in_state(numbers: DataStream) -> DataStream:
    """A dict in keyed state that is changed and given out, map."""
    return numbers.key_by(key_of_number).process(Remembering()).map(lambda known: known["total"])


def json_records(numbers: DataStream) -> DataStream:
    """`json.loads`, timestamps, `key_by`, map."""
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy.with_timestamp_assigner(number_as_time)
    stream = numbers.map(parsed).assign_timestamps_and_watermarks(strategy)
    return stream.key_by(key_of).map(number_of)


CHANGING: tuple[Program, ...] = (
    *(chain_of_dicts, plain_dicts, dicts, trees, lists, objects, fork),
    *(reduced_dicts, reduced_in_place, dicts_in_state, json_records),
)
"""Those whose values can be changed."""

PROGRAMS = {program.__name__: program for program in (*FIXED, *CHANGING)}


class Nowhere(SinkFunction):
    """Drops what it is given."""

    def invoke(self, value: object) -> None:
        pass


def run(program: Program, records: int) -> None:
    """Run a program on the numbers from 1 to `records`."""
    stream = program(_numbers(records))
    stream.add_sink(Nowhere())
    stream.get_execution_environment().execute(program.__name__)


def results(program: Program, records: int) -> list[Any]:
    """What a program gives for the numbers from 1 to `records`."""
    with program(_numbers(records)).execute_and_collect() as found:
        return list(found)


def _numbers(records: int) -> DataStream:
    env = local_environment().set_runtime_mode(RuntimeExecutionMode.STREAMING)
    env.set_state_backend(HashMapStateBackend())
    source = NumberSequenceSource(1, records)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")


def _run_forked(program: Program, records: int) -> int:
    """Run a program in a process of its own, and return that process's id."""
    process = os.fork()
    if process == 0:
        code = 0
        try:
            run(program, records)
        except BaseException:  # noqa: BLE001 - the process ends here, whatever it was
            traceback.print_exc()
            code = 1
        os._exit(code)
    _, status = os.waitpid(process, 0)
    if status:
        sys.exit(f"{program.__name__} failed.")
    return process


class PatientQueue(queue.SimpleQueue[Any]):
    """One at which nobody looks in vain every few milliseconds."""

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        return super().get(block, timeout and PATIENCE)


def _depend_on_no_clock() -> None:
    """Have the same instructions executed however long they take: a hundred times longer than usual."""
    sys.setswitchinterval(PATIENCE)  # no thread is stopped so that another one can look
    queue.SimpleQueue = PatientQueue  # type: ignore[misc]
    time.perf_counter = lambda: 0.0  # by it the length of blocks is chosen
    start, looks = time.time_ns(), itertools.count()
    time.time_ns = lambda: start + next(looks) * int(TICK * 1_000_000_000)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--results", action="store_true")
    parser.add_argument("names", nargs="+", choices=PROGRAMS)
    arguments = parser.parse_args()
    if arguments.results:
        for name in arguments.names:
            found = repr(sorted(map(repr, results(PROGRAMS[name], arguments.records))))
            print(name, hashlib.sha256(found.encode()).hexdigest(), flush=True)
        return
    _depend_on_no_clock()
    gc.disable()
    run(tumbling_reduce, 1)  # what is imported late is imported now
    for name in arguments.names:
        for records in (arguments.records, 2 * arguments.records):
            print(name, records, _run_forked(PROGRAMS[name], records), flush=True)


if __name__ == "__main__":
    main()
