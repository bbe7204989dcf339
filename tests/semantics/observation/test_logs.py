"""What functions log arrives in this process's log, on both executors: with operator, subtask and epoch."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.semantics.conftest import NewEnvironment

from penstock.common import Time, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    EpochCompleted,
    EpochListener,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
)
from penstock.errors import UserFunctionError
from penstock.executors.driver.reports.recent_log import RECENT_LOG
from penstock.testing import TestingSource

LOG = logging.getLogger("shop.clean")


@pytest.fixture(autouse=True)
def _info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def lines_of(caplog: pytest.LogCaptureFixture, logger: str = "shop") -> list[logging.LogRecord]:
    """Return what loggers below one have logged."""
    return [record for record in caplog.records if record.name.startswith(logger)]


def log_and_pass(value: int) -> int:
    LOG.info("got %d", value)
    return value


class Life(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        LOG.warning("open")

    def close(self) -> None:
        LOG.warning("close")

    def map(self, value: int) -> int:
        return value


def test_a_line_says_which_operator_logged_it(
    new_environment: NewEnvironment, caplog: pytest.LogCaptureFixture
) -> None:
    env = new_environment()
    env.from_collection([1, 2]).map(log_and_pass).name("clean").print()
    job = env.execute("shop")

    form = logging.Formatter(
        "%(levelname)s %(name)s %(operator)s %(subtask)d %(epoch)d %(task)s: %(message)s"
    )
    assert [form.format(record) for record in lines_of(caplog)] == [
        f"INFO shop.clean clean 0 0 clean (1/1), epoch 0: got {value}" for value in (1, 2)
    ]
    assert lines_of(caplog)[0].funcName == "log_and_pass"
    assert lines_of(caplog)[0].lineno == log_and_pass.__code__.co_firstlineno + 1
    kept = RECENT_LOG.lines(job_id=str(job.get_job_id()))
    assert [line["message"] for line in kept if line["operator"] == "clean"] == ["got 1", "got 2"]


def test_each_epoch_has_its_lines(
    new_environment: NewEnvironment, caplog: pytest.LogCaptureFixture
) -> None:
    env = new_environment()
    source = TestingSource([[1], [2], [3]])
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.map(log_and_pass).name("clean").print()
    env.execute()

    assert [(record.getMessage(), vars(record)["epoch"]) for record in lines_of(caplog)] == [
        ("got 1", 0),
        ("got 2", 1),
        ("got 3", 2),
    ]


def test_functions_log_as_they_are_opened_and_closed(
    new_environment: NewEnvironment, caplog: pytest.LogCaptureFixture
) -> None:
    env = new_environment()
    env.from_collection([1]).map(Life()).name("life").print()
    env.execute()

    found = [(record.getMessage(), record.operator) for record in lines_of(caplog)]  # type: ignore[attr-defined]
    assert found == [("open", "life"), ("close", "life")]


def test_each_subtask_has_its_lines(
    new_environment: NewEnvironment, caplog: pytest.LogCaptureFixture
) -> None:
    env = new_environment(2)
    numbers = env.from_collection(list(range(20)))
    numbers.key_by(lambda number: number).map(log_and_pass).name("keyed").print()
    env.execute()

    found = lines_of(caplog)
    assert sorted(record.getMessage() for record in found) == sorted(
        f"got {number}" for number in range(20)
    )
    assert {record.subtask for record in found} == {0, 1}  # type: ignore[attr-defined]
    assert {record.operator for record in found} == {"keyed"}  # type: ignore[attr-defined]
    times = [record.created for record in found]
    assert times == sorted(times)


class Broken(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        raise OSError("the disk is full")


@pytest.fixture
def _broken() -> Any:
    handler = Broken()
    LOG.addHandler(handler)
    yield
    LOG.removeHandler(handler)


@pytest.mark.usefixtures("_broken")
def test_a_handler_that_fails_fails_no_job(
    new_environment: NewEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = logging.Logger.handle
    env = new_environment()
    env.from_collection([1, 2]).map(log_and_pass).print()
    env.execute()

    found = capsys.readouterr()
    assert found.out == "1\n2\n"
    assert found.err.count("OSError: the disk is full") == 1
    assert logging.Logger.handle is usual
    with pytest.raises(OSError, match="disk"):
        LOG.error("no function logs this")


class Stamping(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int | None) -> int:
        LOG.info("read %d", value)
        return value


def test_sources_and_sinks_log(
    new_environment: NewEnvironment, caplog: pytest.LogCaptureFixture
) -> None:
    env = new_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamping())
    numbers = env.from_source(TestingSource([[1]]), strategy, "numbers")
    numbers.add_sink(lambda value: LOG.info("wrote %d", value)).name("out")
    env.execute()

    found = [(record.getMessage(), vars(record)["operator"]) for record in lines_of(caplog)]
    assert found == [("read 1", "Source: numbers"), ("wrote 1", "Sink: out")]


class Quieter(EpochListener):
    def on_epoch_completed(self, event: EpochCompleted) -> None:
        LOG.setLevel(logging.ERROR)


@pytest.mark.parametrize("executor", [pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.usefixtures("_levels")
def test_a_level_that_changes_while_a_job_runs_holds_from_the_next_epoch_on(
    new_environment: NewEnvironment, caplog: pytest.LogCaptureFixture
) -> None:
    env = new_environment()
    env.add_epoch_listener(Quieter())
    source = TestingSource([[number] for number in range(1, 9)])
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.map(log_and_pass).print()
    env.execute()

    found = [record.getMessage() for record in lines_of(caplog)]
    assert found[0] == "got 1"
    assert "got 8" not in found


class StumbleOnce(MapFunction):
    def __init__(self, marker: Path, stumble: Callable[[], None]) -> None:
        self.marker = marker
        self.stumble = stumble

    def map(self, value: int) -> int:
        LOG.info("got %d", value)
        if not self.marker.exists():
            self.marker.touch()
            self.stumble()
        return value


def die() -> None:
    os._exit(1)


def fail() -> None:
    message = "no fare"
    raise ValueError(message)


@pytest.mark.parametrize("executor", [pytest.param("spark", marks=pytest.mark.spark)])
def test_lines_of_a_task_that_spark_tries_again_come_once(
    new_environment: NewEnvironment, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    env = new_environment()
    env.from_collection([1, 2]).map(StumbleOnce(tmp_path / "died", die)).name("dies").print()
    env.execute()

    found = [(record.getMessage(), vars(record)["task"]) for record in lines_of(caplog)]
    assert found == [("got 1", "dies (1/1), epoch 0"), ("got 2", "dies (1/1), epoch 0")]


class OnTimer(KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(1)

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        logging.getLogger("shop.timers").info("timer")


def test_timers_log(new_environment: NewEnvironment, caplog: pytest.LogCaptureFixture) -> None:
    env = new_environment()
    env.from_collection([1]).key_by(lambda number: number).process(OnTimer()).name("timed").print()
    env.execute()

    assert [record.operator for record in lines_of(caplog)] == ["timed"]  # type: ignore[attr-defined]


class Call(AsyncFunction[int, int]):
    async def open(self, runtime_context: RuntimeContext) -> None:
        LOG.info("opened")

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(0)
        LOG.info("called for %d", value)
        return [value]


def in_pool(value: int) -> list[int]:
    LOG.info("called for %d", value)
    return [value]


@pytest.mark.parametrize("function", [Call(), in_pool], ids=["on the loop", "in a thread"])
def test_asynchronous_functions_log(
    new_environment: NewEnvironment, caplog: pytest.LogCaptureFixture, function: Any
) -> None:
    env = new_environment()
    numbers = env.from_collection([1, 2])
    AsyncDataStream.ordered_wait(numbers, function, Time.seconds(10)).name("calls").print()
    env.execute()

    found = [(record.getMessage(), record.operator, record.subtask) for record in lines_of(caplog)]  # type: ignore[attr-defined]
    assert ("called for 1", "calls", 0) in found
    assert ("called for 2", "calls", 0) in found
    assert all(record.epoch == 0 for record in lines_of(caplog, "called"))  # type: ignore[attr-defined]


def log_in_thread(value: int) -> int:
    thread = threading.Thread(target=log_and_pass, args=(value,))
    thread.start()
    thread.join()
    return value


def test_threads_of_functions_log(
    new_environment: NewEnvironment, caplog: pytest.LogCaptureFixture
) -> None:
    env = new_environment()
    env.from_collection([7]).map(log_in_thread).print()
    env.execute()

    assert [record.getMessage() for record in lines_of(caplog)] == ["got 7"]


def fail_at_three(value: int) -> int:
    LOG.info("got %d", value)
    if value == 3:
        message = "no fare"
        raise ValueError(message)
    return value


def test_lines_before_a_failure_arrive(
    new_environment: NewEnvironment, caplog: pytest.LogCaptureFixture
) -> None:
    env = new_environment()
    env.from_collection([1, 2, 3, 4]).map(fail_at_three).name("fares").print()
    with pytest.raises(UserFunctionError, match="no fare"):
        env.execute()

    assert [record.getMessage() for record in lines_of(caplog)] == ["got 1", "got 2", "got 3"]


def test_lines_of_an_epoch_that_is_repeated_are_told_apart(
    new_environment: NewEnvironment,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    executor: str,
) -> None:
    env = new_environment(
        restart_strategy__type="fixed-delay", restart_strategy__fixed_delay__delay="1 ms"
    )
    env.from_collection([1]).map(StumbleOnce(tmp_path / "failed", fail)).name("fares").print()
    env.execute()

    found = [(record.getMessage(), vars(record)["task"]) for record in lines_of(caplog)]
    # In this process nobody knows yet, as it is shown, what will become of the epoch.
    failed = ", which failed" if executor == "spark" else ""
    assert found == [
        ("got 1", f"fares (1/1), epoch 0{failed}"),
        ("got 1", "fares (1/1), epoch 0"),
    ]


def log_often(value: int) -> int:
    for number in range(1_000):
        LOG.info("line %d", number)
    return value


@pytest.mark.parametrize("executor", [pytest.param("spark", marks=pytest.mark.spark)])
def test_a_flood_is_cut(new_environment: NewEnvironment, caplog: pytest.LogCaptureFixture) -> None:
    env = new_environment(execution__log__lines=20)
    env.from_collection([1]).map(log_often).name("often").print()
    env.execute()

    found = [record.getMessage() for record in lines_of(caplog)]
    assert found == [
        *(f"line {number}" for number in range(18)),
        "… and 980 more lines of the logger 'shop.clean'",
        "line 998",
        "line 999",
    ]


@pytest.mark.parametrize("executor", [pytest.param("spark", marks=pytest.mark.spark)])
def test_workers_can_keep_their_lines(
    new_environment: NewEnvironment, caplog: pytest.LogCaptureFixture
) -> None:
    env = new_environment(execution__log__lines=0)
    env.from_collection([1]).map(log_and_pass).print()
    env.execute()

    assert lines_of(caplog) == []


class Unpicklable:
    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __str__(self) -> str:
        return "a lock"

    __repr__ = __str__


def log_much(value: int) -> int:
    LOG.info("%s and %r", Unpicklable(), value, extra={"epoch": "mine", "user": Unpicklable()})
    logging.LoggerAdapter(LOG, {"request": 12}).info("adapted")
    try:
        int("x")
    except ValueError:
        LOG.exception("no number: %(value)d", {"value": value})
    logging.getLogger("shop.clean.deep").error("deep", stack_info=True)
    return value


def test_whatever_is_logged_arrives(
    new_environment: NewEnvironment, caplog: pytest.LogCaptureFixture
) -> None:
    env = new_environment()
    env.from_collection([1]).map(log_much).name("much").print()
    env.execute()

    first, adapted, failed, deep = lines_of(caplog)
    assert first.getMessage() == "a lock and 1"
    assert (first.epoch, str(first.user)) == ("mine", "a lock")  # type: ignore[attr-defined]
    assert first.operator == "much"  # type: ignore[attr-defined]
    assert adapted.request == 12  # type: ignore[attr-defined]
    text = logging.Formatter("%(operator)s %(message)s").format(failed)
    assert text.startswith("much no number: 1\nTraceback (most recent call last):\n")
    assert text.endswith("ValueError: invalid literal for int() with base 10: 'x'")
    assert deep.stack_info is not None
    assert "log_much" in deep.stack_info


def log_at_levels(value: int) -> int:
    for name in ("shop.quiet", "shop.loud", "shop.loud.deep"):
        for level in (logging.DEBUG, logging.INFO, logging.ERROR):
            logging.getLogger(name).log(level, "line")
    return value


@pytest.fixture
def _levels() -> Any:
    quiet, loud = logging.getLogger("shop.quiet"), logging.getLogger("shop.loud")
    quiet.setLevel(logging.ERROR)
    loud.setLevel(logging.DEBUG)
    yield
    quiet.setLevel(logging.NOTSET)
    loud.setLevel(logging.NOTSET)
    LOG.setLevel(logging.NOTSET)
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("_levels")
def test_the_levels_of_this_process_hold(
    new_environment: NewEnvironment, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.handler.setLevel(logging.DEBUG)
    env = new_environment()
    env.from_collection([1]).map(log_at_levels).print()
    env.execute()

    assert [(record.name, record.levelname) for record in lines_of(caplog)] == [
        ("shop.quiet", "ERROR"),
        ("shop.loud", "DEBUG"),
        ("shop.loud", "INFO"),
        ("shop.loud", "ERROR"),
        ("shop.loud.deep", "DEBUG"),
        ("shop.loud.deep", "INFO"),
        ("shop.loud.deep", "ERROR"),
    ]

    caplog.clear()
    logging.disable(logging.INFO)
    env = new_environment()
    env.from_collection([1]).map(log_at_levels).print()
    env.execute()

    assert {record.levelname for record in lines_of(caplog)} == {"ERROR"}


def warn(value: int) -> int:
    warnings.warn("old fares", UserWarning, stacklevel=1)
    return value


def test_a_warning_is_shown_once(new_environment: NewEnvironment, executor: str) -> None:
    env = new_environment(2)
    env.from_collection([1, 2, 3, 4]).rebalance().map(warn).name("warns").print()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always" if executor == "spark" else "default")
        env.execute()

    found = [str(one.message) for one in caught if "old fares" in str(one.message)]
    text = "old fares (in operator 'warns')" if executor == "spark" else "old fares"
    assert found == [text]
