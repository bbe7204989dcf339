"""Asynchronous calls as jobs on Spark: penstock's, an asyncio loop by hand, and Spark's own threads."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import TYPE_CHECKING, cast

from benchmarks.kit.session import shared_session
from benchmarks.kit.tally import Outcome, Tally, timed
from benchmarks.sides import calls
from benchmarks.sides.calls import Ask, by_hand, share
from pyspark.sql import functions as sf

from penstock.common import WatermarkStrategy
from penstock.datastream import (
    AsyncDataStream,
    RuntimeExecutionMode,
    SinkFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.number_seq import NumberSequenceSource

if TYPE_CHECKING:
    import pyarrow as pa

TASKS = 2
CAPACITY = 100
TIMEOUT = 60_000
THREADS_OPTION = "spark.sql.execution.pythonUDF.arrow.concurrency.level"


class OnSpark:
    """One job on Spark: penstock's, and the same by hand.

    Args:
        records: How many calls.
        ask: Makes a call.
        ordered: Whether penstock's results are in order.
        capacity: How many calls are under way at once in each task.
    """

    def __init__(
        self,
        records: int,
        ask: Ask,
        *,
        ordered: bool = True,
        capacity: int = CAPACITY,
    ) -> None:
        self._spark = shared_session()
        self._records = records
        self._ask = ask
        self._ordered = ordered
        self._capacity = capacity

    def rate(self) -> float:
        """Runs penstock's job; returns its records a second."""
        return self._timed(self._penstock)

    def rate_by_hand(self) -> float:
        """Runs the job by hand; returns its records a second."""
        return self._timed(self._by_hand)

    def rate_of_threads(self) -> float:
        """Runs the job with blocking calls in Spark's own threads; returns its records a second."""
        blocking = sf.udf(calls.blocking_ten_ms, "long", useArrow=True)
        self._spark.conf.set(THREADS_OPTION, self._capacity)
        start = perf_counter()
        numbers = self._spark.range(1, self._records + 1, 1, TASKS)
        results = numbers.select(blocking("id").alias("result"))
        (found,) = results.agg(sf.count("result"), sf.sum("result")).collect()
        seconds = perf_counter() - start
        self._spark.conf.unset(THREADS_OPTION)
        check(Outcome(seconds, *found), self._records)
        return self._records / seconds

    def _timed(self, job: Callable[[Tally], object]) -> float:
        outcome = timed(job)
        check(outcome, self._records)
        return self._records / outcome.seconds

    def _penstock(self, tally: Tally) -> None:
        env = StreamExecutionEnvironment.get_execution_environment(spark=self._spark)
        env.set_parallelism(TASKS)
        env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
        source = NumberSequenceSource(1, self._records)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        wait = AsyncDataStream.ordered_wait if self._ordered else AsyncDataStream.unordered_wait
        results = wait(numbers, self._ask, TIMEOUT, self._capacity)
        results.add_sink(cast("SinkFunction", tally))
        env.execute("calls")

    def _by_hand(self, tally: Tally) -> None:
        records, ask, capacity = self._records, self._ask, self._capacity

        def call(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                numbers = share(batch.column(0)[0].as_py(), TASKS, records)
                asyncio.run(by_hand(numbers, ask, capacity, tally.invoke))
                tally.close()
            yield from ()

        self._spark.range(0, TASKS, 1, TASKS).mapInArrow(call, "nothing int").collect()


def check(outcome: Outcome, records: int) -> None:
    """Ends the script if not every number came once."""
    found, wanted = (outcome.count, outcome.total), (records, records * (records + 1) // 2)
    if found != wanted:
        sys.exit(f"Wrong results: {found} as count and sum instead of {wanted}.")
