"""The Nexmark queries on penstock: over a number of events, and at the pace of the clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.nexmark.events import (
    AUCTION_DATE_TIME,
    AUCTION_EXPIRES,
    BID_DATE_TIME,
    CHUNK,
    GROUP,
    PERSON_DATE_TIME,
    Nexmark,
)
from benchmarks.nexmark.one_by_one import OneByOne
from benchmarks.nexmark.queries import QUERIES
from benchmarks.nexmark.streams import Events

from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import (
    DataStream,
    ProcessFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.number_seq import NumberSequenceSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

PARALLELISM = 2
LIVE_WINDOW = 1_000
"""The size of windows in milliseconds, where latency is measured: more of them end in the time."""


def environment(
    spark: SparkSession | None, parallelism: int = PARALLELISM, **settings: str
) -> StreamExecutionEnvironment:
    """An environment on Spark, or without a session on the local executor."""
    configuration = Configuration()
    if spark is None:
        configuration.set_string("execution.target", "local")
    for name, value in settings.items():
        configuration.set_string(name, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    env.set_parallelism(parallelism)
    return env.set_runtime_mode(RuntimeExecutionMode.STREAMING)


def results(
    query: str,
    env: StreamExecutionEnvironment,
    nexmark: Nexmark,
    port: int = 0,
    *,
    chunks: bool = False,
) -> DataStream:
    """What a query gives for the events of a run: one for each number of the source, or a chunk of them."""
    count = nexmark.chunks if chunks else nexmark.events
    source = NumberSequenceSource(0, count - 1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    maker = nexmark if chunks else OneByOne(nexmark)
    return QUERIES[query](Events(numbers, maker, port))


def live_results(query: str, spark: SparkSession, rate: int, port: int) -> DataStream:
    """What a query gives for as many events a second, each with when it was due: `(due, result)`.

    That is the time of the result: of the record that it was made of, or of the end of a window or auction.
    """
    from benchmarks.kit.paced import paced

    env = environment(spark)
    of_row = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda row, _: row[1]
    )
    rows = env.from_data_frame(paced(spark, rate, PARALLELISM)).assign_timestamps_and_watermarks(
        of_row
    )
    nexmark = Nexmark(CHUNK * PARALLELISM, events_per_second=rate, disorder=0)
    return QUERIES[query](Events(rows, LiveEvents(nexmark), port, LIVE_WINDOW)).process(WithTime())


@dataclass(frozen=True)
class LiveEvents:
    """Makes the one event of each row of `paced`, with the time at which it was due.

    Args:
        nexmark: Makes the events.
    """

    nexmark: Nexmark

    @property
    def disorder(self) -> int:
        """As of `Nexmark`."""
        return self.nexmark.disorder

    def persons_of(self, row: Any) -> list[Any]:
        """The person, if it is one."""
        return self._timed("persons", 0, 1, row, PERSON_DATE_TIME)

    def auctions_of(self, row: Any) -> list[Any]:
        """The auction, if it is one."""
        return self._timed("auctions", 1, 4, row, AUCTION_DATE_TIME, AUCTION_EXPIRES)

    def bids_of(self, row: Any) -> list[Any]:
        """The bid, if it is one."""
        return self._timed("bids", 4, GROUP, row, BID_DATE_TIME)

    def _timed(self, kind: str, low: int, high: int, row: Any, *fields: int) -> list[Any]:
        number, created = row
        if not low <= number % GROUP < high:
            return []
        (record,) = getattr(self.nexmark, kind)(number, 1)
        made = list(record)
        for field in fields:
            made[field] += created - record[fields[0]]
        return [tuple(made)]


class WithTime(ProcessFunction):
    """Puts the time of each record before it."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        """See `ProcessFunction`."""
        yield ctx.timestamp(), value
