"""A source without records, which starts an epoch when a timer is due or a split may turn idle.

Spark starts a micro-batch only when a source has something new. This source says so when the time has
come that the last epoch left in the job's folder, and costs nothing before.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from penstock.executors.spark.runs.wake_up import FILE

_NAME = "penstock-tick"


def tick_frame(spark: SparkSession, folder: str) -> DataFrame:
    """Return the streaming frame of ticks: one column, no rows."""
    spark.dataSource.register(TickSource)
    return spark.readStream.format(_NAME).option("folder", folder).load()


class TickSource(DataSource):
    """The source of ticks, as Spark knows it."""

    @classmethod
    def name(cls) -> str:
        return _NAME

    def schema(self) -> str:
        """Return the schema: there are no rows, but Spark wants a column."""
        return "tick long"

    def streamReader(self, schema: StructType) -> TickReader:  # noqa: N802 - Spark's name
        return TickReader(self.options["folder"])


class TickReader(DataSourceStreamReader):
    """Counts ticks: its offset grows by one whenever the time has come.

    Args:
        folder: The folder in which word is left.
    """

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, FILE)

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Return where a new query begins."""
        return {"ticks": 0}

    def latestOffset(  # noqa: N802 - Spark's name
        self, start: dict[str, int], limit: ReadLimit
    ) -> dict[str, int]:
        """Return one more than the last time, if the time has come."""
        return {"ticks": start["ticks"] + 1} if self._is_due() else start

    def _is_due(self) -> bool:
        try:
            with open(self._path, encoding="ascii") as file:
                text = file.read()
        except FileNotFoundError:
            return False
        return bool(text) and int(text) <= time.time_ns() // 1_000_000

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """Return nothing to read."""
        return []

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        return iter(())
