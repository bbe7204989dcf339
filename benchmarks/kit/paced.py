"""A stream of records that become due at a fixed rate by the clock, to the millisecond.

Spark's own source of such a stream lets a whole second's records become due at once. Spark before 4.0 has no sources
in Python: who imports this does so where it is used.
"""

# ruff: noqa: D102, N802 - what overrides a documented method is documented; the names are Spark's

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from benchmarks.kit.pace import count_due, due
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.datasource import ReadLimit
    from pyspark.sql.types import StructType

FORMAT = "paced"
SCHEMA = pa.schema([("value", pa.int64()), ("created", pa.int64())])
_BATCH = 10_000


def paced(spark: SparkSession, rate_per_second: int, partitions: int = 2) -> DataFrame:
    """A stream of the numbers from 0, which begins when its query does.

    Args:
        spark: The session; its workers have to find this module.
        rate_per_second: How many records become due in a second, evenly spread.
        partitions: How many tasks read them in an epoch, each every so many-th record.

    Returns:
        A frame with the columns `value` (long, consecutive) and `created` (long: when the record was due,
        in milliseconds since 1970).
    """
    spark.dataSource.register(PacedSource)
    reader = spark.readStream.format(FORMAT).option("rate", rate_per_second)
    return reader.option("partitions", partitions).load()


class PacedSource(DataSource):
    """The stream, as Spark knows it."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return "value long, created long"

    def streamReader(self, schema: StructType) -> PacedReader:
        return PacedReader(int(self.options["rate"]), int(self.options["partitions"]))


@dataclass
class Share(InputPartition):
    """The records of one task: every `step`-th of those from `first` to before `end`."""

    start: int
    first: int
    end: int
    step: int


class PacedReader(DataSourceStreamReader):
    """Its offset holds when the stream began and how many records were due."""

    def __init__(self, rate: int, partitions: int) -> None:
        self._rate = rate
        self._partitions = partitions

    def initialOffset(self) -> dict[str, int]:
        return {"start": _now(), "count": 0}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        count = count_due(start["start"], _now(), self._rate)
        return {"start": start["start"], "count": max(count, start["count"])}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Share]:
        step = self._partitions
        return [
            Share(start["start"], start["count"] + first, end["count"], step)
            for first in range(step)
        ]

    def read(self, partition: Share) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        values = range(partition.first, partition.end, partition.step)
        for begin in range(0, len(values), _BATCH):
            part = values[begin : begin + _BATCH]
            created = [due(partition.start, value, self._rate) for value in part]
            yield pa.RecordBatch.from_arrays(
                [pa.array(part, pa.int64()), pa.array(created, pa.int64())], schema=SCHEMA
            )


def _now() -> int:
    return time.time_ns() // 1_000_000
