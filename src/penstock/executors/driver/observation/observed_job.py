"""A job as the driver sees it, from before it is compiled to after its end, and the picture of it at a moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from penstock.common.configuration import options
from penstock.common.configuration.secrets import without_secrets
from penstock.common.job_status import JobStatus
from penstock.common.plain_text import without_logins
from penstock.common.running_job import RunningJob
from penstock.executors.driver.checkpoints import Checkpoints
from penstock.executors.driver.compiled_job import CompiledJob
from penstock.executors.driver.epoch_feed import News
from penstock.executors.driver.observation.chain_views import (
    ChainViews,
    filters_of,
    sizes_by_vertex,
    with_shares,
)
from penstock.executors.driver.observation.epoch_log import Clocks, EpochLog, Noted, NotedEpoch
from penstock.executors.driver.observation.exception_log import ExceptionLog
from penstock.executors.driver.observation.watermarks import (
    EventTime,
    Watermarks,
    watermark_makers,
)
from penstock.executors.driver.progress.progress import FollowedJob
from penstock.executors.driver.recovery.restarts import Restart, summary_of
from penstock.executors.driver.reports.job_view import (
    EpochView,
    JobView,
    RestoreView,
    SavepointView,
    end_of,
)
from penstock.executors.driver.reports.profile_log import ProfileLog
from penstock.executors.port import JobRequest
from penstock.runtime.program import Program
from penstock.runtime.timestamp import MAX_TIMESTAMP

_MOST_SAVEPOINTS: Final = 10


class ObservedJob:
    """A job as the driver sees it.

    It is told what happens, by whichever thread it happens in, which costs next to nothing; the picture is made
    when somebody asks. When the job has ended, only the last picture is left.

    Args:
        job_id: The job's id.
        request: What was asked for.
        clocks: Tell the time.
        hears: Is told of what the client is told of. Default: nobody.

    Attributes:
        hears: Is told of what the client is told of.
        running: What stops it, and takes savepoints of it; None before it has started, and once it has ended.
        profile: Knows where its time went; None where that is not measured.
        line: Says how it is doing, wherever people see that.
    """

    def __init__(
        self,
        job_id: str,
        request: JobRequest,
        clocks: Clocks | None = None,
        hears: Callable[[News], None] = lambda _: None,
    ) -> None:
        self.hears = hears
        self.job_id = job_id
        self.name = request.name
        self.running: RunningJob | None = None
        self.profile: ProfileLog | None = None
        self.line = FollowedJob(self)
        self._configuration = request.configuration
        self._clocks = clocks or Clocks()
        self._log = EpochLog(clocks=self._clocks)
        self._started = self._clocks.millis()
        self._status = JobStatus.CREATED
        self._status_times = {JobStatus.CREATED: self._started}
        self._doing: list[str] = []
        self._exceptions = ExceptionLog()
        self._restart: Restart | None = None
        self._restart_at = 0
        self._restarts = 0
        self._program: Program | None = None
        self._chains: ChainViews | None = None
        self._watermarks: Watermarks | None = None
        self._filters: Set[str] = frozenset()
        self._is_bounded = self._goes_on = False
        self._is_stopping = self._is_left_behind = False
        self._savepoints: tuple[SavepointView, ...] = ()
        self._location: str | None = None
        self._restored_from: str | None = None
        self._spark_url: str | None = None
        self._view_lock = threading.Lock()
        self._last_view: JobView | None = None
        self._seen_there: JobView | None = None
        self._seen_at = 0.0

    def compiled(self, job: CompiledJob, program: Program, checkpoints: Checkpoints) -> EpochLog:
        """Learn what is run, and where its checkpoints are; and return what is to note its epochs.

        Args:
            job: The program, as it was compiled.
            program: The same, with the key groups that are known.
            checkpoints: Where its epochs are committed.
        """
        sources = frozenset(
            vertex.index for vertex in program.vertices if vertex.source is not None
        )
        self._log = EpochLog(sources, self._clocks)
        self._program = program
        self._exceptions.know(program)
        strategies = {
            edge.index: edge.stream_edge.partitioner.ship_strategy for edge in job.graph.edges
        }
        self._chains = ChainViews(program, strategies)
        self._filters = filters_of(job.graph)
        self._watermarks = Watermarks(program, watermark_makers(job.graph))
        self._is_bounded = not job.has_streams
        end = job.run_end
        self._goes_on = job.has_streams and end.is_present and not end.ends_input
        location = checkpoints.location if checkpoints.is_durable else None
        self._location = without_logins(location) if location is not None else None
        recovery = without_logins(self._configuration.get(options.SAVEPOINT_PATH) or "")
        self._restored_from = recovery if checkpoints.is_fork and recovery else self._location
        return self._log

    def runs_on(self, spark_url: str | None) -> None:
        """Learn of Spark's own page."""
        self._spark_url = spark_url

    def seen_there(self, view: JobView) -> None:
        """Learn how the job is doing from where its driver's side is, which is not here."""
        self._seen_there, self._seen_at = view, self._clocks.seconds()

    def became(self, status: JobStatus) -> None:
        """Note that the job is doing something else now."""
        if status is not self._status:
            self._status = status
            self._status_times = {**self._status_times, status: self._clocks.millis()}

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Show inside, in place of what follows from the status, what the job is doing."""
        self._doing.append(what)
        try:
            yield
        finally:
            if what in self._doing:
                self._doing.remove(what)

    @contextmanager
    def saving(self, location: str, epoch: int, *, stops: bool) -> Iterator[None]:
        """Show inside that a savepoint is written, and note it if that does not fail.

        Args:
            location: Where to.
            epoch: The number of the epoch that it holds.
            stops: Whether the job is stopped with it.
        """
        started, begun = self._clocks.millis(), self._clocks.seconds()
        with self.doing("writing a savepoint"):
            yield
        duration = _millis(self._clocks.seconds() - begun)
        size = self.view().state_size
        place = without_logins(location)
        found = SavepointView(place, epoch, started, duration, size, stopped=stops)
        self._savepoints = (*self._savepoints, found)[-_MOST_SAVEPOINTS:]

    def stops(self) -> None:
        """Note that no epoch follows."""
        self._is_stopping = True

    def left_behind(self) -> None:
        """Note that something of the job may still run, for which nobody waits."""
        self._is_left_behind = True
        self.became(JobStatus.CANCELED)

    def failed(self, error: BaseException) -> None:
        """Note what the job, or its start, failed with."""
        last = self._log.epochs[-1] if self._log.epochs else None
        is_of_epoch = last is not None and last.failure is error
        self._exceptions.add(
            error, self._clocks.millis(), last.number if last and is_of_epoch else None
        )

    def restarts(self, restart: Restart) -> None:
        """Note that the job has failed and is going to be restarted."""
        self.failed(restart.error)
        self._restart, self._restarts = restart, restart.number
        self._restart_at = self._clocks.millis() + restart.delay
        self.became(JobStatus.RESTARTING)

    def ended(self, status: JobStatus, error: BaseException | None = None) -> None:
        """Note how the job has ended, and forget all but the last picture."""
        if error is not None:
            self.failed(error)
        self.became(status)
        self._doing.clear()
        with self._view_lock:
            self._last_view = self._view()
            self.running = self.profile = self._program = self._chains = self._watermarks = (
                self._restart
            ) = None
            self._filters = frozenset()
            self._log, self._exceptions = EpochLog(), ExceptionLog()

    @property
    def has_begun(self) -> bool:
        """Whether the job runs, or has run."""
        return self.running is not None or self.has_ended

    @property
    def has_ended(self) -> bool:
        """Whether the job has ended."""
        return self._last_view is not None

    def view(self) -> JobView:
        """Return the job as it is now; one that has ended, as it was then."""
        with self._view_lock:
            return self._last_view or self._view()

    def _view(self) -> JobView:
        there = self._seen_there
        return self._view_here() if there is None else self._view_there(there)

    def _view_there(self, there: JobView) -> JobView:
        """Return what was seen where the driver's side is, but for what is known here alone."""
        has_ended = self._status.is_terminal_state()
        is_known = has_ended or self._status is JobStatus.CANCELLING
        if not is_known:
            # The clocks of two machines differ.
            return replace(there, at=there.at + _millis(self._clocks.seconds() - self._seen_at))
        return replace(
            there,
            status=self._status,
            phase=self._phase(None, is_first=False),
            ended=self._status_times[self._status] if has_ended else None,
            status_times={**there.status_times, self._status: self._status_times[self._status]},
            is_stopped=self._is_stopping or there.is_stopped,
            is_left_behind=self._is_left_behind,
        )

    def _view_here(self) -> JobView:
        noted, now = self._log.noted(rests=self._rests()), self._clocks.millis()
        vertices = () if self._chains is None else self._chains.views(noted)
        if self.profile is not None:
            vertices = with_shares(vertices, self.profile.busy())
        samples = () if self._chains is None else self._chains.samples(noted)
        event_time = EventTime() if self._watermarks is None else self._watermarks.seen(noted)
        saved = {savepoint.epoch for savepoint in self._savepoints}
        epochs = tuple(self._epoch(epoch, saved) for epoch in noted.epochs)
        restored = noted.restored
        watermark = event_time.watermark
        held_since = self._started if event_time.held_since is None else event_time.held_since
        interval = self._configuration.get(options.EPOCH_INTERVAL).to_millis()
        found = JobView(
            job_id=self.job_id,
            name=self.name,
            status=self._status,
            phase=self._phase(noted.running, is_first=not noted.completed),
            at=now,
            started=self._started,
            ended=self._status_times[self._status] if self._status.is_terminal_state() else None,
            status_times=self._status_times,
            is_bounded=self._is_bounded,
            configuration=self._configuration.shown(),
            checkpoint_location=self._location,
            checkpoint_interval=interval or None,
            vertices=vertices,
            epochs=epochs,
            epochs_completed=noted.completed,
            epochs_failed=noted.failed,
            restored_epoch=None if restored is None else restored.number,
            restored_from=self._restored_from if restored is not None else None,
            restores=noted.restores,
            last_restored=self._last_restored(noted),
            restarts=self._restarts,
            savepoints=self._savepoints,
            exceptions=self._exceptions.views(),
            samples=samples,
            records_in=noted.records_in,
            watermark=watermark,
            watermark_lag=_lag(watermark, now),
            holding_back=event_time.holding_back,
            held_since=held_since if event_time.holding_back else None,
            watermark_origins=dict(event_time.origins),
            spark_url=self._spark_url,
            is_stopped=self._is_stopping,
            goes_on=self._goes_on,
            is_left_behind=self._is_left_behind,
        )
        return _summed_up(found, self._filters)

    def _last_restored(self, noted: Noted) -> RestoreView | None:
        if noted.last_restored is None:
            return None
        record, at = noted.last_restored
        is_begin = record.number == (noted.restored.number if noted.restored else None)
        place = self._restored_from if is_begin else self._location
        return RestoreView(record.number, at, place, is_savepoint=place != self._location)

    def _rests(self) -> bool:
        return self._status is JobStatus.RESTARTING or self._status.is_terminal_state()

    def _phase(self, running: NotedEpoch | None, *, is_first: bool) -> str:
        if end := end_of(self._status, is_stopped=self._is_stopping):
            return end
        if self._doing:
            return self._doing[-1]
        if self._status is JobStatus.RESTARTING and self._restart is not None:
            left = (self._restart_at - self._clocks.millis() + 999) // 1000
            return f"restarting in {left} s" if left > 0 else "restarting"
        if self._is_stopping or self._status is JobStatus.CANCELLING:
            return "stopping"
        if self._status is JobStatus.CREATED:
            return "starting"
        if not is_first:
            return "running"
        if running is None:
            return "waiting for the first records"
        return f"first epoch, {int(self._clocks.seconds() - running.begun)} s"

    def _epoch(self, epoch: NotedEpoch, saved: Set[int]) -> EpochView:
        is_savepoint = epoch.number in saved and epoch.failure is None
        if epoch.view is not None:
            if epoch.view.is_savepoint < is_savepoint:
                epoch.view = replace(epoch.view, is_savepoint=True)
            return epoch.view
        found = replace(self._epoch_now(epoch), is_savepoint=is_savepoint)
        if epoch.is_over:
            # Measured: nine tenths of the time of a picture went into epochs that were over.
            epoch.view = found
            epoch.handles = epoch.handles_before = {}
        return found

    def _epoch_now(self, epoch: NotedEpoch) -> EpochView:
        sizes = {} if self._program is None else sizes_by_vertex(self._program, epoch.handles)
        before = {handle.name for files in epoch.handles_before.values() for handle in files}
        end = epoch.committed or epoch.failed or self._clocks.seconds()
        ran = epoch.ran or end
        return EpochView(
            number=epoch.number,
            started=int(epoch.started * 1000),
            duration=_millis(end - epoch.begun),
            planning=_millis(epoch.planning),
            running=_millis(ran - epoch.begun),
            committing=_millis(end - ran),
            publishing=None if epoch.published is None else _millis(epoch.published - end),
            records_in=epoch.records_in,
            state_size=sum(sizes.values()),
            changed_size=sum(
                handle.length
                for files in epoch.handles.values()
                for handle in files
                if handle.name not in before
            ),
            location=self._location if epoch.committed is not None else None,
            failure=None if epoch.failure is None else without_secrets(summary_of(epoch.failure)),
            state_sizes=sizes,
        )


