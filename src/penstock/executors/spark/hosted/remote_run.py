"""Runs a job whose driver's side is on a server: starts that, hears of it, and asks it to stop."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Protocol

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.common.job_status import JobStatus
from penstock.common.running_job import JobProgress
from penstock.errors import (
    JobDriverLostError,
    LocationInUseError,
    PenstockError,
    ReportsMissedError,
    SavepointError,
    WorkerPythonError,
)
from penstock.executors.driver.epoch_feed import EpochFeed, EpochResult
from penstock.executors.driver.reports.job_view import JobView
from penstock.executors.spark.failures import as_penstock_error, spark_errors
from penstock.executors.spark.hosted.attached.plain_reports import plain
from penstock.executors.spark.hosted.mailbox import Found, Mailbox
from penstock.executors.spark.hosted.reports import Answer, Report, told_in
from penstock.executors.spark.hosted.requests import CANCEL, SAVEPOINT, STOP
from penstock.executors.spark.hosted.travel import whole_place
from penstock.executors.spark.session import is_alive, session_lost

_SECONDS_FOR_CANCEL: Final = 6.0
_SECONDS_UNREAD: Final = 60.0
_SECONDS_WITHOUT_SIGN: Final = 30.0
_SECONDS_OF_SILENCE: Final = 15.0
_SECONDS_BETWEEN_GLANCES: Final = 1.0
_MOST_TEXT: Final = 300
_LOG: Final = logging.getLogger("penstock")


class Observer(Protocol):
    """Learns how a job is doing."""

    def seen_there(self, view: JobView) -> None:
        """Learn how it is doing from where its driver's side is."""


Begin = Callable[[], tuple[StreamingQuery | None, Mailbox]]
"""Starts the driver's side, or finds the one there is: then without its query."""


