"""The driver's side of a job, in a Python process of a server of Spark Connect."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from pyspark.sql import SparkSession

from penstock.checkpoint.storage import LocalStorage, Storage, open_storage
from penstock.common.configuration import options
from penstock.common.epoch_listener import EpochListener, JobEnded
from penstock.common.job_status import JobStatus
from penstock.common.running_job import JobProgress, RunningJob
from penstock.errors import PenstockError
from penstock.executors.driver.observation.observed_job import ObservedJob
from penstock.executors.driver.reports.job_view import JobView
from penstock.executors.port import JobRequest
from penstock.executors.spark.hosted.host_log import HostLog
from penstock.executors.spark.hosted.reports import END, REPORTS, REQUESTS, ReportWriter, in_text
from penstock.executors.spark.hosted.requests import Requests
from penstock.executors.spark.hosted.sessions import keep_sessions_open
from penstock.executors.spark.hosted.travel import Travelling, unpacked

_POLL_SECONDS: Final = 0.05
_LOOK_SECONDS: Final = 0.2
_SECONDS_FOR_LAST_WORDS: Final = 60.0
_MOST_ENDED: Final = 5
"""How many drivers that have ended keep their last words for as long as no job has run that much longer."""
_LOOK_SECONDS_IN_STORE: Final = 1.0
"""Each look is a request, which costs money."""


Submit = Callable[[JobRequest, ObservedJob], RunningJob]
"""Starts a job in this process."""


class _End(EpochListener):
    """Hears of the end of the job."""

    def __init__(self) -> None:
        self.has_come = threading.Event()
        self.job: JobEnded | None = None

    def on_job_ended(self, event: JobEnded) -> None:
        self.job = event
        self.has_come.set()


class Host:
    """Runs a job, and reports of it.

    Args:
        given: What has come from the client.
        submit: Starts a job.
    """

    def __init__(self, given: Travelling, submit: Submit) -> None:
        self._given = given
        self._submit = submit
        place = given.request.configuration.get(options.CHECKPOINT_DIR) or ""
        self._storage = _quick(open_storage(place))
        self._observed = ObservedJob(given.job_id, given.request)
        self._reports = ReportWriter(self._storage, f"{REPORTS}/{given.folder}", self._look)
        self._observed.hears = self._reports.hear
        self._log = HostLog()
        self._log.listen()
        self._end = _End()
        given.request.listeners = (self._end,)
        self._job: RunningJob | None = None

    def _look(self) -> tuple[JobProgress, JobView]:
        job = self._job
        progress = JobProgress(JobStatus.CREATED) if job is None else job.progress()
        return progress, self._observed.view()

    def begin(self) -> None:
        """Write the first report, which shows that others can be written.

        Raises:
            PenstockError: If it cannot.
        """
        self._reports.write()

    def run(self) -> None:
        """Run the job to its end, whatever that is.

        Raises:
            PenstockError: If that cannot be reported.
        """
        try:
            self._job = self._submit(self._given.request, self._observed)
        except Exception as error:  # noqa: BLE001 - the client raises it
            self._tell_log()
            self._reports.end(JobStatus.FAILED, error)
            # It has not got the place: who gives no last word may run there.
            self._forget_others(_MOST_ENDED, ended_alone=True)
            return
        self._log.listen()
        requests = Requests(
            self._storage, f"{REQUESTS}/{self._given.folder}", self._job, self._reports.answer
        )
        is_local = isinstance(self._storage, LocalStorage)
        seconds = _LOOK_SECONDS if is_local else _LOOK_SECONDS_IN_STORE
        looked, begun, has_forgotten = 0.0, time.monotonic(), False
        while not self._end.has_come.wait(_POLL_SECONDS):
            # A place that is full or away for a while fails epochs, after which the job itself is restarted, or not.
            with suppress(OSError):
                if time.monotonic() - looked > seconds:
                    looked = time.monotonic()
                    self._tell_log()
                    requests.look()
                self._reports.write()
                if not has_forgotten and time.monotonic() - begun > _SECONDS_FOR_LAST_WORDS:
                    has_forgotten = True
                    self._forget_others()
        requests.finish()
        self._tell_log()
        ended = self._end.job
        assert ended is not None
        self._reports.end(ended.status, ended.error)
        with suppress(OSError):
            self._forget_others(_MOST_ENDED)

    def _tell_log(self) -> None:
        lines = self._log.take()
        if lines is not None:
            self._reports.hear(lines)

    def _forget_others(self, but_latest: int = 0, *, ended_alone: bool = False) -> None:
        """Delete what earlier drivers reported, which their clients have read: this one has the place now.

        Args:
            but_latest: Of how many it is left.
            ended_alone: Whether only those are meant that have said how they ended.
        """
        reports = self._storage.names(REPORTS)
        drivers = {_driver_of(name) for name in reports}
        ended = {_driver_of(name) for name in reports if name.endswith(END)}
        others = sorted((ended if ended_alone else drivers) - {self._given.folder})
        gone = set(others[: max(len(others) - but_latest, 0)])
        gone |= {_driver_of(name) for name in self._storage.names(REQUESTS)} - drivers
        for driver in gone:
            for folder in (REPORTS, REQUESTS):
                self._storage.delete_folder(f"{folder}/{driver}")


def _driver_of(name: str) -> str:
    return name.split("/")[1]


def _quick(storage: Storage) -> Storage:
    """Return a storage for what need not outlive the machine."""
    if isinstance(storage, LocalStorage):
        return LocalStorage(storage.location, is_durable=False)
    return storage


def run_job(payload: bytes, spark: SparkSession, submit: Submit) -> None:
    """Run the job that has come from a client; called in a process of the server's.

    Args:
        payload: The job.
        spark: The session that the process has been given.
        submit: Starts a job.
    """
    _end_with_parent()
    given = unpacked(payload, spark)
    keep_sessions_open(spark, given.session_id)
    # What the job prints is for its client. Here it would be in the server's log.
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the process ends
    vars(sys.modules["__main__"]).update(given.main)
    try:
        host = Host(given, submit)
        host.begin()
        host.run()
    except PenstockError as error:
        # Nobody reads a report that cannot be written; the error of a query is read.
        raise RuntimeError(in_text(error)) from error


def _end_with_parent() -> None:
    """Have this process end with the server, which may be killed: it would hold the job's place, and wait for it."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_POLL_SECONDS)
        with suppress(Exception):
            sys.stderr.flush()
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()