def _summed_up(view: JobView, filters: Set[str]) -> JobView:
    """Return a view with what its chains and its last epoch come to.

    Args:
        view: The view.
        filters: The operators that only leave records out, by their ids.
    """
    vertices, committed = view.vertices, view.committed
    figures = {one.operator_id: one.figures for vertex in vertices for one in vertex.operators}
    filtering = [found for operator_id, found in figures.items() if operator_id in filters]
    return replace(
        view,
        parallelism=max((vertex.parallelism for vertex in vertices), default=1),
        max_parallelism=max((vertex.max_parallelism for vertex in vertices), default=128),
        records_per_second=sum(
            vertex.times.records_in_per_second for vertex in vertices if vertex.is_source
        ),
        late_records=sum(found.late_records for found in figures.values()),
        failed_records=sum(found.failed_records for found in figures.values()),
        filtered_records=sum(found.records_in - found.records_out for found in filtering),
        state_size=sum(vertex.state_size for vertex in vertices),
        checkpoint_size=committed[-1].changed_size if committed else 0,
        checkpoint_duration=committed[-1].duration if committed else 0,
    )


def _lag(watermark: int | None, now: int) -> int | None:
    return None if watermark is None or watermark >= MAX_TIMESTAMP else now - watermark


def _millis(seconds: float) -> int:
    return round(seconds * 1000)
