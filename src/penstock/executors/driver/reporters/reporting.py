"""Reporters at work: each has a thread, and is shared by the jobs of the process that are told the same of it."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Final

from penstock.common.configuration.configuration import Configuration
from penstock.errors import PenstockError
from penstock.executors.driver.reporters.settings import ReporterSettings, reporter_settings
from penstock.executors.driver.reports.flink_metrics import metrics_of
from penstock.executors.driver.reports.job_view import JobView
from penstock.forked import anew_in_forks
from penstock.metrics import MetricReporter, ReportedMetric

_LOG: Final = logging.getLogger("penstock")
_FIRST_SECONDS: Final = 3.0
"""How long the start of a job may wait for a reporter to open."""
_LAST_SECONDS: Final = 3.0
"""How long the end of a job may wait for its last report."""


class Reporting:
    """The reporters of one job, which report from now on.

    Args:
        configuration: The job's configuration.
        view: Returns the job as it is now.

    Raises:
        PenstockError: If a reporter cannot be what it is configured to be.
    """

    def __init__(self, configuration: Configuration, view: Callable[[], JobView]) -> None:
        self.view = view
        self._at_work: list[ReporterAtWork] = []
        try:
            for settings in reporter_settings(configuration):
                self._at_work.append(_joined(settings, self))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Report for the last time, all at once, and let go of reporters that no other job has."""
        at_work, self._at_work = self._at_work, []
        last = [reporter.report_once_more(closes=_is_left(reporter)) for reporter in at_work]
        until = time.monotonic() + _LAST_SECONDS
        for reporter, request in zip(at_work, last, strict=True):
            reporter.wait_for(request, until)
            with _SHARED.lock:
                reporter.jobs.remove(self)


class _Shared:
    """The reporters that jobs of this process have.

    Attributes:
        lock: Is held while one is looked for, and while jobs come to it and leave it.
        at_work: They, by what they are told.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.at_work: dict[ReporterSettings, ReporterAtWork] = {}


_SHARED: Final = _Shared()
anew_in_forks(_SHARED)


def _joined(settings: ReporterSettings, job: Reporting) -> ReporterAtWork:
    with _SHARED.lock:
        found = _SHARED.at_work.get(settings)
        if found is None:
            from penstock.executors.driver.reporters.factories import reporter_of

            found = ReporterAtWork(settings, reporter_of(settings))
            _SHARED.at_work[settings] = found
        found.jobs.append(job)
        found.staying += 1
        return found


def _is_left(reporter: ReporterAtWork) -> bool:
    """Note that a job leaves a reporter, and return whether all have left it; then none joins it any more."""
    with _SHARED.lock:
        reporter.staying -= 1
        is_last = not reporter.staying
        if is_last:
            del _SHARED.at_work[reporter.settings]
    return is_last


class ReporterAtWork:
    """A reporter with its thread.

    What the reporter raises is logged when it begins to go wrong and when it is well again, and not in between
    unless the cause is another one.

    Args:
        settings: What it is told.
        reporter: The reporter.

    Attributes:
        settings: What it is told.
        jobs: The jobs that it reports on.
        staying: How many of them do not wait for their last report.

    Raises:
        PenstockError: If its settings are wrong.
    """

    def __init__(self, settings: ReporterSettings, reporter: MetricReporter) -> None:
        self.settings = settings
        self.jobs: list[Reporting] = []
        self.staying = 0
        self._reporter = reporter
        self._is_open = False
        self._causes: set[str] = set()
        self._requests: queue.SimpleQueue[Request] = queue.SimpleQueue()
        reporter.metrics = self.metrics
        self._is_scheduled = type(reporter).report is not MetricReporter.report
        opening: Future[bool] = Future()
        self._thread = threading.Thread(
            target=self._work, args=(opening,), name=f"metrics-{settings.name}", daemon=True
        )
        self._thread.start()
        try:
            self._wait_for(opening)
        except BaseException:
            self._requests.put(Request(closes=True))
            raise

    def _wait_for(self, opening: Future[bool]) -> None:
        try:
            opening.result(_FIRST_SECONDS)
        except TimeoutError:
            _LOG.warning(
                "The reporter of metrics %r takes more than %g s to open; the job does not wait for it.",
                self.settings.name,
                _FIRST_SECONDS,
            )

    def metrics(self) -> list[ReportedMetric]:
        """Return the metrics of all its jobs that it reports, as they are now."""
        with _SHARED.lock:
            jobs = list(self.jobs)
        found: list[ReportedMetric] = []
        for job in jobs:
            found += self.settings.naming.reported(metrics_of(job.view()))
        return [metric for metric in found if self.settings.passing.lets_pass(metric)]

    def report_once_more(self, *, closes: bool) -> Request:
        """Ask for a report now, which can be waited for.

        Args:
            closes: Whether nothing is reported after it.
        """
        request = Request(closes)
        self._requests.put(request)
        return request

    def wait_for(self, request: Request, until: float) -> None:
        """Wait for a report that was asked for, but no longer than until a moment (`time.monotonic`)."""
        if not request.done.wait(max(0.0, until - time.monotonic())):
            _LOG.warning(
                "The reporter of metrics %r takes more than %g s; its last report may be lost.",
                self.settings.name,
                _LAST_SECONDS,
            )

    def _work(self, opening: Future[bool]) -> None:
        try:
            opening.set_result(self._try_to_open(refuses=True))
        except PenstockError as error:
            opening.set_exception(error)
        due = time.monotonic() + self.settings.interval
        while True:
            request = self._next(due - time.monotonic())
            closes = request is not None and request.closes
            if self._is_open or (not closes and self._try_to_open()):
                self._report()
            due = time.monotonic() + self.settings.interval
            if closes and self._is_open:
                with self._said("close"):
                    self._reporter.close()
            if request is not None:
                request.done.set()
            if closes:
                return

    def _next(self, seconds: float) -> Request | None:
        try:
            return self._requests.get(timeout=max(seconds, 0.0))
        except queue.Empty:
            return None

    def _try_to_open(self, *, refuses: bool = False) -> bool:
        with self._said("open", refuses=refuses):
            self._reporter.open(self.settings.config)
            self._is_open = True
        return self._is_open

    def _report(self) -> None:
        if not self._is_scheduled:
            return
        with self._said("report"):
            metrics = self.metrics()
            if not metrics:
                return
            self._reporter.report(metrics)
            if self._causes:
                _LOG.info("The reporter of metrics %r works again.", self.settings.name)
                self._causes.clear()

    @contextmanager
    def _said(self, what: str, *, refuses: bool = False) -> Iterator[None]:
        """Log what goes wrong, once.

        Raises:
            PenstockError: If something is wrong that will not pass by itself, and this may refuse.
        """
        try:
            yield
        except (Exception, SystemExit) as error:
            if refuses and isinstance(error, PenstockError) and not isinstance(error, OSError):
                raise
            cause = f"{what} {type(error).__name__} {error}"
            if cause not in self._causes:
                self._causes.add(cause)
                _LOG.warning(
                    "The reporter of metrics %r failed to %s, which harms no job: %s: %s",
                    self.settings.name,
                    what,
                    type(error).__name__,
                    error,
                    exc_info=not isinstance(error, PenstockError),
                )


class Request:
    """A report that somebody waits for.

    Args:
        closes: Whether it is the last one.
    """

    def __init__(self, closes: bool) -> None:
        self.closes = closes
        self.done = threading.Event()
