from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.executors.control import SECONDS, failing

from penstock.common import RestartStrategies, Time, Types
from penstock.datastream import ProcessFunction, SourceFunction
from penstock.datastream.functions import SourceContext
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import (
    InvalidArgumentError,
    InvalidTimestampError,
    TypeMismatchError,
    UnsupportedOperationError,
    UnsupportedTypeError,
    UserFunctionError,
    ValueNotSerializableError,
)
from penstock.runtime.exchange.elements import Watermark
from penstock.testing import local_environment


@pytest.fixture(autouse=True)
def _short_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.executors.driver.epoch_loop._POLL_SECONDS", 0.001)


class Does(SourceFunction):
    """Does something with its context; it holds a lock, so it cannot be pickled."""

    def __init__(self, what: Callable[[SourceContext], Any]) -> None:
        self._what = what
        self.is_cancelled = threading.Event()

    def run(self, ctx: SourceContext) -> None:
        self._what(ctx)

    def cancel(self) -> None:
        self.is_cancelled.set()


def test_records_are_as_they_were_when_they_were_collected() -> None:
    def run(ctx: SourceContext) -> None:
        record = [0]
        for number in range(3000):
            record[0] = number
            with ctx.get_checkpoint_lock():
                ctx.collect(record)

    stream = local_environment(2).add_source(Does(run))

    assert list(stream.execute_and_collect()) == [[number] for number in range(3000)]


class Times(ProcessFunction):
    def process_element(self, value: str, ctx: ProcessFunction.Context) -> Any:
        yield value, ctx.timestamp(), max(ctx.timer_service().current_watermark(), -1)


def test_it_may_know_of_time() -> None:
    def run(ctx: SourceContext) -> None:
        ctx.collect("a")
        ctx.collect_with_timestamp("b", 5)
        ctx.emit_watermark(4)
        ctx.collect_with_timestamp("c", 7)
        ctx.emit_watermark(Watermark(6))
        ctx.collect_with_timestamp("d", 8)

    stream = local_environment().add_source(Does(run)).process(Times())

    found = list(stream.execute_and_collect())
    assert found == [("a", None, -1), ("b", 5, -1), ("c", 7, 4), ("d", 8, 6)]


def test_windows_go_by_its_watermarks() -> None:
    def run(ctx: SourceContext) -> None:
        for number, watermark in ((1, 1), (12, 10), (5, 11), (25, 22)):
            ctx.collect_with_timestamp(number, number)
            ctx.emit_watermark(watermark)

    keyed = local_environment().add_source(Does(run)).key_by(lambda number: 0)
    windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).sum()

    # 5 was late.
    assert list(windows.execute_and_collect()) == [1, 12, 25]


def test_an_epoch_that_fails_has_the_same_records_again() -> None:
    env = local_environment()
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))

    def run(ctx: SourceContext) -> None:
        for number in (1, 2, 3):
            ctx.collect(number)

    total = env.add_source(Does(run)).map(failing("function", 3)).key_by(lambda number: 0).sum()

    assert list(total.execute_and_collect()) == [1, 3, 6]


def test_it_is_cancelled_with_its_job() -> None:
    def run(ctx: SourceContext) -> None:
        ctx.collect(1)
        assert endless.is_cancelled.wait(SECONDS)

    endless = Does(run)
    with local_environment().add_source(endless).execute_and_collect() as results:
        assert next(results) == 1

    assert endless.is_cancelled.is_set()


def test_what_it_raises_fails_the_job() -> None:
    for failing_one, error in (
        (lambda ctx: 1 // 0, "ZeroDivisionError"),
        (lambda ctx: sys.exit(), "SystemExit"),
    ):
        stream = local_environment().add_source(Does(failing_one), "feed")
        with pytest.raises(UserFunctionError, match=rf"{error}(.|\n)*'Source: feed' failed"):
            list(stream.execute_and_collect())


def test_its_records_become_values_of_the_declared_type() -> None:
    row: Any = Types.ROW([Types.INT(), Types.DOUBLE()])

    def typed(record: Any, type_info: Any = row) -> list[Any]:
        stream = local_environment().add_source(
            Does(lambda ctx: ctx.collect(record)), "feed", type_info
        )
        return list(stream.map(lambda found: found.f1).execute_and_collect())

    assert typed((1, 2)) == [2.0]
    with pytest.raises(TypeMismatchError, match=r"'Source: feed'\.f1 is no Double: 'two'"):
        typed((1, "two"))
    with pytest.raises(UnsupportedTypeError, match="the type of the records of a source"):
        typed((1, 2), Types.INT)


def test_records_have_to_be_pickled() -> None:
    stream = local_environment().add_source(Does(lambda ctx: ctx.collect(threading.Lock())))
    with pytest.raises(ValueNotSerializableError, match="'Source: Custom Source' emitted"):
        list(stream.execute_and_collect())


def test_no_record_is_left_out_because_it_cannot_be_pickled() -> None:
    env = local_environment()
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(2, 0))

    def run(ctx: SourceContext) -> None:
        for value in (1, threading.Lock(), 2):
            ctx.collect(value)

    with pytest.raises(ValueNotSerializableError, match="'Source: Custom Source' emitted"):
        list(env.add_source(Does(run)).execute_and_collect())


def test_times_have_to_be_numbers() -> None:
    late: Any = "late"
    for what, error in (
        (lambda ctx: ctx.collect_with_timestamp(1, late), InvalidArgumentError),
        (lambda ctx: ctx.emit_watermark(late), InvalidTimestampError),
    ):
        with pytest.raises(error, match="'late'"):
            list(local_environment().add_source(Does(what)).execute_and_collect())


def test_nobody_knows_what_it_has_when_the_job_starts() -> None:
    env = local_environment()
    env._configuration.set_string("execution.epoch.available-now", "true")
    function = env.add_source(Does(lambda ctx: ctx.collect(1)))
    lines = env.socket_text_stream("127.0.0.1", 1)
    for stream, kind in ((function, "a source function"), (lines, "a socket")):
        with pytest.raises(UnsupportedOperationError, match=f"is {kind}, of which nobody knows"):
            list(stream.execute_and_collect())
