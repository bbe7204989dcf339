"""A client follows a job whose driver's side is on a server, without Spark."""

from __future__ import annotations

import base64
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.common.job_status import JobStatus
from penstock.common.running_job import JobProgress
from penstock.errors import (
    CheckpointNotWritableError,
    JobDriverLostError,
    LocationInUseError,
    PenstockError,
    ReportsMissedError,
    SavepointError,
    UserFunctionError,
    WorkerPythonError,
)
from penstock.executors.driver.epoch_feed import EpochFeed, EpochResult
from penstock.executors.driver.recovery.restart_strategy import FixedDelay
from penstock.executors.spark.hosted import remote_run
from penstock.executors.spark.hosted.mailbox import Found
from penstock.executors.spark.hosted.remote_job import RestartOfLost
from penstock.executors.spark.hosted.remote_run import RemoteRun
from penstock.executors.spark.hosted.reports import Answer, Report, in_text

TOLD = Report(progress=JobProgress(JobStatus.RUNNING, epochs=4))
END = Report(status=JobStatus.FINISHED)


class FakeMailbox:
    """Gives what it was given, one after the other, and then `at_last` for ever."""

    seconds = 0.0

    def __init__(self, *found: Found, at_last: Found | None = None) -> None:
        self._found = list(found)
        self._at_last = at_last or Found([])
        self.asked: list[str] = []
        self.answers: Callable[[str], Found] | None = None

    def new(self) -> Found:
        if self._found:
            return self._found.pop(0)
        return self._at_last

    def ask(self, what: str, **more: Any) -> str:
        self.asked.append(what)
        if self.answers is not None:
            self._found.append(self.answers(f"{what}-1"))
        return f"{what}-1"


class FakeQuery:
    isActive = True  # noqa: N815 - Spark's name

    def __init__(self) -> None:
        self.stopped = 0

    def exception(self) -> Exception | None:
        return None

    def stop(self) -> None:
        self.stopped += 1
        self.isActive = False


class FakeObserved:
    def seen_there(self, view: Any) -> None:
        raise AssertionError


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_run, "is_alive", lambda *_: True)


def run_of(
    mailbox: FakeMailbox,
    query: FakeQuery | None = None,
    *,
    collects: bool = False,
    other: FakeMailbox | None = None,
) -> tuple[RemoteRun, EpochFeed]:
    feed = EpochFeed()
    found: Any = (query, mailbox)
    any_session: Any = None
    observed: Any = FakeObserved()
    any_other: Any = other
    run = RemoteRun(
        "Job 'x'",
        any_session,
        lambda: found,
        feed,
        observed,
        collects=collects,
        find=lambda: any_other,
    )
    return run, feed


def stopped(*, is_set: bool = False) -> threading.Event:
    stop = threading.Event()
    if is_set:
        stop.set()
    return stop


def epoch(number: int) -> EpochResult:
    return EpochResult(EpochRecord(number))


def test_news_go_to_the_feed_and_its_gate() -> None:
    news = Found([Report(news=(epoch(3),))], lives=True)
    run, feed = run_of(FakeMailbox(news, Found([TOLD]), Found([END])), FakeQuery())
    run(stopped())
    told = feed.next()
    assert isinstance(told, EpochResult)
    assert told.record.number == 3
    assert feed.gate.last is told.record


def test_it_is_over_once_the_drivers_side_says_so() -> None:
    run, _ = run_of(FakeMailbox(Found([TOLD]), Found([END])), FakeQuery())
    assert not run.is_over
    run(stopped())
    assert run.is_over
    query = FakeQuery()
    query.isActive = False
    run, _ = run_of(FakeMailbox(), query)
    with pytest.raises(JobDriverLostError):
        run(stopped())
    assert not run.is_over


def test_what_is_asked_for_before_the_driver_is_found_waits_for_it() -> None:
    mailbox = FakeMailbox()
    mailbox.answers = lambda request: Found([Report(answers={request: Answer("there")}), END])
    run, _ = run_of(mailbox, FakeQuery())
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(run.ask("savepoint")))
    asking.start()
    run(stopped())
    asking.join(10)
    assert answers == ["there"]


def test_who_started_at_the_same_time_and_came_too_late_follows_the_other() -> None:
    taken = Report(status=JobStatus.FAILED, error=LocationInUseError("It runs already."))
    for there in (None, FakeMailbox(Found([TOLD], lives=True), Found([END]))):
        run, _ = run_of(FakeMailbox(Found([taken])), FakeQuery(), other=there)
        if there is None:
            with pytest.raises(LocationInUseError):
                run(stopped())
        else:
            run(stopped())
            assert run.progress == END.progress
        assert run.is_over


