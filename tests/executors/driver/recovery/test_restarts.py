from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable

import pytest

from penstock.errors import (
    DamagedStateError,
    InvalidArgumentError,
    JobCancelledError,
    JobFailedError,
    LocationInUseError,
    PenstockError,
    RocksDBNotFoundError,
    UserFunctionError,
)
from penstock.executors.driver.recovery.restart_strategy import FixedDelay
from penstock.executors.driver.recovery.restarts import (
    FailureLog,
    Restart,
    run_with_restarts,
    summary_of,
)


class Runs:
    """Runs of a job that fail in turn with what the test says, and then succeed."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.count = 0
        self.told: list[Restart] = []
        self.waited: list[float] = []
        self.stop = threading.Event()
        self.at_wait: Callable[[], None] = lambda: None

    def __call__(self) -> None:
        self.count += 1
        if self.failures:
            raise self.failures.pop(0)

    def go(self, attempts: int = 10, delay: int = 1_500) -> None:
        run_with_restarts(
            self,
            FixedDelay(attempts, delay),
            self.stop,
            tell=self.told.append,
            wait=self._wait,
        )

    def _wait(self, seconds: float) -> bool:
        self.waited.append(seconds)
        self.at_wait()
        return self.stop.is_set()


def failures(count: int) -> list[Exception]:
    return [JobFailedError(f"failure {number}") for number in range(count)]


def test_a_run_without_failure_is_not_repeated() -> None:
    runs = Runs()
    runs.go()
    assert (runs.count, runs.told, runs.waited) == (1, [], [])


def test_is_restarted_until_it_succeeds() -> None:
    errors = failures(3)
    runs = Runs(*errors)
    runs.go()
    assert runs.count == 4
    assert runs.told == [Restart(number, error, 1_500) for number, error in enumerate(errors, 1)]
    assert runs.waited == [1.5] * 3


@pytest.mark.parametrize(("attempts", "note"), [(1, "once"), (2, "2 times")])
def test_raises_the_last_failure_with_a_note(attempts: int, note: str) -> None:
    errors = failures(5)
    runs = Runs(*errors)
    with pytest.raises(JobFailedError) as raised:
        runs.go(attempts)
    assert raised.value is errors[attempts]
    shown = "".join(traceback.format_exception(raised.value))
    assert f"The job was restarted {note} before it failed with this." in shown


def test_a_failure_without_restart_has_no_note() -> None:
    runs = Runs(*failures(1))
    with pytest.raises(JobFailedError) as raised:
        runs.go(0)
    assert not hasattr(raised.value, "__notes__")


@pytest.mark.parametrize(
    "error",
    [
        DamagedStateError("x"),
        InvalidArgumentError("x"),
        JobCancelledError("x"),
        LocationInUseError("x"),
        RocksDBNotFoundError("x"),
    ],
)
def test_what_would_come_again_is_not_restarted(error: Exception) -> None:
    runs = Runs(error)
    with pytest.raises(type(error)):
        runs.go()
    assert (runs.count, runs.told) == (1, [])


@pytest.mark.parametrize("error", [UserFunctionError("x"), OSError("disk full"), RuntimeError()])
def test_what_may_not_come_again_is_restarted(error: Exception) -> None:
    runs = Runs(error)
    runs.go()
    assert runs.count == 2


def test_an_interrupt_is_not_restarted() -> None:
    def run() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_with_restarts(run, FixedDelay(3, 0), threading.Event())


def test_a_job_that_is_stopped_while_it_waits_is_not_restarted() -> None:
    runs = Runs(*failures(3))
    runs.at_wait = runs.stop.set
    runs.go()
    assert runs.count == 1


def test_what_a_job_raises_as_it_is_stopped_is_no_reason_to_restart_it() -> None:
    runs = Runs(*failures(1))
    runs.stop.set()
    with pytest.raises(JobFailedError):
        runs.go()
    assert runs.waited == []


def test_waits_for_the_wish_to_stop_by_default() -> None:
    stop = threading.Event()
    runs = Runs(*failures(1))
    run_with_restarts(runs, FixedDelay(3, 3_600_000), stop, tell=lambda _: stop.set())
    assert runs.count == 1


def user_error(text: str, line: str = "/lib/rides.py:14 in fare") -> UserFunctionError:
    error = UserFunctionError(f"{text}\n\nOperator 'fare' failed on the record 7", hint="x")
    error.operator, error.record = "fare", "Ride(\n  7)"
    error.user_traceback, error.user_line = text, line
    return error


TRACEBACK = 'Traceback (most recent call last):\n  File "rides.py", line 14, in fare\n    raise\n'


@pytest.mark.parametrize(
    ("error", "summary"),
    [
        (JobFailedError("Spark failed.\nMore.", hint="Look."), "Spark failed."),
        (OSError("disk full"), "OSError: disk full"),
        (
            user_error(f"{TRACEBACK}ValueError: no fare\nin two lines\n"),
            "ValueError: no fare (operator 'fare', record Ride( 7), /lib/rides.py:14 in fare)",
        ),
        (
            user_error("ValueError: of C\nMore.\n", f"{os.getcwd()}/rides.py:14 in fare"),
            "ValueError: of C (operator 'fare', record Ride( 7), rides.py:14 in fare)",
        ),
        (UserFunctionError("mine"), "mine"),
    ],
)
def test_a_failure_is_told_in_one_line(error: Exception, summary: str) -> None:
    assert summary_of(error) == summary


def test_a_line_that_only_announces_the_cause_is_not_all() -> None:
    error = PenstockError("Spark failed it: from the Python worker:\nTraceback:\nKeyError: 'x'\n")
    assert summary_of(error) == "Spark failed it: from the Python worker: KeyError: 'x'"
    assert summary_of(PenstockError("It failed:")) == "It failed:"


def test_a_long_record_is_shortened() -> None:
    error = user_error("ValueError: no\n")
    error.record = "x" * 499
    summary = summary_of(error)
    assert "xxx...," in summary
    assert len(summary) < 300


def test_a_failure_is_told_whole_once_and_then_in_one_line() -> None:
    log = FailureLog()
    errors = [
        user_error(f"{TRACEBACK}ValueError: no fare\n"),
        user_error(f"{TRACEBACK}ValueError: no fare\n"),
        user_error(f"{TRACEBACK}ValueError: no fare\n", "rides.py:15 in tip"),
        user_error(f"{TRACEBACK}ValueError: no fare\n", "rides.py:15 in tip"),
        user_error(f"{TRACEBACK}ValueError: no fare\n"),
    ]
    texts = [
        log.text("sums", Restart(number, error, 2_250, 12))
        for number, error in enumerate(errors, 1)
    ]
    assert texts[0] == f"sums: epoch 12 failed; restart 1 in 2.25 s:\n{errors[0]}"
    assert texts[1] == (
        "sums: epoch 12 failed: ValueError: no fare (operator 'fare', record Ride( 7), "
        "/lib/rides.py:14 in fare); restart 2 in 2.25 s"
    )
    assert [text.count("\n") > 0 for text in texts] == [True, False, True, False, False]


def test_an_error_that_is_not_penstocks_is_told_with_its_traceback() -> None:
    def write() -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full") as raised:
        write()
    text = FailureLog().text("sums", Restart(1, raised.value, 0, 0))
    assert "test_restarts.py" in text
    assert text.endswith("OSError: disk full")
