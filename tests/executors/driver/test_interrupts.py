from __future__ import annotations

import atexit
import gc
import logging
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import uncaught
from penstock.executors.driver import interrupts
from penstock.executors.driver.interrupts import RunningJobs, take_interrupts


class FakeJob:
    """A job that ends when it is cancelled."""

    def __init__(self, name: str = "job") -> None:
        self.name = name
        self.cancelled = 0
        self.told = 0
        self.waited = 0
        self.end: str | None = f"{name}: cancelled"

    def cancel(self) -> None:
        self.cancelled += 1

    def wait_briefly(self) -> None:
        self.waited += 1

    def untold_end(self) -> str | None:
        return self.end

    def tell_failure(self) -> None:
        self.told += 1


@pytest.fixture(autouse=True)
def _no_traces(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(uncaught, "_AT_INTERRUPT", [])
    monkeypatch.setattr(atexit, "register", lambda call: call)
    answer = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, answer)


def test_ctrl_c_cancels_what_runs_and_says_where_it_stood() -> None:
    jobs = RunningJobs()
    assert jobs.interrupted() is None
    assert not jobs.is_over
    ended, running = FakeJob(), FakeJob()
    jobs.begin(ended)
    jobs.begin(running)
    jobs.end(ended, is_failed=False)
    assert jobs.interrupted() == "job: cancelled\n"
    assert (ended.cancelled, running.cancelled) == (0, 1)
    assert running.waited == 1
    assert jobs.is_over
    assert jobs.interrupted() is None


def test_a_program_that_ctrl_c_ends_behind_its_jobs_is_interrupted_too() -> None:
    jobs = RunningJobs()
    jobs.begin(job := FakeJob())
    jobs.end(job, is_failed=False)
    assert jobs.interrupted_at is None
    assert jobs.interrupted() is None
    assert jobs.interrupted_at is not None
    jobs.begin(FakeJob())
    assert jobs.interrupted_at is None


def test_of_several_jobs_each_has_a_line() -> None:
    jobs = RunningJobs()
    jobs.begin(FakeJob("one"))
    jobs.begin(FakeJob("two"))
    assert jobs.interrupted() == "one: cancelled\ntwo: cancelled\n"


def test_what_a_job_has_told_itself_is_not_told_again() -> None:
    jobs = RunningJobs()
    jobs.begin(job := FakeJob())
    job.end = None
    assert jobs.interrupted() == ""


def test_at_the_end_of_the_program_jobs_are_cancelled_and_failures_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    jobs = RunningJobs()
    running, failed, told = (
        FakeJob("run\nning\x1b[31m" + 100 * "x"),
        FakeJob("failed"),
        FakeJob("told"),
    )
    for job in (running, failed, told):
        jobs.begin(job)
    jobs.end(failed, is_failed=True)
    jobs.end(told, is_failed=True)
    jobs.told(told)
    with caplog.at_level(logging.WARNING, "penstock"):
        jobs.end_all()
    assert (running.cancelled, failed.cancelled) == (1, 0)
    assert [failed.told, told.told, running.told] == [1, 0, 0]
    (record,) = caplog.records
    assert record.getMessage().isprintable()
    assert record.getMessage().startswith("run ning [31mxxx")
    assert "x… was still running when the program ended" in record.getMessage()


@pytest.mark.parametrize("is_interrupted", [True, False])
def test_a_program_that_ctrl_c_ends_leaves_garbage_but_no_file_half_written(
    tmp_path: Path, *, is_interrupted: bool
) -> None:
    cycle: list[object] = [(tmp_path / "written").open("w")]
    cycle.append(cycle)
    cycle[0].write("all")  # type: ignore[attr-defined]
    jobs = RunningJobs()
    if is_interrupted:
        jobs.note_interrupt()
    before = gc.get_freeze_count()
    try:
        jobs.end_all()
        assert (gc.get_freeze_count() > before) is is_interrupted
        assert (tmp_path / "written").read_text() == ("all" if is_interrupted else "")
    finally:
        if is_interrupted and not before:
            gc.unfreeze()
        cycle[0].close()  # type: ignore[attr-defined]


def test_few_of_many_failures_are_kept() -> None:
    jobs = RunningJobs()
    for _ in range(100):
        jobs.end(FakeJob(), is_failed=True)
    assert len(jobs._failed) == 10


class TestInterrupts:
    """Whether Ctrl-C is answered here, or by Spark."""

    def set_handler(self, module: str) -> list[int]:
        calls: list[int] = []

        def handler(number: int, frame: object) -> None:
            calls.append(number)

        handler.__module__ = module
        signal.signal(signal.SIGINT, handler)
        return calls

    def test_of_spark_are_taken_over_while_jobs_run(self, monkeypatch: pytest.MonkeyPatch) -> None:
        jobs = RunningJobs()
        monkeypatch.setattr(interrupts, "JOBS", jobs)
        calls = self.set_handler("pyspark.core.context")
        job = FakeJob()
        jobs.begin(job)
        jobs.begin(FakeJob())
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert not calls
        jobs.cancel_all()
        signal.raise_signal(signal.SIGINT)
        assert calls == [signal.SIGINT]

    def test_are_noted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        jobs = RunningJobs()
        monkeypatch.setattr(interrupts, "JOBS", jobs)
        self.set_handler("pyspark.core.context")
        jobs.begin(FakeJob())
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert jobs.interrupted_at is not None

    def test_of_the_user_are_left_alone(self) -> None:
        calls = self.set_handler("mine")
        RunningJobs().begin(FakeJob())
        signal.raise_signal(signal.SIGINT)
        assert calls == [signal.SIGINT]

    def test_are_the_main_threads(self) -> None:
        self.set_handler("pyspark.core.context")
        before = signal.getsignal(signal.SIGINT)
        thread = threading.Thread(target=take_interrupts)
        thread.start()
        thread.join()
        assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_is_pythons_own_while_a_job_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, by_spark = RunningJobs(), []
    monkeypatch.setattr(interrupts, "JOBS", jobs)

    def of_spark(number: int, frame: object) -> None:
        by_spark.append(number)

    monkeypatch.setattr(of_spark, "__module__", "pyspark.core.context")
    signal.signal(signal.SIGINT, of_spark)
    with jobs.starting():
        take_interrupts()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert not by_spark
    signal.raise_signal(signal.SIGINT)
    assert by_spark == [signal.SIGINT]
