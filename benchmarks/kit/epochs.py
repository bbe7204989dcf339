"""Times the epochs of streaming jobs by Spark's own account of its micro-batches."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock
from time import monotonic, sleep
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

SKIPPED = 5
"""Epochs at a job's start that are not counted: Spark compiles, workers start."""

PATIENCE = 600.0
"""Seconds after which an epoch that does not come is given up."""

Stop = Callable[[], None]


def rate(spark: SparkSession, rows: int) -> DataFrame:
    """A stream of that many numbers an epoch, with an epoch whenever the one before is done."""
    if rows == 0:
        return rate(spark, rows=1).where("value < 0")
    reader = spark.readStream.format("rate-micro-batch")
    return reader.option("rowsPerBatch", rows).option("numPartitions", 2).load().select("value")


def epoch_seconds(
    spark: SparkSession, start: Callable[[], Stop], epochs: int, *, skipped: int = SKIPPED
) -> list[float]:
    """Starts a job, lets it run for some epochs, stops it.

    Args:
        spark: The session that the job runs in; no other query may be running in it.
        start: Starts the job and returns what stops it.
        epochs: How many epochs to time.
        skipped: How many to leave out before.

    Returns:
        What each epoch took from trigger to commit, in seconds.
    """
    stop = start()
    query = _only_query(spark)
    try:
        _await(lambda: _last_epoch(query) >= skipped + epochs - 1)
    finally:
        stop()
    durations = {p["batchId"]: p["durationMs"]["triggerExecution"] for p in query.recentProgress}
    return [ms / 1_000 for epoch, ms in durations.items() if epoch >= skipped][:epochs]


def start_by_hand(frame: DataFrame, run: Callable[[DataFrame, int], None]) -> Stop:
    """Starts a bare `foreachBatch`. Stopping waits for its batch: Spark would interrupt it."""
    busy, stopping = Lock(), Event()

    def run_until_stopped(batch: DataFrame, epoch: int) -> None:
        with busy:
            if not stopping.is_set():
                run(batch, epoch)

    query = frame.writeStream.foreachBatch(run_until_stopped).start()

    def stop() -> None:
        stopping.set()
        with busy:
            pass
        query.stop()

    return stop


def _only_query(spark: SparkSession) -> StreamingQuery:
    _await(lambda: bool(spark.streams.active))
    (query,) = spark.streams.active
    return query


def _last_epoch(query: StreamingQuery) -> int:
    if not query.isActive:
        raise RuntimeError(f"The job ended while its epochs were timed: {query.exception()}")
    progress = query.lastProgress
    return -1 if progress is None else int(progress["batchId"])


def _await(condition: Callable[[], bool]) -> None:
    deadline = monotonic() + PATIENCE
    while not condition():
        if monotonic() > deadline:
            raise TimeoutError("A streaming job did not get on while its epochs were timed.")
        sleep(0.02)
