"""A job that runs on a server, as a process sees it which does not know its program."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from pyspark.sql import SparkSession

from penstock.common.job_status import JobStatus
from penstock.common.plain_text import shown_name
from penstock.common.running_job import JobProgress, Turn
from penstock.errors import NoRunningJobError, SavepointError
from penstock.executors.driver.epoch_feed import EpochFeed, News
from penstock.executors.driver.progress.job_line import job_line, last_line
from penstock.executors.driver.progress.places import at_interrupt
from penstock.executors.driver.recovery.restarts import FailureLog, Restart
from penstock.executors.driver.reports.job_view import JobView, end_of
from penstock.executors.driver.reports.task_lines import TaskLines, TaskLog
from penstock.executors.spark.failures import spark_errors
from penstock.executors.spark.hosted.attached.plain_reports import plain_report
from penstock.executors.spark.hosted.client_files import client_files
from penstock.executors.spark.hosted.living import living_driver
from penstock.executors.spark.hosted.mailbox import Mailbox
from penstock.executors.spark.hosted.remote_run import RemoteRun
from penstock.executors.spark.hosted.reports import Report
from penstock.executors.spark.hosted.requests import CHECKPOINT, LOOK
from penstock.executors.spark.hosted.travel import whole_place
from penstock.interruptible import wait_until

_LOG: Final = logging.getLogger("penstock")
_POLL_SECONDS: Final = 0.1
_MOST_POLLS: Final = 20
_SECONDS_FOR_SIGN: Final = 10.0
"""A job that is taken for dead is forgotten by the command."""


class _NoTurn:
    """The driver's side takes what it is asked for in its own turn."""

    def close(self) -> None:
        """Give nothing up."""


class _Told(EpochFeed):
    """Hands on what is told of the job at once.

    Args:
        hear: Takes it.
    """

    def __init__(self, hear: Callable[[News], None]) -> None:
        super().__init__()
        self._hear = hear

    def put(self, result: News) -> None:
        """Hand it on."""
        self._hear(result)


