from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.runtime.programs import ProgramBuilder, operator_id

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.common.configuration import Configuration
from penstock.common.job_client import JobClient
from penstock.common.job_status import JobStatus
from penstock.errors import (
    JobCancelledError,
    JobFailedError,
    SavepointError,
    SessionLostError,
    UserFunctionError,
)
from penstock.executors.driver.epoch_feed import EpochFeed, EpochResult, News
from penstock.executors.driver.interrupts import JOBS
from penstock.executors.driver.job import Job
from penstock.executors.port import JobRequest
from penstock.graph.stream_graph import StreamGraph
from penstock.runtime.exchange.partitioners import RebalancePartitioner
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.program import Program

SECONDS = 30
"""How long a test waits for what comes at once, if all is well."""


def _program() -> Program:
    builder = ProgramBuilder()
    source = builder.source([[1]])
    builder.vertex(MapOperator(str), inputs=[(source, RebalancePartitioner())])
    return builder.build()


SOURCE, MAP = operator_id("Op0.0"), operator_id("Op1.0")


def report(records: int, **user: Any) -> dict[str, Any]:
    return {
        "name": "Op",
        "records_in": records,
        "records_out": 2 * records,
        "input_watermark": records,
        "output_watermark": records + 1,
        "late_records": 0,
        "timers": 0,
        "timers_fired": 0,
        "state_size": 0,
        "user": user,
    }


