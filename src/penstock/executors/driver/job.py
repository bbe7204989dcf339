"""The client's side of a job: reads its epochs as they are committed, and waits for its end."""

from __future__ import annotations

import dataclasses
import logging
import math
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from typing import Any, Final

from penstock.checkpoint.storage import Storage
from penstock.common.epoch_listener import (
    JobEnded,
    JobRestarting,
    JobStarted,
)
from penstock.common.job_status import JobStatus
from penstock.common.plain_text import shown_name
from penstock.common.running_job import JobProgress
from penstock.errors import (
    EpochListenerWarning,
    JobCancelledError,
    JobFailedError,
    PenstockError,
    SavepointError,
    SessionLostError,
    WaitInListenerError,
)
from penstock.executors.driver.epoch_feed import EpochFeed, EpochResult
from penstock.executors.driver.epoch_gate import GateTurn
from penstock.executors.driver.interrupts import JOBS, take_interrupts
from penstock.executors.driver.observation.observed_job import ObservedJob
from penstock.executors.driver.progress.job_line import job_line, last_line
from penstock.executors.driver.progress.late_records import LateRecordsLog, warn_of_late_records
from penstock.executors.driver.progress.places import at_interrupt
from penstock.executors.driver.recovery.restart_strategy import RestartStrategy, restart_strategy_of
from penstock.executors.driver.recovery.restarts import (
    FailureLog,
    Restart,
    run_with_restarts,
    summary_of,
)
from penstock.executors.driver.reports.job_view import JobView
from penstock.executors.driver.reports.recent_log import CLIENT_TELLS, RECENT_LOG
from penstock.executors.driver.reports.tally import Tally
from penstock.executors.driver.reports.task_lines import TaskLines, TaskLog
from penstock.executors.driver.savepoints import Savepoints
from penstock.executors.port import JobRequest
from penstock.interruptible import wait_until
from penstock.runtime.program import Program
from penstock.runtime.user_code import UserLine

_LOG = logging.getLogger("penstock")
_SECONDS_AFTER_INTERRUPT: Final = 1.2
"""Ctrl-C ends a program within two seconds, of which Python takes some to end itself."""


