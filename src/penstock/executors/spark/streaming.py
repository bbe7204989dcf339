"""Runs a streaming program: one epoch for each micro-batch, under `foreachBatch`."""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.storage import LocalStorage
from penstock.common import options
from penstock.common.configuration import Configuration
from penstock.errors import JobCancelledError, PenstockError
from penstock.executors.checkpoints import Checkpoints
from penstock.executors.job import EpochRunner
from penstock.executors.spark.failures import as_penstock_error
from penstock.executors.spark.frames import SparkSource
from penstock.executors.spark.log_mirror import LogMirror
from penstock.executors.spark.offsets import carry_over
from penstock.executors.spark.tick import tick_frame, write_wake_up
from penstock.executors.spark.workers import close_functions

if TYPE_CHECKING:
    from penstock.executors.spark.executor import PreparedJob

_LOG: Final = logging.getLogger("penstock")
_POLL_SECONDS = 0.02
_POLLS_A_LOOK: Final = 50
"""How often Spark is asked for its triggers: it remembers the last 100."""
_GRACE_SECONDS: Final = 1.0
_FOLDER: Final = "spark"
_TICKS: Final = "ticks"


class StreamingRun:
    """One run of a streaming program.

    Args:
        job: The program, and what Spark needs to run it.
        runner: Runs and commits its epochs.
        checkpoints: Where they are committed.
        configuration: The job's configuration.
    """

    def __init__(
        self,
        job: PreparedJob,
        runner: EpochRunner,
        checkpoints: Checkpoints,
        configuration: Configuration,
    ) -> None:
        self._job = job
        self._runner = runner
        self._checkpoints = checkpoints
        self._frames = job.frames()
        self._streaming = tuple(source for source in job.sources if source.frame.isStreaming)
        self._static = tuple(source for source in job.sources if not source.frame.isStreaming)
        self._ends = configuration.get(options.EPOCH_AVAILABLE_NOW)
        self._ends_input = self._ends and configuration.get(options.EPOCH_END_OF_INPUT)
        self._interval = configuration.get(options.EPOCH_INTERVAL).to_millis()
        self._has_ticks = job.wants_ticks and not self._ends
        self._failure: PenstockError | None = None
        self._running = threading.Lock()
        self._is_stopping = False
        # The source of ticks lives on the driver's machine.
        self._folder = tempfile.mkdtemp(prefix="penstock-ticks-")
        storage = checkpoints.storage
        self._mirror = None if isinstance(storage, LocalStorage) else LogMirror(storage)

    def __call__(self, stop: threading.Event) -> None:
        """Run epochs until the input ends, or until `stop` is set."""
        last = self._runner.resume()
        if last is not None and last.is_last:
            self._runner.republish()
            _LOG.warning(
                "%s: all input was read by an earlier start, so there is nothing left to do; "
                "execution.epoch.end-of-input=false lets a job go on with what comes later",
                self._job.request.name,
            )
            return
        query = self._start(last)
        polls = 0
        while query.isActive and not stop.wait(_POLL_SECONDS) and not self._runner.wants_end:
            polls += 1
            if polls % _POLLS_A_LOOK == 0:
                self._note_triggers(query)
        self._note_triggers(query)
        if stop.is_set():
            self._stop(query)
        elif self._runner.wants_end:
            query.stop()
            self._run_last(is_last=False)
        else:
            self._raise_failure(query)
            if self._ends_input:
                self._run_last(is_last=True)

    def _note_triggers(self, query: StreamingQuery) -> None:
        """Take note of how long Spark took around the latest epochs, if the job is profiled."""
        if self._runner.profile is not None:
            self._runner.profile.add_triggers(
                (progress.batchId, progress.durationMs["triggerExecution"] / 1000)
                for progress in query.recentProgress
                if "addBatch" in progress.durationMs
            )

    def _stop(self, query: StreamingQuery) -> None:
        """Stop the query, between two epochs if the one that is running soon ends.

        Spark kills the tasks of a running epoch, whose Python workers then complain on standard error.
        """
        self._is_stopping = True
        is_between = self._running.acquire(timeout=_GRACE_SECONDS)
        try:
            query.stop()
        finally:
            if is_between:
                self._running.release()

    @contextmanager
    def _one_epoch(self) -> Iterator[None]:
        while not self._running.acquire(timeout=_POLL_SECONDS):
            if self._is_stopping:
                raise JobCancelledError("The job is being stopped.")
        try:
            yield
        finally:
            self._running.release()

    def _start(self, last: EpochRecord | None) -> StreamingQuery:
        folder = self._offsets_folder(last)
        rows = self._frames.rows(self._streaming)
        assert rows is not None
        if self._has_ticks:
            write_wake_up(self._folder, None if last is None else last.next_wake_up())
            rows = rows.union(self._frames.without_rows(tick_frame(self._job.spark, self._folder)))
        storage = self._checkpoints.storage
        place = storage.url(folder) if self._mirror is None else self._mirror.fetch(folder)
        writer = rows.writeStream.foreachBatch(self._run_epoch).option("checkpointLocation", place)
        if self._ends:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{self._interval} milliseconds").start()

    def _offsets_folder(self, last: EpochRecord | None) -> str:
        """Return where Spark keeps its offsets, with those of the epoch to go on from."""
        storage = self._checkpoints.storage
        by_number = self._job.source_ids
        sources = [by_number[source.number] for source in self._streaming]
        if self._has_ticks:
            sources.append(_TICKS)
        folder = _FOLDER
        if last is None:
            # Nothing was committed: what an earlier driver may have had Spark plan is planned anew. Spark
            # keeps hidden files beside those it is told to delete, so it gets a new folder.
            if self._checkpoints.generation > 1:
                folder = f"{_FOLDER}-{self._checkpoints.generation}"
                storage.delete(storage.names(_FOLDER))
        else:
            folder = last.engine["folder"]
            known = last.engine["sources"]
            if sources != known or self._checkpoints.is_fork:
                old, folder = folder, f"{_FOLDER}-{self._checkpoints.generation}"
                carry_over(
                    storage,
                    old_folder=old,
                    new_folder=folder,
                    epoch=last.number,
                    old_sources=known,
                    new_sources=sources,
                )
                # Spark takes the epoch for done, and will not ask for it again.
                self._runner.republish()
        self._runner.set_engine({"folder": folder, "sources": sources})
        return folder

    def _run_epoch(self, batch: DataFrame, number: int) -> None:
        """Run the epoch that a micro-batch is."""
        with self._one_epoch():
            self._run_micro_batch(batch, number)

    def _run_micro_batch(self, batch: DataFrame, number: int) -> None:
        try:
            if self._mirror is not None:
                self._mirror.send()
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
        except (PenstockError, PySparkException) as error:
            self._failure = as_penstock_error(error, f"Job {self._job.request.name!r}")
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

    def _run_last(self, *, is_last: bool) -> None:
        """Run the epoch that ends what was a stream: no records, but the end of all input."""
        every = frozenset(source.number for source in self._job.sources) | frozenset(
            self._job.native
        )
        self._runner.run(
            self._runner.next,
            every,
            partial(self._frames.run, rows=None),
            is_last=is_last,
            ends=not is_last,
        )

    def _raise_failure(self, query: StreamingQuery) -> None:
        """Raise what the query failed with, if it did."""
        error = query.exception()
        if error is None:
            return
        failure, self._failure = self._failure, None
        raise failure or as_penstock_error(error, f"Job {self._job.request.name!r}") from None

    def interrupt(self) -> None:
        """Nothing: the running thread hears of the wish to stop, and stops the query."""

    def close_functions(self) -> None:
        """Close the functions that still live in workers."""
        close_functions(self._job.spark, self._job.job_id, self._job.layout.cores)

    def clean_up(self) -> None:
        """Remove what nobody needs once the job has ended."""
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._mirror is not None:
            self._mirror.close()