def test_a_server_that_does_not_answer_is_told_of_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class SlowMailbox(FakeMailbox):
        def new(self) -> Found:
            # As Spark's client does, which asks a server that is gone again.
            while not caplog.records:
                pass
            return super().new()

    monkeypatch.setattr(remote_run, "_SECONDS_OF_SILENCE", 0.0)
    monkeypatch.setattr(remote_run, "_SECONDS_BETWEEN_GLANCES", 0.0)
    run, _ = run_of(SlowMailbox(Found([END])), FakeQuery())
    run(stopped())
    (record,) = caplog.records
    assert record.getMessage().startswith("Nothing was heard of Job 'x' for 0 s:")


def test_progress_is_that_of_the_last_report() -> None:
    last = Report(status=JobStatus.FINISHED, progress=TOLD.progress)
    run, _ = run_of(FakeMailbox(Found([Report()]), Found([last])), FakeQuery())
    assert run.progress is None
    run(stopped())
    assert run.progress == TOLD.progress


def test_what_the_job_failed_with_is_raised() -> None:
    error = UserFunctionError("no")
    end = Report(status=JobStatus.FAILED, error=error)
    run, _ = run_of(FakeMailbox(Found([end])), FakeQuery())
    with pytest.raises(UserFunctionError) as raised:
        run(stopped())
    assert raised.value is error
    assert not run.is_lost


def test_a_driver_whose_query_ends_without_a_last_report_has_died() -> None:
    query = FakeQuery()
    query.isActive = False
    run, _ = run_of(FakeMailbox(), query)
    with pytest.raises(JobDriverLostError, match="no sign of life"):
        run(stopped())
    assert run.is_lost


def test_what_the_python_of_the_server_lacks_is_no_death() -> None:
    query = FakeQuery()
    query.isActive = False
    query.exception = lambda: Exception("ModuleNotFoundError: No module named 'pyarrow'")  # type: ignore[method-assign]
    run, _ = run_of(FakeMailbox(), query)
    with pytest.raises(WorkerPythonError, match="pyarrow"):
        run(stopped())
    assert not run.is_lost


def test_what_the_driver_could_not_report_comes_in_the_error_of_its_query() -> None:
    query = FakeQuery()
    query.isActive = False
    text = in_text(CheckpointNotWritableError("full"))
    query.exception = lambda: Exception(text)  # type: ignore[method-assign]
    run, _ = run_of(FakeMailbox(), query)
    with pytest.raises(CheckpointNotWritableError, match="full"):
        run(stopped())
    assert not run.is_lost


def test_what_an_error_says_is_not_run(tmp_path: Path) -> None:
    class Forged:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "made"),)

    query = FakeQuery()
    query.isActive = False
    forged = base64.b64encode(pickle.dumps(Forged())).decode()
    query.exception = lambda: ValueError(f"wrong: <penstock:{forged}>")  # type: ignore[method-assign]
    run, _ = run_of(FakeMailbox(), query)
    with pytest.raises(PenstockError):
        run(stopped())
    assert not (tmp_path / "made").exists()


def test_a_driver_that_another_client_has_started_is_known_by_its_signs_of_life(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remote_run, "_SECONDS_WITHOUT_SIGN", 0.0)
    signs = [Found([], lives=True)] * 3
    run, _ = run_of(FakeMailbox(*signs, Found([END])))
    run(stopped())
    run, _ = run_of(FakeMailbox(*signs))
    with pytest.raises(JobDriverLostError):
        run(stopped())


def test_a_place_that_cannot_be_read_for_a_while_is_read_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mailbox = FakeMailbox(Found([TOLD]), Found([END]))
    look, failures = mailbox.new, [OSError("away"), OSError("still away")]

    def away() -> Found:
        if failures:
            raise failures.pop()
        return look()

    mailbox.new = away  # type: ignore[method-assign]
    monkeypatch.setattr(remote_run, "is_alive", lambda *_: True)
    run, _ = run_of(mailbox)
    run(stopped())
    assert run.is_over

    failures[:] = [OSError("away")]
    monkeypatch.setattr(remote_run, "_SECONDS_UNREAD", -1.0)
    with pytest.raises(PenstockError, match="away"):
        run_of(mailbox)[0](stopped())


