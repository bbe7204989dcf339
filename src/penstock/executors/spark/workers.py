"""What is left to do in workers when a job has ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.runtime.registry import forget

_MOST_IDLE: Final = 32


def close_functions(spark: SparkSession, job_id: str, cores: int) -> None:
    """Close the functions of a job in those workers that still live and take a task now."""

    def close(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        forget(job_id)

    # Spark gives tasks to idle workers in turn, and there may be more of them than cores.
    tasks = cores + min(3 * cores, _MOST_IDLE)
    try:
        spark.range(0, tasks, 1, tasks).mapInArrow(close, "id long").count()
    except PySparkException:
        # The session has ended, and its workers with it.
        return