class AttachedJob:
    """A job that runs on a server: see `RunningJob`. That this process ends is nothing to the job.

    Args:
        spark: The session.
        mailbox: The way to its driver's side.
        first: What that has reported last.
    """

    def __init__(self, spark: SparkSession, mailbox: Mailbox, first: Report) -> None:
        assert first.view is not None
        self.job_id, self.name = first.view.job_id, first.view.name
        self._seen = first.view
        self._log, self._failures = TaskLog(), FailureLog()
        self._stop, self._done = threading.Event(), threading.Event()
        self._error: BaseException | None = None
        self._is_told = False
        self._run = RemoteRun(
            f"Job {self.name!r}",
            spark,
            lambda: (None, mailbox),
            _Told(self._hear),
            self,
            collects=False,
        )
        self._run.progress = first.progress
        threading.Thread(target=self._follow, name=f"job-{self.job_id}", daemon=True).start()

    def _follow(self) -> None:
        try:
            self._run(self._stop)
        except BaseException as error:  # noqa: BLE001 - whoever waits raises it
            self._error = error
        finally:
            self._done.set()

    def _hear(self, news: News) -> None:
        # What epochs printed and collected is for the program.
        if isinstance(news, TaskLines):
            self._log.show(news)
        elif isinstance(news, Restart):
            _LOG.warning("%s", self._failures.text(shown_name(self.name), news))

    def seen_there(self, view: JobView) -> None:
        """Learn how the job is doing."""
        self._seen = view

    @property
    def running(self) -> AttachedJob | None:
        """What steers it; None once it has ended."""
        return None if self.has_ended else self

    @property
    def has_ended(self) -> bool:
        """Whether it has ended."""
        return self._done.is_set()

    def look(self) -> None:
        """Have it said how the job is doing now: by itself that is said only when something has happened."""
        with suppress(SavepointError):  # it has ended, and has said how
            self._ask(LOOK)

    def _ask(self, what: str) -> Any:
        self._check_running()
        return self._run.ask(what)

    def _check_running(self) -> None:
        if self.has_ended:
            raise SavepointError(
                "The job has ended, so nothing can be asked of it.",
                hint="Start its program again: it goes on from its last epoch.",
            )

    def progress(self) -> JobProgress:
        """Return how far the job has come, as was last reported."""
        found = self._run.progress
        assert found is not None
        if self._error is None:
            return found
        return replace(found, status=JobStatus.FAILED, last_error=self._error)

    def view(self) -> JobView:
        """Return the job as it is seen now."""
        seen, now = self._seen, time.time_ns() // 1_000_000
        if seen.status.is_terminal_state():
            return seen
        if self._error is None:
            return replace(seen, at=max(seen.at, now))
        status = JobStatus.FAILED
        phase = end_of(status, is_stopped=False) or seen.phase
        return replace(seen, status=status, phase=phase, at=now, ended=now)

    def where_it_stands(self) -> str:
        """Return how the job is doing, or how it has ended, in a line for people."""
        view = self.view()
        return last_line(view) if view.status.is_terminal_state() else job_line(view)

    def tell_end(self) -> None:
        """Say how the job has ended on standard error."""
        sys.stderr.write(at_interrupt(self.where_it_stands()))

    def tell_failure(self) -> None:
        """Say in the log why the job has failed, if it has and nobody was told."""
        if self.has_ended and self._error is not None and not self._is_told:
            self._is_told = True
            _LOG.error("%s has failed: %s", shown_name(self.name), self._error)

    def wait(self) -> JobProgress:
        """Wait until the job has ended.

        Raises:
            KeyboardInterrupt: If Ctrl-C comes; the job runs on.
            PenstockError: What the job failed with.
        """
        wait_until(self._done.wait)
        if self._error is not None:
            self._is_told = True
            raise self._error
        return self.progress()

    def check_may_wait(self) -> None:
        """Everybody may wait for its end: see `RunningJob`."""

    def cancel(self) -> None:
        """Stop the job; what is not committed is given up."""
        self._run.interrupt()
        self._stop.set()

    def turn(self, *, after_first: bool = False) -> _NoTurn:
        """Return nothing: the driver's side has its own turns."""
        return _NoTurn()

    def stop(self, turn: Turn | None = None) -> None:
        """Stop the job after the epoch that is running, and wait for its end.

        Raises:
            PenstockError: What the job failed with.
        """
        self._stop.set()
        self.wait()

    def checkpoint(self, turn: Turn) -> int:
        """Wait for an epoch that holds all the job has done: see `RunningJob`."""
        found: int = self._ask(CHECKPOINT)
        return found

    def savepoint(
        self,
        path: str | None = None,
        *,
        directory: str | None = None,
        stops: bool = False,
        ends_event_time: bool = False,
        turn: Turn | None = None,
    ) -> str:
        """Write a savepoint: see `RunningJob`."""
        self._check_running()
        found = self._run.savepoint(path, directory, stops=stops, ends_event_time=ends_event_time)
        if stops:
            self.wait()
        return found


def attached_job(spark: SparkSession, checkpoint_dir: str) -> AttachedJob:
    """Return the job that runs at a checkpoint location on a server.

    Args:
        spark: A session that reaches the location.
        checkpoint_dir: The location.

    Raises:
        NoRunningJobError: If none runs there.
    """
    with spark_errors("attach"):
        files = client_files(spark, whole_place(checkpoint_dir))
        folder = living_driver(files, _SECONDS_FOR_SIGN)
        if folder is not None:
            mailbox = Mailbox(files, folder, plain_report)
            mailbox.skip_to_now()
            last = _last_report(mailbox)
            if last is not None and last.status is None:
                return AttachedJob(spark, mailbox, last)
    raise NoRunningJobError(
        f"No job runs on a server of Spark Connect at the checkpoint location {checkpoint_dir}: none gives a sign of life "
        "there.",
        hint="Give the location as the job has it, in execution.checkpointing.dir, and a session of the server that it "
        "runs on. If the job has ended, start its program again: it goes on from its last epoch.",
    )


def _last_report(mailbox: Mailbox) -> Report | None:
    # One that is there may be deleted before it is read: then another is there.
    for _ in range(_MOST_POLLS):
        reports = mailbox.new().reports
        if reports:
            return reports[-1]
        time.sleep(_POLL_SECONDS)
    return None
