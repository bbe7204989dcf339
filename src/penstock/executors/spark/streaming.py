"""Runs a streaming program: one epoch for each micro-batch, under `foreachBatch`."""

from __future__ import annotations

import os
import pickle
import threading
from functools import partial
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from penstock.common import options
from penstock.common.configuration import Configuration
from penstock.errors import PenstockError
from penstock.executors.job import EpochRunner
from penstock.executors.spark.failures import as_penstock_error
from penstock.executors.spark.frames import SparkSource
from penstock.executors.spark.tick import tick_frame, write_wake_up
from penstock.executors.spark.workers import close_functions

if TYPE_CHECKING:
    from penstock.executors.spark.executor import PreparedJob

_POLL_SECONDS = 0.02


class StreamingRun:
    """One run of a streaming program.

    Args:
        job: The program, and what Spark needs to run it.
        runner: Runs and commits its epochs.
        folder: The job's folder.
        configuration: The job's configuration.
    """

    def __init__(
        self, job: PreparedJob, runner: EpochRunner, folder: str, configuration: Configuration
    ) -> None:
        self._job = job
        self._runner = runner
        self._folder = folder
        self._frames = job.frames()
        self._streaming = tuple(source for source in job.sources if source.frame.isStreaming)
        self._static = tuple(source for source in job.sources if not source.frame.isStreaming)
        self._ends = configuration.get(options.EPOCH_AVAILABLE_NOW)
        self._interval = configuration.get(options.EPOCH_INTERVAL).to_millis()
        self._has_ticks = job.wants_ticks and not self._ends
        self._query: StreamingQuery | None = None
        self._next = 0

    def __call__(self, stop: threading.Event) -> None:
        """Run epochs until the input ends, or until `stop` is set."""
        self._query = query = self._start()
        while query.isActive and not stop.wait(_POLL_SECONDS):
            pass
        if stop.is_set():
            query.stop()
            return
        self._raise_failure(query)
        if self._ends:
            self._run_last()

    def _start(self) -> StreamingQuery:
        rows = self._frames.rows(self._streaming)
        assert rows is not None
        if self._has_ticks:
            rows = rows.union(self._frames.without_rows(tick_frame(self._job.spark, self._folder)))
        writer = rows.writeStream.foreachBatch(self._run_epoch).option(
            "checkpointLocation", os.path.join(self._folder, "spark")
        )
        if self._ends:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{self._interval} milliseconds").start()

    def _run_epoch(self, batch: DataFrame, number: int) -> None:
        """Run the epoch that a micro-batch is."""
        try:
            static = self._static if number == 0 else ()
            rows = self._with_static(batch, static)
            record = self._runner.run(
                number,
                self._finishing(number),
                partial(self._frames.run, rows=rows),
                is_last=False,
            )
            if self._has_ticks:
                write_wake_up(self._folder, record.next_wake_up())
            self._next = number + 1
        except (PenstockError, PySparkException) as error:
            self._remember(as_penstock_error(error, f"Job {self._job.request.name!r}"))
            raise

    def _with_static(self, batch: DataFrame, sources: tuple[SparkSource, ...]) -> DataFrame:
        rows = self._frames.rows(sources)
        return batch if rows is None else rows.union(batch)

    def _finishing(self, number: int) -> frozenset[int]:
        static = {source.number for source in self._static}
        native = {
            source
            for source, description in self._job.native.items()
            if description.epochs <= number + 1
        }
        return frozenset(static | native)

    def _run_last(self) -> None:
        """Run the epoch that ends what was a stream: no records, but the end of all input."""
        every = frozenset(source.number for source in self._job.sources) | frozenset(
            self._job.native
        )
        self._runner.run(self._next, every, partial(self._frames.run, rows=None), is_last=True)

    @property
    def _failure_path(self) -> str:
        return os.path.join(self._folder, "failure")

    def _remember(self, error: PenstockError) -> None:
        with open(self._failure_path, "wb") as file:
            pickle.dump(error, file)

    def _raise_failure(self, query: StreamingQuery) -> None:
        """Raise what the query failed with, if it did."""
        error = query.exception()
        if error is None:
            return
        if os.path.exists(self._failure_path):
            with open(self._failure_path, "rb") as file:
                raise pickle.load(file)
        raise as_penstock_error(error, f"Job {self._job.request.name!r}") from None

    def interrupt(self) -> None:
        """Nothing: the running thread hears of the wish to stop, and stops the query."""

    def close_functions(self) -> None:
        """Close the functions that still live in workers."""
        close_functions(self._job.spark, self._job.job_id, self._job.layout.cores)