class WatchedFeed(EpochFeed):
    """Tells when the client has read an epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.read = [threading.Event() for _ in range(10)]
        self._given: News | None = None

    def next(self, seconds: float | None = 0.0) -> News | None:
        # The client is done with an epoch when it asks for the next one.
        if isinstance(self._given, EpochResult):
            self.read[self._given.record.number].set()
        self._given = super().next(seconds)
        return self._given


class Started:
    """A job whose epochs the test commits.

    Args:
        work: Does the engine's work, given the job and the wish to stop.
    """

    def __init__(
        self,
        work: Callable[[Started, threading.Event], None],
        collectors: dict[str, Callable[[list[Any]], None]] | None = None,
        clean_up: Callable[[], None] | None = None,
        patience: float = SECONDS,
    ) -> None:
        self.feed = WatchedFeed()
        self.calls: list[str] = []
        self.interrupted = threading.Event()
        made = threading.Event()

        def run(stop: threading.Event) -> None:
            assert made.wait(SECONDS)
            work(self, stop)

        request = JobRequest("job", StreamGraph(job_name="job"), Configuration(), collectors or {})
        self.job = Job(
            "id",
            request,
            _program(),
            self.feed,
            run,
            self._interrupt,
            clean_up or self._clean_up,
            patience=patience,
        )
        made.set()

    def _interrupt(self) -> None:
        self.calls.append("interrupt")
        self.interrupted.set()

    def _clean_up(self) -> None:
        self.calls.append(f"clean up {self.job.progress().status.name}")

    def commit(self, number: int, **content: Any) -> None:
        self.feed.put(EpochResult(EpochRecord(number), **content))

    def commit_and_wait(self, number: int, **content: Any) -> None:
        """Commit an epoch, and wait until the client has read it."""
        self.commit(number, **content)
        assert self.feed.read[number].wait(SECONDS)


def nothing(started: Started, stop: threading.Event) -> None:
    """Run no epoch."""


class TestProgress:
    def test_sums_what_operators_did_in_all_epochs(self) -> None:
        def work(started: Started, stop: threading.Event) -> None:
            started.commit(0, operators={SOURCE: report(5, hits=1), MAP: report(7)})
            started.commit(1, operators={SOURCE: report(10, hits=2, misses=4)})

        progress = Started(work).job.wait()

        assert (progress.status, progress.epochs) == (JobStatus.FINISHED, 2)
        assert progress.records_in == 30
        assert progress.operators == {
            SOURCE: {**report(10, hits=3, misses=4), "records_in": 15, "records_out": 30},
            MAP: report(7),
        }

    def test_is_told_while_the_job_runs(self) -> None:
        seen = []

        def work(started: Started, stop: threading.Event) -> None:
            for number in range(3):
                started.commit_and_wait(number, operators={SOURCE: report(5)})
                progress = started.job.progress()
                seen.append((progress.status, progress.epochs, progress.records_in))

        Started(work).job.wait()

        assert seen == [(JobStatus.RUNNING, number, 10 * number) for number in (1, 2, 3)]

    def test_that_was_told_does_not_change(self) -> None:
        told = []

        def work(started: Started, stop: threading.Event) -> None:
            started.commit_and_wait(0, operators={SOURCE: report(5)})
            told.append(started.job.progress())
            started.commit_and_wait(1, operators={SOURCE: report(5), MAP: report(1)})

        Started(work).job.wait()

        assert (told[0].epochs, told[0].records_in, told[0].operators) == (
            1,
            10,
            {SOURCE: report(5)},
        )


class TestEpochs:
    def test_are_printed_and_collected_in_order(self, capsys: pytest.CaptureFixture[str]) -> None:
        collected: list[Any] = []

        def work(started: Started, stop: threading.Event) -> None:
            started.commit(0, printed=["a", "b"], collected=[("one", [1]), ("two", [2])])
            started.commit(1)
            started.commit(2, printed=["c"], collected=[("one", [3, 4])])

        def collector(name: str) -> Callable[[list[Any]], None]:
            return lambda values: collected.append((name, values))

        Started(work, {name: collector(name) for name in ("one", "two")}).job.wait()

        assert capsys.readouterr().out == "a\nb\nc\n"
        assert collected == [("one", [1]), ("two", [2]), ("one", [3, 4])]

    def test_are_printed_as_they_come(self, capsys: pytest.CaptureFixture[str]) -> None:
        seen = []

        def work(started: Started, stop: threading.Event) -> None:
            for number in range(2):
                started.commit_and_wait(number, printed=[str(number)])
                seen.append(capsys.readouterr().out)

        Started(work).job.wait()

        assert seen == ["0\n", "1\n"]

    def test_that_were_committed_before_a_failure_are_read(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def work(started: Started, stop: threading.Event) -> None:
            started.commit(0, printed=["good"])
            raise UserFunctionError("mine")

        job = Started(work).job
        with pytest.raises(UserFunctionError):
            job.wait()

        assert capsys.readouterr().out == "good\n"
        assert job.progress().epochs == 1


class TestErrors:
    def test_of_the_job_are_raised_where_it_is_waited_for(self) -> None:
        error = UserFunctionError("mine")

        def work(started: Started, stop: threading.Event) -> None:
            raise error

        started = Started(work)
        for _ in range(2):
            with pytest.raises(UserFunctionError) as raised:
                started.job.wait()
            assert raised.value is error
        assert started.job.progress().status is JobStatus.FAILED
        assert started.calls == ["clean up RUNNING"]

    def test_of_a_function_are_raised_without_frames_of_the_engine(self) -> None:
        def work(started: Started, stop: threading.Event) -> None:
            raise UserFunctionError("mine")

        job = Started(work).job
        for _ in range(2):
            with pytest.raises(UserFunctionError) as raised:
                job.wait()
            assert [entry.name for entry in raised.traceback][1:] == ["wait"]

    def test_of_the_client_stop_the_job_and_are_raised(self) -> None:
        def collect(values: list[Any]) -> None:
            raise OSError("disk full")

        stopped = []

        def work(started: Started, stop: threading.Event) -> None:
            started.commit(0, collected=[("id", [1])])
            stopped.append(stop.wait(SECONDS))

        started = Started(work, {"id": collect})
        with pytest.raises(OSError, match="disk full"):
            started.job.wait()

        assert stopped == [True]
        assert started.job.progress().status is JobStatus.FAILED
        assert started.calls == ["interrupt", "clean up RUNNING"]

    def test_of_cleaning_up_are_raised(self) -> None:
        def clean_up() -> None:
            raise OSError("not mine to remove")

        job = Started(nothing, clean_up=clean_up).job
        with pytest.raises(OSError, match="not mine to remove"):
            job.wait()
        assert job.progress().status is JobStatus.FAILED

    def test_of_cleaning_up_do_not_hide_those_of_the_job(self) -> None:
        def clean_up() -> None:
            raise OSError("not mine to remove")

        def work(started: Started, stop: threading.Event) -> None:
            raise UserFunctionError("mine")

        job = Started(work, clean_up=clean_up).job
        with pytest.raises(UserFunctionError, match="mine"):
            job.wait()
        assert job.progress().status is JobStatus.FAILED


class TestCancelling:
    def test_stops_what_the_engine_is_doing(self, capsys: pytest.CaptureFixture[str]) -> None:
        running = threading.Event()

        def work(started: Started, stop: threading.Event) -> None:
            started.commit(0, printed=["before"])
            running.set()
            assert started.interrupted.wait(SECONDS)
            assert stop.is_set()

        started = Started(work)
        assert running.wait(SECONDS)
        started.job.cancel()
        progress = started.job.wait()

        assert (progress.status, progress.epochs) == (JobStatus.CANCELED, 1)
        assert started.calls == ["interrupt", "clean up RUNNING"]
        assert capsys.readouterr().out == "before\n"

    def test_is_no_failure_even_if_the_engine_takes_it_for_one(self) -> None:
        def work(started: Started, stop: threading.Event) -> None:
            assert stop.wait(SECONDS)
            raise RuntimeError("interrupted")

        started = Started(work)
        started.job.cancel()

        assert started.job.wait().status is JobStatus.CANCELED

    def test_a_job_that_has_finished_changes_nothing(self) -> None:
        started = Started(nothing)
        started.job.wait()
        started.job.cancel()

        assert started.job.wait().status is JobStatus.FINISHED
        assert "interrupt" not in started.calls

    def test_a_job_whose_failure_was_told_changes_nothing(self) -> None:
        def work(started: Started, stop: threading.Event) -> None:
            raise UserFunctionError("mine")

        started = Started(work)
        with pytest.raises(UserFunctionError):
            started.job.wait()
        started.job.cancel()

        with pytest.raises(UserFunctionError):
            started.job.wait()
        assert started.job.progress().status is JobStatus.FAILED

    def test_a_job_that_has_just_failed_makes_it_a_cancelled_one(self) -> None:
        def work(started: Started, stop: threading.Event) -> None:
            raise KeyboardInterrupt

        started = Started(work)
        started.job._reader.join(SECONDS)
        started.job.cancel()

        assert started.job.wait().status is JobStatus.CANCELED

    def test_does_not_hide_a_failure_that_nobody_was_told(self) -> None:
        def work(started: Started, stop: threading.Event) -> None:
            raise UserFunctionError("mine")

        started = Started(work)
        assert started.job._done.wait(SECONDS)
        started.job.cancel()

        with pytest.raises(UserFunctionError, match="mine"):
            started.job.wait()
        assert started.job.progress().status is JobStatus.FAILED

    @pytest.mark.parametrize(
        "error",
        [
            SessionLostError("gone"),
            JobFailedError("Job 0 cancelled as part of cancellation of all jobs"),
        ],
    )
    def test_takes_what_ctrl_c_has_failed_for_its_own(self, error: Exception) -> None:
        def work(started: Started, stop: threading.Event) -> None:
            raise error

        started = Started(work)
        assert started.job._done.wait(SECONDS)
        started.job.cancel()

        assert started.job.wait().status is JobStatus.CANCELED

    @pytest.mark.parametrize("waits", [True, False])
    def test_leaves_behind_what_does_not_end(self, *, waits: bool) -> None:
        may_go_on, refused = threading.Event(), threading.Event()

        def work(started: Started, stop: threading.Event) -> None:
            assert may_go_on.wait(SECONDS)
            with pytest.raises(JobCancelledError):
                started.feed.gate.check_wanted()
            refused.set()

        started = Started(work, patience=0.01)
        started.feed.gate.check_wanted()
        started.job.cancel()
        if not waits:
            started.job.wait_briefly()
        progress = started.job.wait()

        assert (progress.status, started.job.view().is_left_behind) == (JobStatus.CANCELED, True)
        assert started.job.where_it_stands().endswith("is left behind")
        may_go_on.set()
        assert refused.wait(SECONDS)
        assert started.job._done.wait(SECONDS)
        started.job.wait()
        assert started.job.where_it_stands().startswith("job: cancelled after ")

    def test_after_ctrl_c_nobody_waits_long(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("penstock.executors.driver.job._SECONDS_AFTER_INTERRUPT", 0.01)
        may_end = threading.Event()

        def work(started: Started, stop: threading.Event) -> None:
            assert may_end.wait(SECONDS)

        started = Started(work)
        monkeypatch.setattr(JOBS, "interrupted_at", 0.0)
        started.job.cancel()
        assert started.job.wait().status is JobStatus.CANCELED
        assert not started.job._done.is_set()
        may_end.set()
        assert started.job._done.wait(SECONDS)

    def test_can_be_asked_for_twice(self) -> None:
        def work(started: Started, stop: threading.Event) -> None:
            assert stop.wait(SECONDS)

        started = Started(work)
        started.job.cancel()
        started.job.cancel()

        assert started.job.wait().status is JobStatus.CANCELED


class TestAFailureThatNobodyWaitedFor:
    """Is told by the next call, and once."""

    @pytest.fixture
    def failed(self) -> Started:
        def work(started: Started, stop: threading.Event) -> None:
            raise UserFunctionError("mine")

        started = Started(work)
        assert started.job._done.wait(SECONDS)
        return started

    def test_in_the_log(self, failed: Started, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.ERROR, "penstock"):
            client = JobClient(failed.job)
            assert client.get_job_status().result() is JobStatus.FAILED
            assert client.get_accumulators().result() == {}
            failed.job.tell_failure()
        assert caplog.messages == ["job has failed: mine"]

    def test_by_a_savepoint(self, failed: Started) -> None:
        client = JobClient(failed.job)
        for future in (
            client.trigger_savepoint("/nowhere"),
            client.stop_with_savepoint(
                advance_to_end_of_event_time=False, savepoint_directory="/nowhere"
            ),
        ):
            with pytest.raises(SavepointError, match=r"has failed.*: mine") as raised:
                future.result()
            assert raised.value.__cause__ is failed.job._error

    def test_by_what_stops_it_or_waits_for_it(self, failed: Started) -> None:
        client = JobClient(failed.job)
        for future in (client.cancel(), client.stop(), client.get_job_execution_result()):
            with pytest.raises(UserFunctionError, match="mine"):
                future.result()


def test_cleans_up_once_and_before_the_wait_is_over() -> None:
    started = Started(nothing)
    started.job.wait()

    assert started.calls == ["clean up RUNNING"]


def test_has_the_id_it_was_given() -> None:
    job = Started(nothing).job
    job.wait()

    assert job.job_id == "id"
