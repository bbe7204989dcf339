"""The program of the crash test. Every result is a row of the same form, whatever it came from.

| kind   | key | record       | number        | total     | stamp       |
|--------|-----|--------------|---------------|-----------|-------------|
| stamp  | key | the record   | its value     | 0         | of chance   |
| call   | key | the record   | twice as much | 0         | the same    |
| count  | key | the record   | how many yet  | sum yet   | the same    |
| window | key | window start | records in it | their sum | ""          |
| bucket | key | its end      | records in it | their sum | ""          |
| echo   | key | bucket + 1 s | 0             | 0         | ""          |
| tally  | key | the record   | how many yet  | sum yet   | the same    |
| extra  | ""  | a number     | the feature's | 0         | ""          |

The last two come of features that not every version of the program has: see `changes`.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from tests.crash import points
from tests.crash.changes import EXTRA, EXTRA_RECORDS, NAMED, NAMELESS, TALLY, Version
from tests.crash.records import DISORDER, Record

from penstock.common import Duration, Time, Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import TimeWindow, TumblingEventTimeWindows

points.install()

WINDOW = 10_000
BUCKET = 7_000
ECHO = 1_000


class Result(NamedTuple):
    """A row of a sink; see above."""

    kind: str
    key: str
    record: int
    number: int
    total: int
    stamp: str


NAMES = list(Result._fields)
TYPES = [Types.STRING(), Types.STRING(), *[Types.LONG()] * 3, Types.STRING()]
ROW_TYPE = Types.ROW_NAMED(NAMES, TYPES)

Stamped = tuple[Record, str]


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value: Record, record_timestamp: int | None) -> int:
        return value.time


class Stamp(MapFunction):
    """Puts chance into a record: no second run of it gives the same.

    Args:
        version: The number of the version, which the stamp begins with.
    """

    def __init__(self, version: int = 0) -> None:
        self._version = version

    def map(self, value: Record) -> Stamped:
        points.reached("record")
        return value, f"{self._version}-{uuid.uuid4().hex}"


class Call(AsyncFunction[Stamped, Stamped]):
    """Asks a service that answers after a while, so that answers are due when an epoch ends."""

    async def async_invoke(self, value: Stamped) -> list[Stamped]:
        record, stamp = value
        points.reached("call")
        await asyncio.sleep(record.id % 4 * 0.01)
        return [(record._replace(value=2 * record.value), stamp)]


class Count(KeyedProcessFunction):
    """Counts the records of a key.

    Args:
        kind: The kind of its results.
    """

    def __init__(self, kind: str = "count") -> None:
        self._kind = kind

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self._sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(
        self, value: Stamped, ctx: KeyedProcessFunction.Context
    ) -> Iterator[Result]:
        record, stamp = value
        count = (self._count.value() or 0) + 1
        total = (self._sum.value() or 0) + record.value
        self._count.update(count)
        self._sum.update(total)
        yield Result(self._kind, record.key, record.id, count, total, stamp)


class Buckets(KeyedProcessFunction):
    """Counts the records of a key and bucket of time, with a timer for each bucket, and one after it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = MapStateDescriptor("buckets", Types.LONG(), Types.PICKLED_BYTE_ARRAY())
        self._buckets = runtime_context.get_map_state(descriptor)

    def process_element(self, value: Stamped, ctx: KeyedProcessFunction.Context) -> None:
        record, _ = value
        end = bucket_end(record.time)
        count, total = self._buckets.get(end) or (0, 0)
        self._buckets.put(end, (count + 1, total + record.value))
        ctx.timer_service().register_event_time_timer(end)

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterator[Result]:
        key = ctx.get_current_key()
        if timestamp % BUCKET == 0:
            count, total = self._buckets.get(timestamp) or (0, 0)
            self._buckets.remove(timestamp)
            yield Result("bucket", key, timestamp, count, total, "")
            ctx.timer_service().register_event_time_timer(timestamp + ECHO)
        else:
            yield Result("echo", key, timestamp, 0, 0, "")


def bucket_end(time: int) -> int:
    return time - time % BUCKET + BUCKET


class Windows(ProcessWindowFunction[Stamped, Result, str, TimeWindow]):
    def process(
        self,
        key: str,
        context: ProcessWindowFunction.Context[TimeWindow],
        elements: Iterable[Stamped],
    ) -> Iterator[Result]:
        values = [record.value for record, _ in elements]
        yield Result("window", key, context.window().start, len(values), sum(values), "")


def key_of(value: Stamped) -> str:
    return value[0].key


def as_stamp(value: Stamped) -> Result:
    record, stamp = value
    return Result("stamp", record.key, record.id, record.value, 0, stamp)


def is_stamp(result: Result) -> bool:
    return result.kind == "stamp"


def as_call(value: Stamped) -> Result:
    return as_stamp(value)._replace(kind="call")


def as_record(row: Any) -> Record:
    return Record(row.id, row.key, row.value, row.time)


def results_of(records: DataStream, version: Version = Version()) -> DataStream:  # noqa: B008
    """Return the results for a stream of records."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(DISORDER))
    timed = records.assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(EventTime())
    ).uid("time")
    stamped = timed.map(Stamp(version.number)).uid("stamp")
    called = AsyncDataStream.unordered_wait(stamped, Call(), Time.seconds(30)).uid("call")
    by_key = stamped.key_by(key_of)
    counts = by_key.process(Count()).uid("count")
    buckets = by_key.process(Buckets()).uid("buckets")
    windows = (
        called.key_by(key_of)
        .window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW)))
        .process(Windows())
        .uid("windows")
    )
    every = stamped.map(as_stamp).union(called.map(as_call), counts, buckets, windows)
    added = [
        *_counters(stamped, version),
        *(
            _extra(records, feature)
            for feature in sorted(version.features)
            if feature.startswith(EXTRA)
        ),
    ]
    return every.union(*added) if added else every


def _counters(stamped: DataStream, version: Version) -> Iterator[DataStream]:
    by_key = stamped.key_by(key_of)
    if TALLY in version.features:
        yield by_key.process(Count(TALLY)).uid(TALLY)
    if NAMELESS in version.features:
        yield by_key.process(Count(NAMELESS))
    if NAMED in version.features:
        yield by_key.process(Count(NAMELESS)).uid(NAMED)


def _extra(records: DataStream, feature: str) -> DataStream:
    """Return the results of one more source."""
    number = int(feature.removeprefix(f"{EXTRA}-"))
    source = records.get_execution_environment().from_collection(list(range(EXTRA_RECORDS)))
    return source.uid(feature).map(partial(as_extra, number)).uid(f"{feature}-map")


def as_extra(number: int, value: int) -> Result:
    return Result("extra", "", value, number, 0, "")