class Job:
    """A job that runs in a thread of its own, and tells the client of each epoch.

    Args:
        job_id: The job's id.
        request: What was asked for.
        program: The compiled program.
        feed: Tells of the epochs that were committed.
        run: Runs the job from its last epoch to its end; returns when it has ended, raises what it
            failed with, and may then be called again. It is given an event that is set when it should
            stop.
        interrupt: Interrupts what the engine is doing for the job now.
        clean_up: Removes what nobody needs once the job has ended.
        observed: What is noted of it. Default: what nobody but its client sees.
        patience: How many seconds are waited for the end of a run of a job that is cancelled.

    Attributes:
        is_interrupted: Whether Ctrl-C came before somebody waited for its end, who is to be told.
    """

    def __init__(
        self,
        job_id: str,
        request: JobRequest,
        program: Program,
        feed: EpochFeed,
        run: Callable[[threading.Event], None],
        interrupt: Callable[[], None] = lambda: None,
        clean_up: Callable[[], None] = lambda: None,
        observed: ObservedJob | None = None,
        *,
        patience: float = math.inf,
    ) -> None:
        self.job_id = job_id
        self._patience = patience
        self.name = request.name
        self._request = request
        self._feed = feed
        self._run = run
        self._interrupt = interrupt
        self._clean_up = clean_up
        self._gate = feed.gate
        self._savepoints = Savepoints(job_id, request.configuration, feed.gate)
        self._strategy = self._strategy_of()
        self._last_savepoint: Storage | None = None
        self._stop = threading.Event()
        self._waits_no_longer = threading.Event()
        self._is_cancelled = False
        self.is_interrupted = False
        self._given_up_at = math.inf
        self._is_told = False
        self._has_warned = False
        self._ended = threading.Event()
        self._done = threading.Event()
        self._error: BaseException | None = None
        self._lock = threading.Lock()
        self._observed = observed or ObservedJob(job_id, request)
        self._tally = Tally(job_id, program)
        self._progress = self._tally.progress
        self._failures = FailureLog()
        self._log = TaskLog()
        RECENT_LOG.listen()
        self._late_records = LateRecordsLog(request.name)
        self._started_at = UserLine.here()
        self._engine = threading.Thread(target=self._work, name=f"job-{job_id}", daemon=True)
        self._reader = threading.Thread(target=self._read, name=f"epochs-{job_id}", daemon=True)
        # What cannot be made until here leaves nothing behind.
        self._observed.running = self
        JOBS.begin(self)
        self._engine.start()
        self._reader.start()

    def _strategy_of(self) -> RestartStrategy:
        return restart_strategy_of(self._request.configuration)

    def _work(self) -> None:
        try:
            run_with_restarts(
                self._run_once,
                self._strategy,
                self._stop,
                tell=self._note_restart,
                wait=self._wait_for_restart,
            )
            self._write_last_savepoint()
        except BaseException as error:  # noqa: BLE001 - the waiting client raises it
            self._error = self._error or error
        finally:
            # Who asked for a savepoint before that gets it.
            with self._gate.between():
                self._ended.set()
                self._feed.wake()
                self._gate.close()

    def _write_last_savepoint(self) -> None:
        with self._gate.between():
            self._gate.close()
            if self._last_savepoint is None:
                return
            if not self._gate.has_ended:
                raise SavepointError(
                    "The job ended before its event time could be ended.",
                    hint="It had read all of its input, or was cancelled: there is no savepoint. What it "
                    "committed stays.",
                )
            self._write_savepoint(self._last_savepoint, stops=True)
            self._observed.stops()

    def _write_savepoint(self, target: Storage, *, stops: bool) -> None:
        _, record = self._savepoints.check()
        with self._observed.saving(target.location, record.number, stops=stops):
            self._savepoints.write(target)

    def _run_once(self) -> None:
        with self._lock:
            self._progress.status = JobStatus.RUNNING
        self._observed.became(JobStatus.RUNNING)
        try:
            self._run(self._stop)
        except JobCancelledError:
            if not self._gate.is_closed:
                raise

    def _wait_for_restart(self, seconds: float) -> bool:
        self._waits_no_longer.wait(seconds)
        return self._stop.is_set()

    def _end_soon(self) -> None:
        """Let no epoch follow that has not begun."""
        self._stop.set()
        self._waits_no_longer.set()

    def _note_restart(self, restart: Restart) -> None:
        with self._lock:
            self._progress.status = JobStatus.RESTARTING
            self._progress.restarts = restart.number
            self._progress.last_error = restart.error
        self._observed.restarts(restart)
        last = self._gate.last
        self._feed.put(dataclasses.replace(restart, epoch=0 if last is None else last.number + 1))

    def _read(self) -> None:
        """Hand on what epochs gave, until the job has ended and all its epochs are read."""
        try:
            self._tell("on_job_started", JobStarted(self.job_id, self._request.name))
            while True:
                ended = self._ended.is_set()
                seconds = 0.0 if ended else None
                while (result := self._feed.next(seconds)) is not None:
                    if isinstance(result, Restart):
                        self._tell_of_restart(result)
                    elif isinstance(result, TaskLines):
                        self._log.show(result)
                    else:
                        self._consume(result)
                if ended:
                    break
        except BaseException as error:  # noqa: BLE001 - the waiting client raises it
            self._error = self._error or error
            self._end_soon()
            self._interrupt()
            self._ended.wait()
        finally:
            self._finish()
            self._done.set()

    def _consume(self, result: EpochResult) -> None:
        for stream, lines in (
            (sys.stdout, result.printed),
            (sys.stderr, result.printed_to_err),
        ):
            if lines:
                stream.write("\n".join([*lines, ""]))
                stream.flush()
        for collect_id, values in result.collected:
            self._request.collectors[collect_id](values)
        with self._lock:
            event = self._tally.add(result)
        if not self._request.graph.is_bounded:
            self._late_records.note(self._progress.operators.values())
        self._tell("on_epoch_completed", event)

    def _tell_of_restart(self, restart: Restart) -> None:
        text = self._failures.text(shown_name(self.name), restart)
        _LOG.warning("%s", text, extra={CLIENT_TELLS: True})
        event = JobRestarting(self.job_id, restart.number, restart.delay, restart.error)
        self._tell("on_job_restarting", event)

    def _tell(self, method: str, event: Any) -> None:
        """Tell listeners of an event; what they raise is not the job's."""
        for listener in self._request.listeners:
            try:
                getattr(listener, method)(event)
            except Exception as error:  # noqa: BLE001 - of any kind
                warnings.warn(
                    f"The epoch listener {type(listener).__name__} raised {error!r} in {method}; the job "
                    "goes on.",
                    EpochListenerWarning,
                    stacklevel=1,
                )

    def _finish(self) -> None:
        try:
            with self._gate.between():
                self._clean_up()
        except BaseException as error:  # noqa: BLE001 - the waiting client raises it
            self._error = self._error or error
        with self._lock:
            if self._is_cancelled:
                self._end_cancelled()
            elif self._error is not None:
                self._progress.status = JobStatus.FAILED
                self._progress.last_error = self._error
            else:
                self._progress.status = JobStatus.FINISHED
            progress = self._progress
            self._observed.ended(progress.status, self._error)
            event = JobEnded(self.job_id, progress.status, progress.epochs, self._error)
        JOBS.end(self, is_failed=self._error is not None)
        self._observed.line.end()
        self._tell("on_job_ended", event)

    def _end_cancelled(self) -> None:
        # What the engine raises as it is stopped is no news to whoever stopped it.
        self._error = None
        self._progress.status = JobStatus.CANCELED

    def progress(self) -> JobProgress:
        """Return how far the job has come."""
        log = self._feed.profile
        with self._lock:
            found = self._tally.shown()
        return found if log is None else dataclasses.replace(found, profile=log.profile())

    def view(self) -> JobView:
        """Return the job as it is seen now."""
        return self._observed.view()

    def wait(self) -> JobProgress:
        """Wait until the job has ended.

        Raises:
            KeyboardInterrupt: If Ctrl-C comes.
            WaitInListenerError: If a listener of the job calls it.
            PenstockError: What the job failed with.
        """
        self.check_may_wait()
        take_interrupts()
        try:
            self._wait_for_end()
        except KeyboardInterrupt:
            JOBS.note_interrupt()
            raise
        if not self._done.is_set():
            self._leave_behind()
            return self.progress()
        if self._error is not None:
            self._note_told()
            if isinstance(self._error, PenstockError) and self._error.operator is not None:
                # Its message has the user's frames; those of the engine would stand before them.
                self._error.with_traceback(None)
            raise self._error
        self._warn_once()
        return self.progress()

    def _wait_for_end(self) -> None:
        if self.is_interrupted:
            self.is_interrupted = False
            raise KeyboardInterrupt
        # An event and not the thread: a join that Ctrl-C interrupts takes the thread for ended.
        with self._observed.line.awaited():
            wait_until(self._has_ended_after)

    def _has_ended_after(self, seconds: float) -> bool:
        left = max(self._given_up_at - time.monotonic(), 0.0)
        return self._done.wait(min(seconds, left)) or time.monotonic() >= self._given_up_at

    def _leave_behind(self) -> None:
        """Count as cancelled, though something still runs that does not hear of it; it commits nothing."""
        with self._lock:
            if not self._done.is_set():
                self._progress.status = JobStatus.CANCELED
                self._observed.left_behind()
        self._gate.give_up()
        JOBS.end(self, is_failed=False)
        self._observed.line.end()

    def wait_briefly(self) -> None:
        """Wait for the end of the job, which was cancelled, and leave it behind if that takes long."""
        if not wait_until(self._done.wait, self._given_up_at - time.monotonic()):
            self._leave_behind()

    def where_it_stands(self) -> str:
        """Return how the job is doing, or how it has ended, in a line for people."""
        view = self.view()
        return last_line(view) if view.status.is_terminal_state() else job_line(view)

    def untold_end(self) -> str | None:
        """Return how the job has ended, in a line for people; None if its own last line has told it."""
        return None if self._observed.line.is_told else self.where_it_stands()

    def tell_end(self) -> None:
        """Say how the job has ended on standard error, unless its own last line has told it."""
        if (line := self.untold_end()) is not None:
            sys.stderr.write(at_interrupt(line))

    def _note_told(self) -> None:
        self._is_told = True
        JOBS.told(self)

    def tell_failure(self) -> None:
        """Say in the log why the job has failed, if it has and nobody was told."""
        if self._done.is_set() and self._error is not None and not self._is_told:
            self._note_told()
            _LOG.error("%s has failed: %s", shown_name(self.name), self._error)

    def _warn_once(self) -> None:
        """Warn of what the job has dropped, if it has come to its end."""
        with self._lock:
            is_due = not self._has_warned and self._progress.status is JobStatus.FINISHED
            self._has_warned = True
            reports = list(self._progress.operators.values())
        if is_due and self._request.graph.is_bounded:
            warn_of_late_records(self._request.name, reports, self._started_at)

    def check_may_wait(self) -> None:
        """Make sure that whoever calls this may wait for the end of the job.

        Raises:
            WaitInListenerError: If it is a listener of the job, whose end waits for it.
        """
        if threading.current_thread() is self._reader and not self._done.is_set():
            raise WaitInListenerError(
                f"An epoch listener of {self._request.name!r} waits for the end of its own job, which "
                "waits for the listener.",
                hint="Call cancel() or stop() in a listener, and wait for the future outside of it.",
            )

    def cancel(self) -> None:
        """Stop the job; what is not committed is given up.

        A job that has finished stays finished, and one that has failed failed, unless it was Ctrl-C that failed
        it: that may reach the engine before it comes here.
        """
        with self._lock:
            if self._progress.status is JobStatus.FAILED and _is_of_interrupt(self._error):
                JOBS.told(self)
                self._end_cancelled()
            is_running = not self._progress.status.is_terminal_state()
            if is_running:
                self._is_cancelled = True
                self._end_soon()
                self._given_up_at = min(self._given_up_at, time.monotonic() + self._seconds_left())
        if is_running:
            self._observed.became(JobStatus.CANCELLING)
            self._interrupt()

    def _seconds_left(self) -> float:
        """Return how long the end of the job is waited for: whoever pressed Ctrl-C waits for no commit and no savepoint."""
        if JOBS.interrupted_at is None:
            return self._patience
        return min(self._patience, _SECONDS_AFTER_INTERRUPT)

    def turn(self, *, after_first: bool = False) -> GateTurn:
        """Ask for a turn between two epochs: see `RunningJob`."""
        return self._gate.turn(after_first=after_first)

    def stop(self, turn: GateTurn | None = None) -> None:
        """Stop the job after the epoch that is running; it counts as finished.

        Raises:
            PenstockError: What the job failed with before.
        """
        with self._gate.between(turn):
            self._end_here()
        self.wait()

    def _end_here(self) -> None:
        """Let no epoch follow. None may be running."""
        self._observed.stops()
        self._gate.close()
        self._end_soon()

    def checkpoint(self, turn: GateTurn) -> int:
        """Wait for an epoch that holds all the job has done: see `RunningJob`."""
        with self._gate.between(turn):
            self._check_running()
            last = self._gate.last
        if last is None:
            raise SavepointError("No epoch was committed.", hint="The job has been stopped before.")
        return last.number

    def savepoint(
        self,
        path: str | None = None,
        *,
        directory: str | None = None,
        stops: bool = False,
        ends_event_time: bool = False,
        turn: GateTurn | None = None,
    ) -> str:
        """Write a savepoint: see `RunningJob`."""
        with closing(turn or self.turn(after_first=True)) as taken:
            return self._savepoint(path, directory, stops, ends_event_time, taken)

    def _savepoint(
        self,
        path: str | None,
        directory: str | None,
        stops: bool,
        ends_event_time: bool,
        turn: GateTurn,
    ) -> str:
        target = self._savepoints.place(path, directory)
        with self._gate.between(turn):
            self._check_running()
            if stops and ends_event_time:
                self._savepoints.check_before_the_end(target)
                self._last_savepoint = target
                self._observed.stops()
                self._gate.close(wants_end=True)
                self._waits_no_longer.set()
            else:
                self._write_savepoint(target, stops=stops)
                if stops:
                    self._end_here()
        if stops:
            self.wait()
        return target.location

    def _check_running(self) -> None:
        if self._ended.is_set() and self._error is not None and not self._is_cancelled:
            self._note_told()
            raise SavepointError(
                f"The job has failed, so no savepoint can be taken of it: {summary_of(self._error)}",
                hint="Start it again on its checkpoint location: it goes on from its last epoch.",
            ) from self._error
        if self._ended.is_set() or self._gate.is_closed:
            raise SavepointError(
                "The job has ended, or is about to, so no savepoint can be taken of it.",
                hint="If it was stopped, start the next one on its checkpoint location, where it goes on. If it has read "
                "all of its input, nothing is left to go on from but a savepoint that was taken before.",
            )


def _is_of_interrupt(error: BaseException | None) -> bool:
    """Whether a job failed because Ctrl-C ended what it ran on."""
    if isinstance(error, (KeyboardInterrupt, SessionLostError)):
        return True
    return isinstance(error, JobFailedError) and "cancellation of all jobs" in error.message
