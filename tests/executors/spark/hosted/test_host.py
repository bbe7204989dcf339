"""The driver's side of a job on a server reports how it ended, and what it logged; without Spark."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.common.epoch_listener import JobEnded
from penstock.common.job_status import JobStatus
from penstock.common.running_job import JobProgress
from penstock.errors import PenstockError
from penstock.executors.driver.reports.task_lines import TaskLines
from penstock.executors.port import JobRequest
from penstock.executors.spark.hosted.host import Host
from penstock.executors.spark.hosted.reports import Report
from penstock.executors.spark.hosted.travel import Travelling

LOG = logging.getLogger("penstock")


class Job:
    """A job that has ended as soon as it is started."""

    def progress(self) -> JobProgress:
        return JobProgress(JobStatus.FINISHED)


@pytest.fixture(autouse=True)
def _own_filters() -> Iterator[None]:
    known = list(LOG.filters)
    yield
    LOG.filters[:] = known


def reports_of(place: Path, submit: Any) -> list[Report]:
    """Run a job at a place, and return what was reported."""
    graph: Any = None
    settings = Configuration().set_string("execution.checkpointing.dir", str(place))
    request = JobRequest("shop", graph, settings)
    Host(Travelling("1" * 32, "1-2-3", request, {}), submit).run()
    found = sorted((place / "reports" / "1-2-3").iterdir())
    return [pickle.loads(path.read_bytes()) for path in found if path.stat().st_size]


def logged(reports: list[Report]) -> list[str]:
    news = [told for report in reports for told in report.news if isinstance(told, TaskLines)]
    return [str(line.attributes["msg"]) for told in news for line in told.lines]


def test_what_was_logged_and_the_end_of_a_job_are_reported(tmp_path: Path) -> None:
    def submit(request: JobRequest, _: Any) -> Any:
        LOG.warning("The disk is slow.")
        for listener in request.listeners:
            listener.on_job_ended(JobEnded("1" * 32, JobStatus.FINISHED, 3, None))
        return Job()

    reports = reports_of(tmp_path, submit)
    assert logged(reports) == ["The disk is slow."]
    assert (reports[-1].status, reports[-1].error) == (JobStatus.FINISHED, None)


def test_what_was_logged_before_a_start_that_failed_is_reported(tmp_path: Path) -> None:
    def submit(*_: Any) -> Any:
        LOG.warning("The disk is slow.")
        raise PenstockError("There is no disk.")

    reports = reports_of(tmp_path, submit)
    assert logged(reports) == ["The disk is slow."]
    assert reports[-1].status is JobStatus.FAILED
    assert "There is no disk." in str(reports[-1].error)
