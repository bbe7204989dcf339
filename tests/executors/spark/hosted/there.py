"""The driver's side of a job without a server: it reports at a place, which a client reads by itself."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.executors.driver.reports import views

from penstock.checkpoint.storage import LocalStorage, open_storage
from penstock.common.job_status import JobStatus
from penstock.common.running_job import JobProgress
from penstock.executors.driver.reports.job_view import JobView
from penstock.executors.spark.hosted import living, remote_run, reports
from penstock.executors.spark.hosted.attached import attached_job
from penstock.executors.spark.hosted.client_files import FilesInStore
from penstock.executors.spark.hosted.reports import REPORTS, REQUESTS, ReportWriter
from penstock.executors.spark.hosted.requests import Requests


class JobThere:
    """What a driver runs: a view, and what is asked of it."""

    def __init__(self) -> None:
        self.shown = views.view()
        self.asked: list[dict[str, Any]] = []
        self.error: Exception | None = None
        self.looks = 0

    @property
    def has_ended(self) -> bool:
        return self.shown.status.is_terminal_state()

    def look(self) -> tuple[JobProgress, JobView]:
        self.looks += 1
        return JobProgress(self.shown.status, records_in=self.looks), self.shown

    def _end(self, status: JobStatus) -> None:
        self.shown = dataclasses.replace(self.shown, status=status, ended=self.shown.at)

    def cancel(self) -> None:
        self._end(JobStatus.CANCELED)

    def stop(self) -> None:
        self._end(JobStatus.FINISHED)

    def fail(self, error: Exception) -> None:
        self.error = error
        self._end(JobStatus.FAILED)

    def turn(self) -> None:
        """Return none."""

    def checkpoint(self, _: None) -> int:
        return 7

    def savepoint(self, **asked: Any) -> str:
        self.asked.append(asked)
        if asked["stops"]:
            self.stop()
        return f"{asked['directory']}/savepoint-1"


class Driver:
    """Runs such a job at a place until it has ended, or is killed."""

    def __init__(self, place: Path, folder: str = "1-2-3") -> None:
        self.job = JobThere()
        storage = LocalStorage(str(place), is_durable=False)
        self.reports = ReportWriter(storage, f"{REPORTS}/{folder}", self.job.look)
        job: Any = self.job
        self._requests = Requests(storage, f"{REQUESTS}/{folder}", job, self.reports.answer)
        self._is_killed = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.reports.write()
        self._thread.start()

    def _run(self) -> None:
        while not self.job.has_ended:
            if self._is_killed.wait(0.005):
                return
            self._requests.look()
            self.reports.write()
        self._requests.finish()
        self.reports.end(self.job.shown.status, self.job.error)

    def kill(self) -> None:
        """Give no further sign of life."""
        self._is_killed.set()
        self._thread.join(10)


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have all that waits, wait briefly."""
    monkeypatch.setattr(living, "_POLL_SECONDS", 0.005)
    monkeypatch.setattr(attached_job, "_SECONDS_FOR_SIGN", 5.0)
    monkeypatch.setattr(reports, "_SECONDS_IDLE", 0.01)
    monkeypatch.setattr(reports, "_SECONDS_BETWEEN", 0.01)
    monkeypatch.setattr(FilesInStore, "seconds", 0.005)
    monkeypatch.setattr(
        attached_job, "client_files", lambda _, place: FilesInStore(open_storage(place))
    )
    monkeypatch.setattr(remote_run, "is_alive", lambda *_: True)
    monkeypatch.setattr(attached_job, "_POLL_SECONDS", 0.005)
