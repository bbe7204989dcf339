"""A job on a server is followed without its program, by what its driver's side reports; without Spark."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.executors.driver.reports import views
from tests.executors.spark.hosted import there
from tests.executors.spark.hosted.there import Driver

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.common.job_client import JobClient
from penstock.common.job_status import JobStatus
from penstock.errors import (
    JobCancelledError,
    JobDriverLostError,
    NoRunningJobError,
    SavepointError,
    UserFunctionError,
)
from penstock.executors.driver.epoch_feed import EpochResult
from penstock.executors.driver.interrupts import JOBS
from penstock.executors.driver.recovery.restarts import Restart
from penstock.executors.spark.hosted import remote_run
from penstock.executors.spark.hosted.attached import attached_job as module
from penstock.executors.spark.hosted.attached.attached_job import AttachedJob, attached_job


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    there.hurry(monkeypatch)
    found = Driver(tmp_path)
    yield found
    found.kill()


def attached(place: Path) -> AttachedJob:
    spark: Any = None
    return attached_job(spark, str(place))


def test_a_job_is_found_with_its_name_and_id(driver: Driver, tmp_path: Path) -> None:
    job = JobClient(attached(tmp_path))
    assert job.name == "fares"
    assert str(job.get_job_id()) == views.JOB_ID
    assert job.get_job_status().result() is JobStatus.RUNNING
    assert "fares" in job.where_it_stands()


def test_where_no_job_runs_it_is_said_what_to_give(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NoRunningJobError, match=r"(?s)elsewhere.*Hint: .*execution.checkpointing"):
        attached(tmp_path / "elsewhere")
    driver.kill()
    monkeypatch.setattr(module, "_SECONDS_FOR_SIGN", 0.05)
    with pytest.raises(NoRunningJobError):
        attached(tmp_path)


def test_a_job_that_has_ended_is_none_that_runs(driver: Driver, tmp_path: Path) -> None:
    driver.job.stop()
    driver._thread.join(10)
    with pytest.raises(NoRunningJobError):
        attached(tmp_path)


def test_it_is_asked_how_the_job_is_doing(driver: Driver, tmp_path: Path) -> None:
    job = attached(tmp_path)
    before = job.progress().records_in
    job.look()
    assert job.progress().records_in > before


def test_of_a_job_that_has_ended_nothing_new_is_said(driver: Driver, tmp_path: Path) -> None:
    job = attached(tmp_path)
    driver.job.stop()
    assert job.wait().status is JobStatus.FINISHED
    job.look()
    assert job.progress().status is JobStatus.FINISHED


def test_a_job_is_stopped(driver: Driver, tmp_path: Path) -> None:
    job = JobClient(attached(tmp_path))
    job.stop().result()
    assert job.get_job_status().result() is JobStatus.FINISHED
    assert job.result().metrics["records_in"] > 0
    with pytest.raises(SavepointError, match="has ended"):
        job.savepoint("/saved").result()


def test_a_job_is_cancelled(driver: Driver, tmp_path: Path) -> None:
    job = JobClient(attached(tmp_path))
    job.cancel().result()
    assert job.get_job_status().result() is JobStatus.CANCELED
    with pytest.raises(JobCancelledError):
        job.result()


def test_savepoints_and_checkpoints_are_asked_for(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = JobClient(attached(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert job.checkpoint().result() == 7
    assert job.trigger_savepoint("all").result() == f"{tmp_path}/all/savepoint-1"
    asked = {"path": None, "directory": f"{tmp_path}/all", "stops": False, "ends_event_time": False}
    assert driver.job.asked == [asked]
    assert (
        job.stop_with_savepoint(
            advance_to_end_of_event_time=True, savepoint_directory="/all"
        ).result()
        == "/all/savepoint-1"
    )
    assert job.get_job_status().result() is JobStatus.FINISHED


def test_what_the_job_fails_with_is_raised_by_whoever_waits(driver: Driver, tmp_path: Path) -> None:
    job = JobClient(attached(tmp_path))
    driver.job.fail(UserFunctionError("a wrong word"))
    with pytest.raises(UserFunctionError, match="a wrong word"):
        job.result()
    assert job.progress().status is JobStatus.FAILED
    assert isinstance(job.progress().last_error, UserFunctionError)


def test_a_failure_that_nobody_waits_for_is_logged_when_somebody_asks(
    driver: Driver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    job = attached(tmp_path)
    driver.job.fail(UserFunctionError("a wrong word"))
    assert job._done.wait(20)
    for _ in range(2):
        assert JobClient(job).get_job_status().result() is JobStatus.FAILED
    assert [line.levelname for line in caplog.records].count("ERROR") == 1
    assert job.view().status is JobStatus.FAILED


def test_a_driver_that_dies_is_missed(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = attached(tmp_path)
    monkeypatch.setattr(remote_run, "_SECONDS_WITHOUT_SIGN", 0.05)
    driver.kill()
    with pytest.raises(JobDriverLostError, match="'fares'"):
        job.wait()
    assert job.view().status is JobStatus.FAILED
    assert job.view().ended is not None


def test_what_epochs_print_is_not_told_and_restarts_are_logged(
    driver: Driver,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    job = attached(tmp_path)
    driver.reports.hear(EpochResult(EpochRecord(3), printed=["a word"]))
    driver.reports.hear(Restart(1, UserFunctionError("a wrong word"), 10, 4))
    job.look()
    (line,) = [line for line in caplog.records if line.levelno == logging.WARNING]
    assert "fares: epoch 4 failed" in line.getMessage()
    assert capsys.readouterr().out == ""


def test_the_end_of_this_process_is_nothing_to_the_job(driver: Driver, tmp_path: Path) -> None:
    job = attached(tmp_path)
    JOBS.cancel_all()
    job.look()
    assert not driver.job.has_ended
