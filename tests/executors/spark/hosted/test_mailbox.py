"""A driver and its client leave word for each other, through Spark and through an object store."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.servers.s3_server import S3Server

from penstock.checkpoint.storage import LocalStorage, Storage, open_storage
from penstock.common.job_status import JobStatus
from penstock.common.running_job import JobProgress
from penstock.errors import UserFunctionError
from penstock.executors.driver.recovery.restarts import Restart
from penstock.executors.spark.hosted import mailbox as mailbox_module
from penstock.executors.spark.hosted import reports
from penstock.executors.spark.hosted.client_files import (
    ClientFiles,
    FilesThroughWorkers,
    client_files,
)
from penstock.executors.spark.hosted.mailbox import Mailbox, drivers_at
from penstock.executors.spark.hosted.reports import Answer, ReportName, ReportWriter
from penstock.executors.spark.hosted.requests import STOP, Requests

FOLDER = "1-job-digest"


class Place:
    """A location, with the driver of a job."""

    def __init__(self, storage: Storage, files: ClientFiles) -> None:
        self.files, self.storage = files, storage
        view: Any = None
        progress = JobProgress(JobStatus.RUNNING)
        self.writer = ReportWriter(storage, f"reports/{FOLDER}", lambda: (progress, view))
        self.stopped = threading.Event()
        job: Any = self
        self.requests = Requests(storage, f"requests/{FOLDER}", job, self.writer.answer)

    def stop(self) -> None:
        self.stopped.set()

    def mailbox(self) -> Mailbox:
        return Mailbox(self.files, FOLDER)

    def write(self, *restarts: int) -> None:
        for number in restarts:
            self.writer.hear(Restart(number, ValueError("so"), 5))
        self.writer.write()


def in_store(request: pytest.FixtureRequest) -> Place:
    s3: tuple[S3Server, str] = request.getfixturevalue("s3")
    storage = open_storage(s3[1])
    session: Any = None
    return Place(storage, client_files(session, storage.location))


def through_spark(request: pytest.FixtureRequest) -> Place:
    spark: SparkSession = request.getfixturevalue("spark")
    folder: Path = request.getfixturevalue("tmp_path")
    storage = LocalStorage(str(folder), is_durable=False)
    return Place(storage, client_files(spark, storage.location))


def through_workers(request: pytest.FixtureRequest) -> Place:
    spark: SparkSession = request.getfixturevalue("spark")
    folder: Path = request.getfixturevalue("tmp_path")
    return Place(LocalStorage(str(folder)), FilesThroughWorkers(spark, str(folder)))


@pytest.fixture(
    params=[
        in_store,
        *(pytest.param(each, marks=pytest.mark.spark) for each in (through_spark, through_workers)),
    ]
)
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr(reports, "_SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(reports, "_SECONDS_IDLE", 0.0)
    found: Place = request.param(request)
    return found


def numbers(mailbox: Mailbox) -> list[int]:
    return [news.number for report in mailbox.new().reports for news in report.news]  # type: ignore[union-attr]


def test_reports_are_read_once_and_in_their_order(place: Place) -> None:
    mailbox = place.mailbox()
    assert mailbox.new() == ([], 0, False)
    place.write(1)
    place.write(2)
    assert numbers(mailbox) == [1, 2]
    assert not mailbox.new().lives
    place.write()
    assert mailbox.new() == ([], 0, True)
    place.writer.end(JobStatus.FAILED, UserFunctionError("no"))
    (last,) = mailbox.new().reports
    assert (last.status, type(last.error)) == (JobStatus.FAILED, UserFunctionError)


def test_a_client_that_comes_later_is_not_told_what_was_before(place: Place) -> None:
    place.write(1)
    mailbox = place.mailbox()
    mailbox.skip_to_now()
    place.write(2)
    assert numbers(mailbox) == [2]


def test_reports_that_are_gone_are_missed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "_MOST", 2)
    mailbox = place.mailbox()
    for number in range(5):
        place.write(number)
    found = mailbox.new()
    assert (len(found.reports), found.missed) == (2, 3)


def test_many_reports_are_read_in_parts(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailbox_module, "_AT_ONCE", 2)
    mailbox = place.mailbox()
    for number in range(5):
        place.write(number)
    assert numbers(mailbox) == [0, 1, 2, 3, 4]
    assert mailbox.new().missed == 0


def test_a_report_that_cannot_be_read_is_missed(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    mailbox = place.mailbox()
    place.write(0)
    place.write(1)
    place.storage.write(f"reports/{FOLDER}/{ReportName(0)}", [b"\x80\x05garbage"])
    found = mailbox.new()
    assert (len(found.reports), found.missed) == (1, 1)
    assert "A report of the job cannot be read." in caplog.text
    assert mailbox.new() == ([], 0, False)


def test_a_request_is_done_and_answered(place: Place) -> None:
    mailbox = place.mailbox()
    request = mailbox.ask(STOP)
    assert f"requests/{FOLDER}/{request}/_SUCCESS" in place.storage.names("requests")
    place.requests.look()
    assert place.stopped.wait(10)
    place.requests.finish()
    place.write()
    (report,) = mailbox.new().reports
    assert report.answers == {request: Answer(None)}


def test_drivers_are_found_by_their_reports(place: Place) -> None:
    assert not drivers_at(place.files)
    place.write(1)
    place.writer.end(JobStatus.FINISHED, None)
    names = {ReportName(0), ReportName(1, is_end=True)}
    assert {folder: set(found) for folder, found in drivers_at(place.files).items()} == {
        FOLDER: names
    }
