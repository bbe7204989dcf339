"""Runs a streaming program: one epoch for each micro-batch, under `foreachBatch`."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.storage import LocalStorage
from penstock.common.configuration import options
from penstock.errors import JobCancelledError, PenstockError
from penstock.executors.driver.checkpoints import Checkpoints
from penstock.executors.driver.epoch_loop import is_soon, warn_of_end
from penstock.executors.driver.epoch_runner import EpochRunner
from penstock.executors.driver.planning import Plans
from penstock.executors.spark.connect import is_connect
from penstock.executors.spark.ctrl_c import JAVAS_LOG
from penstock.executors.spark.failures import as_penstock_error, is_of_spark
from penstock.executors.spark.frames.epoch_frames import SparkSource
from penstock.executors.spark.hosted.relay import Relay
from penstock.executors.spark.hosted.starting import started
from penstock.executors.spark.interruption import interrupt_epoch, note_of
from penstock.executors.spark.page.names import query_name
from penstock.executors.spark.prepared_job import PreparedJob
from penstock.executors.spark.runs.disk_log import DiskLog
from penstock.executors.spark.runs.log_mirror import LogMirror
from penstock.executors.spark.runs.offsets import carry_over, offsets_after, sees_ahead
from penstock.executors.spark.runs.ticks import NoTicks, Ticks, new_ticks
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.buffer import Buffer

_POLL_SECONDS = 0.02
_POLLS_A_LOOK: Final = 50
_REMEMBERED: Final = 100
"""How often Spark is asked for its triggers, and how many it remembers."""
_GRACE_SECONDS: Final = 0.25
_INTERRUPTED: Final = "py4j.protocol.Py4JJavaError: An error occurred while calling foreachBatch.\n: java.lang.InterruptedException"
"""What Spark takes for the end of a query that is stopped."""
_MOST_TEXT: Final = 500


class EpochFailedError(Exception):
    """Tells Spark, in a short text, that an epoch has failed; the job knows with what.

    Spark matches the text of an error with a deeply recursive pattern. Where Java's threads have little room, a long one
    ends in a StackOverflowError, a thousand lines of it.
    """


class StreamingRun:
    """One run of a streaming program.

    Args:
        job: The program, and what Spark needs to run it.
        runner: Runs and commits its epochs.
        checkpoints: Where they are committed.
        at_end: What to call once nobody needs it any more.
    """

    leaves_functions_open = True
    """Whether functions may live in workers when it ends: tasks that are killed take them along."""

    def __init__(
        self, job: PreparedJob, runner: EpochRunner, checkpoints: Checkpoints, at_end: ExitStack
    ) -> None:
        configuration = job.request.configuration
        self._job = job
        self._runner = runner
        self._checkpoints = checkpoints
        self._frames = self._batch_frames = job.frames()
        self._streaming = tuple(source for source in job.sources if source.frame.isStreaming)
        self._static = tuple(source for source in job.sources if not source.frame.isStreaming)
        self._ends = job.compiled.run_end.is_present
        self._ends_input = job.compiled.run_end.ends_input
        self._interval = configuration.get(options.EPOCH_INTERVAL).to_millis()
        wants_ticks = job.wants_ticks or bool(job.compiled.planned)
        self._shift = 0
        self._engine: dict[str, Any] = {}
        # Of an earlier run by this driver, which may have committed nothing with it.
        self._unused: str | None = None
        self._failure: PenstockError | None = None
        self._running = threading.Lock()
        self._is_stopping = False
        storage = checkpoints.storage
        self._log: DiskLog | LogMirror
        if isinstance(storage, LocalStorage):
            self._log = DiskLog(storage)
        else:
            self._log = LogMirror(storage)
        at_end.callback(self._log.close)
        self._groups = job.groups()
        self._read_here: frozenset[int] = frozenset()
        at_end.callback(self._groups.close)
        has_ticks = wants_ticks and not self._ends
        self._ticks: Ticks = new_ticks(self._interval) if has_ticks else NoTicks()
        at_end.callback(self._ticks.close)
        self._relay = Relay(job.spark, self._run_epoch) if is_connect(job.spark) else None
        if self._relay is not None:
            at_end.callback(self._relay.close)
        # The latest micro-batches, with the numbers of their epochs.
        self._epochs: OrderedDict[int, int] = OrderedDict()

    def __call__(self, stop: threading.Event) -> None:
        """Run epochs until the input ends, or until `stop` is set."""
        self._is_stopping, self.leaves_functions_open = False, True
        last = self._runner.resume()
        self._read_here |= self._runner.unread
        if last is not None and last.is_last:
            self._runner.republish()
            warn_of_end(self._job.request.name)
            return
        folder = self._offsets_folder(last)
        if last is not None and self._runner.unread:
            # Spark may have nothing new for long. What comes before has to be delivered before.
            if not self._checkpoints.is_published(last):
                self._runner.republish()
            with suppress(JobCancelledError):
                self._run_unplanned()
        query = self._start(folder)
        self._watch(query, stop)
        if stop.is_set():
            self._stop(query)
        elif self._runner.wants_end:
            query.stop()
        else:
            self._raise_failure(query)
            with suppress(JobCancelledError):
                self._end_run(stop)
        if self._runner.wants_end and not stop.is_set():
            self._run_unplanned(ends=True)

    def _watch(self, query: StreamingQuery, stop: threading.Event) -> None:
        """Wait for the end of the query, or until it is to end, and wake it when planned sources have news."""
        polls = 0
        try:
            while query.isActive and not stop.wait(_POLL_SECONDS) and not self._runner.wants_end:
                polls += 1
                if not self._ends and self._has_news():
                    self._ticks.wake(time.time_ns() // 1_000_000)
                if self._ticks.is_due(query):
                    self._run_due()
                if polls % _POLLS_A_LOOK == 0:
                    self._note_triggers(query)
                    self._groups.look()
        except BaseException:
            self._stop(query)
            raise
        self._note_triggers(query)

    def _has_news(self) -> bool:
        """Whether an epoch is worth its while, unless one is running, as planned sources have news."""
        if not self._job.compiled.planned or not self._running.acquire(blocking=False):
            return False
        try:
            return self._runner.is_news(self._runner.plans())
        finally:
            self._running.release()

    def _run_due(self) -> None:
        """Run an epoch that is due without records, unless one is running."""
        if self._running.acquire(blocking=False):
            try:
                self._ticks.began()
                with suppress(JobCancelledError):
                    self._run_unplanned()
            finally:
                self._running.release()
            self._ticks.wake(self._runner.next_wake_up)

    def _note_triggers(self, query: StreamingQuery) -> None:
        """Take note of how long Spark took around the latest epochs, if the job is profiled."""
        if self._runner.profile is not None:
            self._runner.profile.add_triggers(
                (
                    self._epochs[progress["batchId"]],
                    progress["durationMs"]["triggerExecution"] / 1000,
                )
                for progress in query.recentProgress
                if progress["batchId"] in self._epochs and "addBatch" in progress["durationMs"]
            )

    def _stop(self, query: StreamingQuery) -> None:
        """Stop the query, between two epochs if the one that is running soon ends.

        Spark kills the tasks of a running epoch, whose Python workers then complain on standard error.
        """
        self._is_stopping = True
        is_between = self._running.acquire(timeout=_GRACE_SECONDS)
        self.leaves_functions_open = is_between
        JAVAS_LOG.hush()
        if not is_between:
            # To Spark Connect the epoch is no part of the query.
            interrupt_epoch(self._batch_frames.spark, self._job.job_id)
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

    def _start(self, folder: str) -> StreamingQuery:
        rows = self._frames.rows(self._streaming)
        assert rows is not None
        self._ticks.wake(self._runner.next_wake_up)
        ticks = self._ticks.frame(self._job.spark)
        if ticks is not None:
            rows = rows.union(self._frames.without_rows(ticks))
        place = self._log.fetch(folder)
        if self._runner.last is not None:
            self._tell_groups(self._runner.last.number)
        run_batch = self._run_epoch if self._relay is None else self._relay.function()
        writer = rows.writeStream.foreachBatch(run_batch).option("checkpointLocation", place)
        if self._ends:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{self._interval} milliseconds")
        with query_name(self._job.spark, self._job.request.name) as name:
            return started(writer.queryName(name))

    def _offsets_folder(self, last: EpochRecord | None) -> str:
        """Return where Spark keeps its offsets, with those of the epoch to go on from."""
        storage = self._checkpoints.storage
        by_number = self._job.source_ids
        sources = [by_number[source.number] for source in self._streaming]
        sources += self._ticks.sources
        planned = True
        if last is None or "folder" not in last.engine:
            # Nothing is committed that Spark planned: what an earlier driver may have had it plan is planned
            # anew. That driver may still commit it, and what it planned is deleted when it no longer can.
            folder, self._shift = self._checkpoints.new_engine_folder(), self._runner.next
            self._runner.republish()
        else:
            folder = last.engine["folder"]
            known = last.engine["sources"]
            planned = last.engine.get("is_planned", True)
            self._shift = last.engine.get("shift", 0)
            if self._is_drained_of_old(last):
                self._shift, planned = 1, False
            if isinstance(self._log, DiskLog):
                self._log.drop_damaged(folder, last.number - self._shift)
            if self._needs_own_folder(folder, has_same_sources=sources == known):
                if self._unused is not None and self._unused != folder:
                    self._checkpoints.drop_engine_folder(self._unused)
                old, folder = folder, self._checkpoints.new_engine_folder()
                self._unused = folder
                carry_over(
                    storage,
                    old_folder=old,
                    new_folder=folder,
                    batch=last.number - self._shift,
                    old_sources=known,
                    new_sources=sources,
                )
                planned = False
            if not planned:
                # Spark will not ask for the epoch again.
                self._runner.republish()
        self._engine = {"folder": folder, "sources": sources}
        self._tell_engine(is_planned=True)
        return folder

    def _needs_own_folder(self, folder: str, *, has_same_sources: bool) -> bool:
        """Whether Spark cannot go on in a folder in which it has written."""
        return (
            not has_same_sources
            or self._checkpoints.is_fork
            # What a driver plans that was superseded would stand in the place of what this one plans.
            or self._checkpoints.may_share_engine_folder(folder)
            or sees_ahead(self._checkpoints.storage, folder)
        )

    def _is_drained_of_old(self, last: EpochRecord) -> bool:
        """Whether an earlier version drained the job, which did not note that Spark has not heard of the epoch."""
        if not last.is_drained or "shift" in last.engine:
            return False
        commits = f"{last.engine['folder']}/commits"
        # That version took Spark's next micro-batch, if the job was started again, for this epoch.
        return f"{commits}/{last.number}" not in self._checkpoints.storage.names(commits)

    def _tell_engine(self, *, is_planned: bool) -> None:
        """Let the metadata say what the next start has to know.

        Args:
            is_planned: Whether the epoch that comes is one of Spark's micro-batches. Each that is not shifts
                the numbers of those behind it: Spark has never heard of it.
        """
        shift = self._shift if is_planned else self._shift + 1
        self._runner.set_engine({**self._engine, "shift": shift, "is_planned": is_planned})

    def _run_epoch(self, batch: DataFrame, number: int) -> None:
        """Run the epoch that a micro-batch is."""
        with self._one_epoch():
            self._ticks.began()
            self._batch_frames = self._batch_frames.in_session(batch.sparkSession)
            self._epochs[number] = number + self._shift
            if len(self._epochs) > _REMEMBERED:
                self._epochs.popitem(last=False)
            self._run_micro_batch(batch, number + self._shift)

    def _run_micro_batch(self, batch: DataFrame, number: int) -> None:
        try:
            last = self._runner.last
            if last is not None and number == last.number and self._has_state_of_sparks():
                # Its results are only delivered again, but Spark wants the state of its operators.
                batch.write.format("noop").mode("overwrite").save()
            static = self._batch_frames.rows(self._unread())
            rows = batch if static is None else static.union(batch)
            run = partial(self._run_tasks, rows)
            plans = self._runner.plans() if number == self._runner.next else Plans()
            record = self._runner.run(number, self._runner.ending, run, is_last=False, plans=plans)
            self._tell_groups(number)
            self._ticks.wake(record.next_wake_up())
        except Exception as error:
            if isinstance(error, PenstockError) or is_of_spark(error):
                # Spark hands on the text of what is raised here, cut off and among that of its own.
                self._failure = as_penstock_error(error, self._job.title, self._job.chains)
            if self._is_stopping:
                raise EpochFailedError(_INTERRUPTED) from None
            if self._failure is not None:
                raise EpochFailedError(str(self._failure)[:_MOST_TEXT]) from None
            raise

    def _tell_groups(self, number: int) -> None:
        """Let consumer groups know how far Spark has read topics of Kafka in an epoch that is committed."""
        self._groups.tell_ends(self._read_here - self._runner.unread)
        batch = number - self._shift
        if batch < 0 or not self._groups:
            return
        offsets = offsets_after(self._log.local, self._engine["folder"], batch)
        # With a DataFrame that reads several of Spark's sources nobody knows which are whose.
        if len(offsets) == len(self._engine["sources"]):
            for source, found in zip(self._streaming, offsets, strict=False):
                if found is not None:
                    self._groups.tell(source.number, found)

    def _has_state_of_sparks(self) -> bool:
        """Whether Spark keeps state for operators of its own, in a DataFrame that is a source."""
        return bool(self._checkpoints.storage.names(f"{self._engine['folder']}/state"))

    def _run_tasks(self, rows: DataFrame, epoch: Epoch) -> list[Buffer]:
        with ThreadPoolExecutor(1) as beside:
            # What Spark planned: that need not wait for the tasks, nor they for it.
            planned = beside.submit(self._log.send)
            buffers = self._batch_frames.run(epoch, rows)
            planned.result()
        # What the tasks wrote of the state of Spark's own operators.
        self._log.send()
        return buffers

    def _unread(self) -> list[SparkSource]:
        """Return the bounded DataFrames that are still to be read."""
        unread = self._runner.unread
        return [source for source in self._static if source.number in unread]

    def _end_run(self, stop: threading.Event) -> None:
        """Do what is left to do when all that was there is read, though no input comes any more."""
        if not self._ends:
            return
        while not stop.is_set() and (
            self._runner.unread - self._runner.ending or self._runner.is_news(self._runner.plans())
        ):
            self._run_unplanned()
        if stop.is_set():
            return
        if self._ends_input:
            self._run_unplanned(is_last=True)
        elif self._is_unsettled():
            self._run_unplanned(settles=True)

    def _is_unsettled(self) -> bool:
        """Whether bounded sources are unread, timers are due, or calls under way."""
        return bool(self._runner.unread) or is_soon(self._runner.next_wake_up)

    def _run_unplanned(
        self, *, ends: bool = False, is_last: bool = False, settles: bool = False
    ) -> None:
        """Run an epoch that is no micro-batch of Spark's, and reads nothing of its streams.

        Args:
            ends: Whether it ends event time, and reads nothing at all, since the job is to be stopped.
            is_last: Whether it ends what was a stream: no epoch follows.
            settles: Whether it waits for calls however long they take, since none follows in this run.
        """
        every = frozenset(source.number for source in self._job.sources) | self._runner.every
        plans = Plans() if ends or is_last else self._runner.plans()
        rows = None if ends else self._frames.rows(self._unread())
        self._tell_engine(is_planned=False)
        try:
            self._runner.run(
                self._runner.next,
                every if ends or is_last else self._runner.ending,
                partial(self._frames.run, rows=rows, note=note_of(self._job.job_id)),
                is_last=is_last,
                ends=ends,
                settles=settles,
                plans=plans,
            )
            self._shift += 1
            self._groups.tell_ends(self._read_here - self._runner.unread)
        finally:
            self._tell_engine(is_planned=True)

    def _raise_failure(self, query: StreamingQuery) -> None:
        """Raise what the query failed with, if it did."""
        error = query.exception()
        if error is None:
            return
        failure, self._failure = self._failure, None
        raise failure or as_penstock_error(error, self._job.title, self._job.chains) from None