def test_a_client_that_is_paused_while_it_looks_looks_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mailbox, clock = FakeMailbox(Found([]), Found([END])), [100.0]
    look = mailbox.new

    def paused() -> Found:
        clock[0] += 40
        return look()

    mailbox.new = paused  # type: ignore[method-assign]
    monkeypatch.setattr(remote_run, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    run, _ = run_of(mailbox)
    run(stopped())


def test_a_restart_follows_the_death_of_a_driver_alone() -> None:
    run, _ = run_of(FakeMailbox())
    strategy = RestartOfLost(FixedDelay(1, 5), run)
    assert strategy.delay_after_failure() is None
    run.is_lost = True
    assert strategy.delay_after_failure() == 5
    assert strategy.delay_after_failure() is None


def test_a_stop_is_asked_for_once() -> None:
    mailbox = FakeMailbox(Found([]), Found([]), Found([END]))
    run, _ = run_of(mailbox, FakeQuery())
    run(stopped(is_set=True))
    assert mailbox.asked == ["stop"]


@pytest.mark.parametrize("has_core", [True, False])
def test_a_driver_that_does_not_hear_of_a_cancel_is_ended(
    monkeypatch: pytest.MonkeyPatch, *, has_core: bool
) -> None:
    is_asked = threading.Event()

    class LastResort(FakeQuery):
        def stop(self) -> None:
            is_asked.wait()
            super().stop()

    class BusyMailbox(FakeMailbox):
        def ask(self, what: str, **more: Any) -> str:
            is_asked.set()
            # As Spark's client does, which waits for a core.
            while query.isActive and not has_core:
                pass
            return super().ask(what, **more)

    monkeypatch.setattr(remote_run, "_SECONDS_FOR_CANCEL", -1.0)
    monkeypatch.setattr(remote_run, "_SECONDS_BETWEEN_GLANCES", 0.0)
    mailbox, query = BusyMailbox(), LastResort()
    run, _ = run_of(mailbox, query)
    run.interrupt()
    run(stopped(is_set=True))
    assert mailbox.asked == ["cancel"]
    assert query.stopped == 1


@pytest.mark.parametrize("collects", [False, True])
def test_results_that_are_missed_are_an_error(*, collects: bool) -> None:
    run, _ = run_of(FakeMailbox(Found([], missed=2), Found([END])), FakeQuery(), collects=collects)
    if not collects:
        run(stopped())
        return
    with pytest.raises(ReportsMissedError, match="2 of its reports"):
        run(stopped())


@pytest.mark.parametrize("error", [None, UserFunctionError("no")])
def test_an_answer_comes_back(error: Exception | None) -> None:
    mailbox = FakeMailbox()
    mailbox.answers = lambda request: Found(
        [Report(answers={request: Answer("there", error)}), END]
    )
    run, _ = run_of(mailbox, FakeQuery())
    stop = stopped()
    begun = threading.Event()
    mailbox_new = mailbox.new

    def new() -> Found:
        begun.set()
        return mailbox_new()

    mailbox.new = new  # type: ignore[method-assign]
    thread = threading.Thread(target=run, args=(stop,))
    thread.start()
    assert begun.wait(10)
    if error is None:
        assert run.ask("savepoint") == "there"
    else:
        with pytest.raises(UserFunctionError):
            run.ask("savepoint")
    thread.join(10)


def test_what_is_asked_for_of_a_job_that_ends_meanwhile_is_an_error() -> None:
    run, _ = run_of(FakeMailbox(Found([END])), FakeQuery())
    run(stopped())
    with pytest.raises(SavepointError, match="has ended before"):
        run.ask("savepoint")


class Waiting(threading.Condition):
    """Says when somebody waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.set()
        return super().wait(timeout)


def test_what_is_asked_for_while_another_driver_begins_goes_to_that_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dead, living = FakeQuery(), FakeQuery()
    dead.isActive = False
    old, new, asked = FakeMailbox(), FakeMailbox(at_last=Found([END])), threading.Event()
    run, _ = run_of(old, dead)
    answered, answers = Waiting(), list[Any]()
    monkeypatch.setattr(run, "_answered", answered)
    with pytest.raises(JobDriverLostError):
        run(stopped())

    def answer(request: str) -> Found:
        asked.set()
        return Found([Report(answers={request: Answer("there")}), END])

    def begin() -> Any:
        asking.start()
        assert answered.waits.wait(10)
        return living, new

    def look() -> Found:
        asked.wait(2)
        return FakeMailbox.new(new)

    new.answers = answer
    monkeypatch.setattr(new, "new", look)
    monkeypatch.setattr(run, "_begin", begin)
    asking = threading.Thread(target=lambda: answers.append(run.ask("savepoint")))
    run(stopped())
    asking.join(10)
    assert (old.asked, answers) == ([], ["there"])
