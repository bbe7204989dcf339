from __future__ import annotations

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
    RocksDBNotFoundError,
    UserFunctionError,
)
from penstock.executors.driver.recovery.restart_strategy import FixedDelay
from penstock.executors.driver.recovery.restarts import Restart, run_with_restarts, summary_of


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


@pytest.mark.parametrize(
    ("error", "summary"),
    [
        (JobFailedError("Spark failed.\nMore.", hint="Look."), "Spark failed."),
        (OSError("disk full"), "OSError: disk full"),
        (
            UserFunctionError(
                "Traceback\n  line\nValueError: no\n\nOperator 'Map' failed.", hint="x"
            ),
            "ValueError: no",
        ),
        (UserFunctionError("mine"), "mine"),
    ],
)
def test_a_failure_is_told_in_one_line(error: Exception, summary: str) -> None:
    assert summary_of(error) == summary
