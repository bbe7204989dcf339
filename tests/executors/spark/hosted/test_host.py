"""The driver's side of a job on a server reports how it ended, and what it logged; without Spark."""

from __future__ import annotations

import logging
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.checkpoint.storage import LocalStorage
from penstock.common import Configuration
from penstock.common.epoch_listener import JobEnded
from penstock.common.job_status import JobStatus
from penstock.common.running_job import JobProgress
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import CheckpointNotWritableError, KafkaClientNotFoundError, PenstockError
from penstock.executors.driver.reports.task_lines import TaskLines
from penstock.executors.port import JobRequest
from penstock.executors.spark.hosted import host, reports
from penstock.executors.spark.hosted.attached.plain_reports import plain
from penstock.executors.spark.hosted.host import Host
from penstock.executors.spark.hosted.reports import Report, told_in
from penstock.executors.spark.hosted.travel import Travelling, Views, packed, packed_for
from penstock.runtime.job_files.job_files import JobFiles

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
    Host(Travelling("1" * 32, "1-2-3", "s", request, {}), submit).run()
    found = sorted((place / "reports" / "1-2-3").iterdir())
    return [pickle.loads(path.read_bytes()) for path in found if path.stat().st_size]


def logged(found: list[Report]) -> list[str]:
    news = [told for report in found for told in report.news if isinstance(told, TaskLines)]
    return [str(line.attributes["msg"]) for told in news for line in told.lines]


def test_what_was_logged_and_the_end_of_a_job_are_reported(tmp_path: Path) -> None:
    def submit(request: JobRequest, _: Any) -> Any:
        LOG.warning("The disk is slow.")
        for listener in request.listeners:
            listener.on_job_ended(JobEnded("1" * 32, JobStatus.FINISHED, 3, None))
        return Job()

    found = reports_of(tmp_path, submit)
    assert logged(found) == ["The disk is slow."]
    assert (found[-1].status, found[-1].error) == (JobStatus.FINISHED, None)


def test_what_earlier_drivers_reported_is_deleted_once_their_clients_have_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = tmp_path / "reports" / "0-1-2" / "00000007.end"
    last.parent.mkdir(parents=True)
    last.write_bytes(b"the end")
    forget = Host._forget_others
    ends: list[Any] = []

    def forget_and_end(running: Host, *but_latest: int) -> None:
        if but_latest:
            return
        assert last.exists()
        forget(running)
        ends[0].on_job_ended(JobEnded("1" * 32, JobStatus.FINISHED, 3, None))

    def submit(request: JobRequest, _: Any) -> Any:
        ends.extend(request.listeners)
        return Job()

    monkeypatch.setattr(Host, "_forget_others", forget_and_end)
    monkeypatch.setattr(host, "_SECONDS_FOR_LAST_WORDS", 0.0)
    assert reports_of(tmp_path, submit)[-1].status is JobStatus.FINISHED
    assert not last.exists()


@pytest.mark.parametrize("fails", [False, True])
def test_of_drivers_that_ended_soon_the_latest_leave_their_last_words(
    tmp_path: Path, *, fails: bool
) -> None:
    def submit(request: JobRequest, _: Any) -> Any:
        if fails:
            raise PenstockError("There is no disk.")
        request.listeners[0].on_job_ended(JobEnded("1" * 32, JobStatus.FINISHED, 3, None))
        return Job()

    for number in range(9):
        end = "" if number == 0 else ".end"
        for folder in ("reports", "requests"):
            path = tmp_path / folder / f"0-{number}-3" / f"00000001{end}"
            path.parent.mkdir(parents=True)
            path.write_bytes(b"")
    reports_of(tmp_path, submit)
    # A driver that has not got the place leaves what may be another's.
    kept = {f"0-{number}-3" for number in ((0, 4, 5, 6, 7, 8) if fails else (4, 5, 6, 7, 8))}
    assert {path.name for path in (tmp_path / "reports").iterdir()} == kept | {"1-2-3"}
    assert {path.name for path in (tmp_path / "requests").iterdir()} == kept


def test_what_was_logged_before_a_start_that_failed_is_reported(tmp_path: Path) -> None:
    def submit(*_: Any) -> Any:
        LOG.warning("The disk is slow.")
        raise PenstockError("There is no disk.")

    found = reports_of(tmp_path, submit)
    assert logged(found) == ["The disk is slow."]
    assert found[-1].status is JobStatus.FAILED
    assert "There is no disk." in str(found[-1].error)


def test_a_place_that_cannot_be_written_for_a_while_is_no_end_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "_SECONDS_BETWEEN", 0.0)
    errors = [CheckpointNotWritableError("full")] * 3
    write, listeners = LocalStorage.write, list[Any]()

    def write_at_last(storage: LocalStorage, name: str, chunks: Any) -> None:
        if errors:
            raise errors.pop()
        write(storage, name, chunks)
        listeners.pop().on_job_ended(JobEnded("1" * 32, JobStatus.FINISHED, 3, None))
        monkeypatch.undo()

    def submit(request: JobRequest, _: Any) -> Any:
        LOG.warning("The disk is slow.")
        listeners.extend(request.listeners)
        monkeypatch.setattr(LocalStorage, "write", write_at_last)
        return Job()

    found = reports_of(tmp_path, submit)
    assert logged(found) == ["The disk is slow."]
    assert found[-1].status is JobStatus.FINISHED


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "_end_with_parent", lambda: None)
    monkeypatch.setattr(host, "keep_sessions_open", lambda *_: None)


def run_at(location: Path, before_it_fails: Callable[[], None] = lambda: None) -> None:
    """Run a job that cannot begin."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).print()
    request = env.create_job_request("x")
    place = {"execution.checkpointing.dir": str(location)}
    request.configuration = Configuration.from_dict(place)
    payload = packed_for("7", "1-7-d", "s", JobFiles(), packed(request, Views("7", request.graph)))
    session: Any = None

    def submit(*_: Any) -> Any:
        before_it_fails()
        raise KafkaClientNotFoundError("no client")

    before = sys.stdout
    try:
        host.run_job(payload, session, submit)
    finally:
        sys.stdout.close()
        sys.stdout = before


def test_what_a_job_fails_with_before_it_begins_is_reported(tmp_path: Path) -> None:
    run_at(tmp_path)
    last: Report = pickle.loads((tmp_path / "reports" / "1-7-d" / "00000001.end").read_bytes())
    assert last.status is JobStatus.FAILED
    assert isinstance(last.error, KafkaClientNotFoundError)


def test_a_location_that_cannot_be_written_is_told_by_the_error_of_the_query(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RuntimeError) as raised:
        run_at(tmp_path / "file" / "job")
    assert isinstance(told_in(str(raised.value), plain), CheckpointNotWritableError)


def test_an_end_that_cannot_be_reported_is_told_by_the_error_of_the_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise CheckpointNotWritableError("full")

    with pytest.raises(RuntimeError) as raised:
        run_at(tmp_path, lambda: monkeypatch.setattr(LocalStorage, "write", refuse))
    assert isinstance(told_in(str(raised.value), plain), CheckpointNotWritableError)
