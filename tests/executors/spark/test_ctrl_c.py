"""What Ctrl-C interrupts while a job starts is not logged, and Java goes on, silent for a while."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import pytest
from pyspark import SparkContext

from penstock.executors.driver.interrupts import JOBS
from penstock.executors.spark.ctrl_c import JavasLog, interruptible_start, keep_java_running


def log(text: str, name: str, cause: Callable[[], BaseException]) -> None:
    error = ValueError()
    error.__context__ = cause()
    logging.getLogger(name).error(text, exc_info=error)


@pytest.mark.parametrize("name", ["root", "py4j.java_gateway", "py4j.clientserver"])
def test_a_call_that_was_interrupted_is_logged_only_where_no_job_starts(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with interruptible_start():
        log("interrupted", name, KeyboardInterrupt)
        log("asked in a call", name, partial(RuntimeError, "reentrant call inside <reader>"))
        log("failed", name, OSError)
    log("interrupted later", name, KeyboardInterrupt)
    assert caplog.messages == ["failed", "interrupted later"]


def signal_handler() -> None:
    raise OSError("the call in the middle of a call")


def of_sparks_handler() -> BaseException:
    code = signal_handler.__code__.replace(co_filename="pyspark/context.py")
    with pytest.raises(OSError, match="in the middle") as raised:
        exec(code)
    return raised.value


def test_a_start_that_fails_as_sparks_handler_did_is_interrupted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def start(cause: Callable[[], BaseException]) -> None:
        with interruptible_start():
            log("failed", "root", cause)
            raise ValueError("the call has failed")

    with pytest.raises(KeyboardInterrupt):
        start(of_sparks_handler)
    assert caplog.messages == []
    with pytest.raises(ValueError, match="the call has failed"):
        start(OSError)


class FakeLog:
    """Java's log, as far as it is asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.levels = ["WARN"]
        self.has_changed_twice = threading.Event()
        log4j = SimpleNamespace(
            LogManager=SimpleNamespace(
                getRootLogger=lambda: SimpleNamespace(getLevel=lambda: self.levels[-1])
            ),
            Level=SimpleNamespace(OFF="OFF"),
            core=SimpleNamespace(
                config=SimpleNamespace(Configurator=SimpleNamespace(setRootLevel=self.set))
            ),
        )
        logging_ = SimpleNamespace(log4j=log4j)
        java = SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(logging=logging_)))
        monkeypatch.setattr(SparkContext, "_jvm", java)

    def set(self, level: str) -> None:
        self.levels.append(level)
        if len(self.levels) == 3:
            self.has_changed_twice.set()


def test_java_logs_nothing_for_a_while_after_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    java = FakeLog(monkeypatch)
    monkeypatch.setattr(JOBS, "interrupted_at", None)
    JavasLog().hush()
    assert java.levels == ["WARN"]

    monkeypatch.setattr(JOBS, "interrupted_at", 1.0)
    JavasLog(0.0).hush()
    assert java.has_changed_twice.wait(60)
    assert java.levels == ["WARN", "OFF", "WARN"]


def test_java_is_hushed_once_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    java = FakeLog(monkeypatch)
    monkeypatch.setattr(JOBS, "interrupted_at", 1.0)
    log = JavasLog(3600.0)
    log.hush()
    log.hush()
    assert java.levels == ["WARN", "OFF"]


def test_a_java_that_logs_otherwise_or_is_not_there_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(JOBS, "interrupted_at", 1.0)

    class Package:
        def __getattr__(self, name: str) -> Package:
            return self

    for java in (Package(), None):
        monkeypatch.setattr(SparkContext, "_jvm", java)
        JavasLog().hush()


def test_java_ignores_ctrl_c_if_it_lets_itself_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    handler = SimpleNamespace(SIG_IGN="ignored")

    class Signal:
        def __init__(self, name: str) -> None:
            self.name = name

        @staticmethod
        def handle(signal: Signal, answer: str) -> None:
            told.append((signal.name, answer))

    misc = SimpleNamespace(Signal=Signal, SignalHandler=handler)
    monkeypatch.setattr(SparkContext, "_jvm", SimpleNamespace(sun=SimpleNamespace(misc=misc)))
    monkeypatch.setattr(SparkContext, "_ensure_initialized", lambda: None)
    keep_java_running()
    assert told == [("INT", "ignored")]