class RemoteRun:
    """Follows the driver's side of a job, which is on a server.

    Args:
        title: What messages call the job.
        spark: The session.
        begin: Starts the driver's side, or finds it.
        feed: Takes what a client hears of.
        observed: Learns how the job is doing.
        collects: Whether the client takes results of the job, none of which it may miss.
        find: Returns the way to a driver that runs already. Default: there is none.

    Attributes:
        progress: How far the job has come; None if nothing is known yet.
        is_over: Whether its driver's side has said that it has ended.
        is_lost: Whether it has failed as the driver's side has died, and another may go on.
    """

    def __init__(
        self,
        title: str,
        spark: SparkSession,
        begin: Begin,
        feed: EpochFeed,
        observed: Observer,
        *,
        collects: bool,
        find: Callable[[], Mailbox | None] = lambda: None,
    ) -> None:
        self._title = title
        self._spark = spark
        self._begin = begin
        self._feed = feed
        self._observed = observed
        self._collects = collects
        self._find = find
        self.progress: JobProgress | None = None
        self.is_lost = self.is_over = False
        self._mailbox: Mailbox | None = None
        self._is_cancelled = self._is_stopped = False
        self._asked: set[str] = set()
        self._answers: dict[str, Answer] = {}
        self._answered = threading.Condition()
        self._has_ended = False
        self._looked = 0.0
        self._unread_since: float | None = None

    def __call__(self, stop: threading.Event) -> None:
        """Follow the job until it has ended; ask it to end once `stop` is set.

        Raises:
            JobDriverLostError: If its driver's side dies.
            SessionLostError: If the session ends.
            PenstockError: What the job failed with.
        """
        self.is_lost = self._has_ended = False
        self._unread_since = None
        self._asked.clear()
        self._is_stopped = False
        is_over = threading.Event()
        try:
            with spark_errors(self._title):
                query, mailbox = self._begin()
                self._looked = time.monotonic()
                watch = (query, stop, is_over)
                threading.Thread(target=self._watch, args=watch, name="watch", daemon=True).start()
                with self._answered:
                    self._mailbox = mailbox
                    self._answered.notify_all()
                last = self._follow(query, mailbox, stop)
                if last is not None and isinstance(last.error, LocationInUseError):
                    last = self._follow_other(stop) or last
        except PenstockError as error:
            if not (self.is_lost or stop.is_set() or is_alive(self._spark, error)):
                raise session_lost(self._title, error, can_go_on=False) from error
            raise
        finally:
            is_over.set()
            with self._answered:
                # Nobody reads what is left there now.
                self._mailbox, self._has_ended = None, True
                self._answered.notify_all()
        if last is not None and last.error is not None and last.status is not JobStatus.CANCELED:
            raise last.error

    def _watch(
        self, query: StreamingQuery | None, stop: threading.Event, is_over: threading.Event
    ) -> None:
        """Do what the thread that follows the job cannot while Spark keeps it waiting: for an answer, or for a core."""
        is_silent, cancelled_at = False, None
        while not is_over.wait(_SECONDS_BETWEEN_GLANCES):
            now = time.monotonic()
            seconds = now - self._looked
            if seconds > _SECONDS_OF_SILENCE and not is_silent:
                _LOG.warning(
                    "Nothing was heard of %s for %d s: the server of Spark Connect does not answer, or has no core to spare. "
                    "What is shown of the job is as old.",
                    self._title,
                    seconds,
                )
            is_silent = seconds > _SECONDS_OF_SILENCE
            if query is not None and stop.is_set() and self._is_cancelled:
                cancelled_at = cancelled_at or now
                if now - cancelled_at > _SECONDS_FOR_CANCEL:
                    self._is_stopped = True
                    # Of a server that is gone, whoever follows the job is told.
                    with suppress(PySparkException):
                        query.stop()
                    query = None

    def _follow_other(self, stop: threading.Event) -> Report | None:
        """Follow the driver that another client has started at the same time, and that has got the place; None if there is none."""
        other = self._find()
        if other is None:
            return None
        self.is_over = False
        with self._answered:
            self._mailbox = other
            self._answered.notify_all()
        return self._follow(None, other, stop)

    def _follow(
        self, query: StreamingQuery | None, mailbox: Mailbox, stop: threading.Event
    ) -> Report | None:
        alive_at = time.monotonic()
        while True:
            is_active = query is None or query.isActive
            # This process may be paused from here on, and what it then finds is as old.
            now = time.monotonic()
            found = self._news_in(mailbox)
            self._looked = time.monotonic()
            for report in found.reports:
                self._take(report)
                if report.status is not None:
                    self.is_over = True
                    return report
            self._check_missed(found.missed)
            alive_at = now if found.lives else alive_at
            if self._is_stopped and not is_active:
                return None
            if not is_active or (query is None and now - alive_at > _SECONDS_WITHOUT_SIGN):
                raise self._lost(query)
            if stop.is_set():
                self._ask_once(CANCEL if self._is_cancelled else STOP)
            stop.wait(mailbox.seconds) if not stop.is_set() else time.sleep(mailbox.seconds)

    def _news_in(self, mailbox: Mailbox) -> Found:
        """Look for news. A place that cannot be read for a moment says nothing of the job, which runs on."""
        try:
            found = mailbox.new()
        except (OSError, PySparkException):
            now = time.monotonic()
            self._unread_since = self._unread_since or now
            if now - self._unread_since > _SECONDS_UNREAD or not is_alive(self._spark):
                raise
            return Found([], lives=True)
        self._unread_since = None
        return found

    def _take(self, report: Report) -> None:
        for news in report.news:
            if isinstance(news, EpochResult):
                self._feed.gate.passed(news.record, None)
            self._feed.put(news)
        self.progress = report.progress
        if report.view is not None:
            self._observed.seen_there(report.view)
        with self._answered:
            self._answers |= report.answers
            self._answered.notify_all()

    def _check_missed(self, missed: int) -> None:
        if missed and self._collects:
            raise ReportsMissedError(
                f"{self._title} runs on, but {missed} of its reports were deleted before this process had read them, or "
                "cannot be read here, and with them results.",
                hint="Let results go to a sink, or keep the process that collects them awake, and on the server's machine "
                "and this one what their classes need. The log says why a report cannot be read.",
            )

    def _lost(self, query: StreamingQuery | None) -> PenstockError:
        reason = None if query is None else query.exception()
        if reason is not None:
            told = told_in(str(reason), plain)
            if told is not None:
                return told
            found = as_penstock_error(reason, self._title)
            if isinstance(found, WorkerPythonError):
                return found
            text = str(reason).partition("\n")[0][:_MOST_TEXT]
        else:
            text = "it gives no sign of life"
        self.is_lost = True
        return JobDriverLostError(
            f"The driver's side of {self._title}, which runs in a Python process of the server, has died: {text}",
            hint="Start the program again: it goes on from its last epoch. With a restart strategy that happens by itself, as "
            "long as this process lives. The server's log says more.",
        )

    def interrupt(self) -> None:
        """Have the job cancelled."""
        self._is_cancelled = True

    def _ask_once(self, what: str) -> None:
        if what not in self._asked and self._mailbox is not None:
            self._asked.add(what)
            self._mailbox.ask(what)

    def ask(self, what: str, **more: Any) -> Any:
        """Ask the driver's side for something, and return what it gives.

        Raises:
            SavepointError: If it ends before.
            PenstockError: What it raised.
        """
        with self._answered:
            self._answered.wait_for(lambda: self._mailbox is not None or self._has_ended)
            mailbox = self._mailbox
        if mailbox is None:
            raise self._ended_before()
        with spark_errors(self._title):
            request = mailbox.ask(what, **more)
        with self._answered:
            self._answered.wait_for(
                lambda: request in self._answers or self._mailbox is not mailbox
            )
            answer = self._answers.pop(request, None)
        if answer is None:
            raise self._ended_before()
        if answer.error is not None:
            raise answer.error
        return answer.found

    def savepoint(
        self, path: str | None, directory: str | None, *, stops: bool, ends_event_time: bool
    ) -> str:
        """Have the driver's side write a savepoint, and return its place: see `RunningJob`.

        Raises:
            SavepointError: If the job ends without one.
            PenstockError: What the driver's side raised.
        """
        found: str | None = self.ask(
            SAVEPOINT,
            path=path and whole_place(path),
            directory=directory and whole_place(directory),
            stops=stops,
            ends_event_time=ends_event_time,
        )
        if found is None:
            raise SavepointError(
                "The job has ended without a savepoint.", hint="See its own error."
            )
        return found

    def _ended_before(self) -> SavepointError:
        return SavepointError(
            f"{self._title} has ended before it did what it was asked for.",
            hint="See how it has ended: wait() returns or raises it.",
        )
