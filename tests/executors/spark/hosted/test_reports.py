"""What a driver on a server reports, without Spark."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.storage import LocalStorage
from penstock.common.job_status import JobStatus
from penstock.common.running_job import JobProgress
from penstock.errors import (
    CheckpointNotWritableError,
    JobFailedError,
    PenstockError,
    UserFunctionError,
)
from penstock.executors.driver.epoch_feed import EpochResult
from penstock.executors.driver.recovery.restarts import Restart
from penstock.executors.spark.hosted import reports
from penstock.executors.spark.hosted.attached.plain_reports import plain, plain_report
from penstock.executors.spark.hosted.reports import (
    Answer,
    Report,
    ReportName,
    ReportWriter,
    in_text,
    portable,
    told_in,
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(reports, "time", found)
    return found


@pytest.fixture
def progress() -> JobProgress:
    return JobProgress(JobStatus.RUNNING)


@pytest.fixture
def writer(tmp_path: Path, progress: JobProgress, clock: Clock) -> ReportWriter:
    view: Any = None
    storage = LocalStorage(str(tmp_path), is_durable=False)
    return ReportWriter(storage, "reports/1", lambda: (progress, view))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "reports" / "1").iterdir())


def read(folder: Path, name: str) -> Report:
    found = pickle.loads((folder / "reports" / "1" / name).read_bytes())
    assert isinstance(found, Report)
    return found


def restart(number: int) -> Restart:
    return Restart(number, ValueError("so"), 5)


@pytest.mark.parametrize(
    "name", [ReportName(3), ReportName(3, 12), ReportName(70, is_end=True), ReportName(123456789)]
)
def test_a_name_says_what_it_is_made_of(name: ReportName) -> None:
    assert ReportName.of(str(name)) == name


def test_other_files_are_no_reports() -> None:
    assert ReportName.of("_SUCCESS") is None


def test_the_first_report_comes_at_once_and_others_when_there_is_news(
    writer: ReportWriter, tmp_path: Path, clock: Clock
) -> None:
    writer.write()
    writer.hear(restart(1))
    writer.write()
    assert names(tmp_path) == ["00000000"]

    clock.now += 0.4
    writer.write()
    assert names(tmp_path) == ["00000000", "00000001"]
    assert [news.number for news in read(tmp_path, "00000001").news] == [1]  # type: ignore[union-attr]


def test_a_report_that_could_not_be_written_comes_before_later_news(
    writer: ReportWriter, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.hear(restart(1))
    with monkeypatch.context() as away:
        away.setattr(LocalStorage, "write", Mock(side_effect=CheckpointNotWritableError("full")))
        with pytest.raises(CheckpointNotWritableError):
            writer.write()
    writer.hear(restart(2))
    clock.now += 0.4
    writer.write()
    writer.end(JobStatus.FINISHED, None)
    told = [read(tmp_path, name).news for name in names(tmp_path)]
    assert [[news.number for news in some] for some in told] == [[1], [2]]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("writes", "expected"),
    [
        (3, ["00000000", "00000001.2.idle"]),
        # Now and then it is said how the job is doing.
        (12, ["00000000", "00000001", "00000001.10.idle"]),
    ],
)
def test_without_news_there_is_one_sign_of_life(
    writer: ReportWriter, tmp_path: Path, clock: Clock, writes: int, expected: list[str]
) -> None:
    for _ in range(writes):
        writer.write()
        clock.now += 1.1
    assert names(tmp_path) == expected


def test_a_sign_of_life_may_be_followed_by_the_report_it_is_named_for(
    writer: ReportWriter, tmp_path: Path, clock: Clock
) -> None:
    writer.write()
    clock.now += 1.1
    writer.write()
    writer.answer("a", Answer("found"))
    clock.now += 0.4
    writer.write()
    assert names(tmp_path) == ["00000000", "00000001", "00000001.1.idle"]
    assert read(tmp_path, "00000001").answers == {"a": Answer("found")}


def test_the_oldest_reports_go(
    writer: ReportWriter, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "_MOST", 2)
    for number in range(5):
        writer.hear(restart(number))
        writer.write()
        clock.now += 0.4
    assert names(tmp_path) == ["00000003", "00000004"]


def test_large_reports_are_few(
    writer: ReportWriter, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "_MOST_BYTES", 5000)
    for size in (10, 2000, 2000, 2000, 9000):
        writer.hear(Restart(1, ValueError("x" * size), 5))
        writer.write()
        clock.now += 0.4
        if size == 2000:
            assert (
                sum(path.stat().st_size for path in (tmp_path / "reports" / "1").iterdir()) <= 5000
            )
    assert names(tmp_path) == ["00000004"]


def test_the_last_report_says_how_the_job_has_ended(writer: ReportWriter, tmp_path: Path) -> None:
    writer.hear(restart(1))
    writer.end(JobStatus.FAILED, UserFunctionError("no", hint="so"))

    last = read(tmp_path, "00000000.end")
    assert last.status is JobStatus.FAILED
    assert isinstance(last.error, UserFunctionError)
    assert last.error.hint == "so"
    assert len(last.news) == 1


def test_an_error_that_does_not_pickle_comes_as_a_text(
    writer: ReportWriter, tmp_path: Path, progress: JobProgress
) -> None:
    class OwnError(Exception):
        pass

    progress.last_error = OwnError("before")
    writer.hear(Restart(1, OwnError("then"), 5))
    writer.answer("a", Answer(error=OwnError("there")))
    writer.end(JobStatus.FAILED, OwnError("at last"))

    last = read(tmp_path, "00000000.end")
    errors = [last.error, last.progress.last_error, last.news[0].error, last.answers["a"].error]  # type: ignore[union-attr]
    assert [type(error) for error in errors] == [JobFailedError] * 4
    assert [str(error).partition(":")[0] for error in errors] == ["OwnError"] * 4


def test_results_of_a_class_in_a_function_are_told_with_its_code(
    writer: ReportWriter, tmp_path: Path
) -> None:
    @dataclass
    class Sale:
        amount: int

    writer.hear(EpochResult(EpochRecord(3), collected=[("1", [Sale(7)])]))
    writer.write()
    (told,) = read(tmp_path, "00000000").news
    assert isinstance(told, EpochResult)
    assert told.collected == [("1", [Sale(7)])]
    (passed_over,) = plain_report((tmp_path / "reports" / "1" / "00000000").read_bytes()).news
    assert isinstance(passed_over, EpochResult)
    assert passed_over.record == told.record


def test_an_error_that_pickles_stays_what_it_is() -> None:
    error = PenstockError("so", hint="then")
    assert portable(error) is error


def test_an_error_comes_in_a_text_where_no_report_can_be_written() -> None:
    text = in_text(UserFunctionError("no", hint="so"))
    assert text.startswith("UserFunctionError: no")
    found = told_in(f"Spark says:\n{text}\n  at a.b(c:1)", plain)
    assert isinstance(found, UserFunctionError)
    assert (found.message, found.hint) == ("no", "so")
    assert told_in("Spark says: no", plain) is None
    assert told_in(in_text(ValueError("no")), plain) is None
