"""What a bounded job dropped because it was late is told once, with operators and counts."""

from __future__ import annotations

import linecache
import logging
import re
import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.executors.scripted import Script, ScriptedSource

from penstock.common import Configuration, Duration, Time, WatermarkStrategy
from penstock.datastream import (
    DataStream,
    OutputTag,
    ProcessJoinFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from penstock.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.errors import LateRecordsDroppedWarning
from penstock.executors.driver.progress.late_records import LateRecordsLog
from penstock.runtime.late_records import LATENESS
from penstock.runtime.metrics import LATE_RECORDS, Distribution
from penstock.testing import TestingSource, local_environment

LATE = OutputTag("late")


def windows(env: StreamExecutionEnvironment, name: str = "hours") -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy.with_timestamp_assigner(lambda record, _: record[1])
    source = TestingSource([[("a", 100)], [("a", 5), ("a", 7), ("a", 101)]])
    records = env.from_source(source, strategy, name).key_by(lambda record: record[0])
    return records.window(TumblingEventTimeWindows.of(10))


def summed(window: Any, name: str = "hours") -> DataStream:
    stream: DataStream = window.reduce(lambda a, b: (a[0], a[1] + b[1])).name(name)
    return stream


def test_operators_and_counts_are_named() -> None:
    env = local_environment()
    one, other = summed(windows(env), "hours"), summed(windows(env), "hours again")
    one.union(other).print()
    with pytest.warns(LateRecordsDroppedWarning) as caught:
        env.execute("flights")
    (warning,) = caught
    told = str(warning.message)
    assert "'flights'" in told
    assert "2 at 'hours', 2 at 'hours again'" in told
    for setting in ("BATCH", "out_of_orderness", "allowed_lateness", "side_output_late_data"):
        assert setting in told
    assert warning.filename == __file__


def test_a_job_tells_it_once_to_whoever_waits_for_it() -> None:
    env = local_environment()
    summed(windows(env)).print()
    client = env.execute_async("flights")
    with pytest.warns(LateRecordsDroppedWarning):
        client.wait()
    client.wait()


def run(stream: DataStream, way: str) -> None:
    if way == "collect":
        list(stream.execute_and_collect())
        return
    stream.print()
    client = stream.get_execution_environment().execute_async()
    client.wait() if way == "wait" else client.get_job_execution_result().result()


@pytest.mark.parametrize("way", ["wait", "future", "collect"])
def test_the_warning_names_the_line_that_started_the_job_whatever_thread_gives_it(way: str) -> None:
    with pytest.warns(LateRecordsDroppedWarning) as caught:
        run(summed(windows(local_environment())), way)
    assert caught[0].filename == __file__
    assert "execute" in linecache.getline(__file__, caught[0].lineno)


def test_results_that_are_collected_come_before_the_warning() -> None:
    with pytest.warns(LateRecordsDroppedWarning):
        found = list(summed(windows(local_environment())).execute_and_collect())
    assert found == [("a", 201)]


def nothing_is_dropped(kind: str) -> None:
    env = local_environment()
    if kind == "batch":
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    window = windows(env)
    if kind == "side output":
        window = window.side_output_late_data(LATE)
    if kind == "lateness":
        window = window.allowed_lateness(1000)
    summed(window).print()
    env.execute()


@pytest.mark.parametrize("kind", ["batch", "side output", "lateness"])
def test_where_nothing_is_dropped_nothing_is_told(kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nothing_is_dropped(kind)


def test_a_job_that_failed_tells_of_its_failure_alone() -> None:
    def fail(record: Any) -> Any:
        raise ValueError(record)

    env = local_environment()
    summed(windows(env)).map(fail).print()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Exception, match="ValueError"):
            env.execute()


def joined(env: StreamExecutionEnvironment, bound: int, batches: list[list[int]]) -> DataStream:
    """Join records with each other that are near in time."""
    keyed = timed(env, bound, batches).key_by(lambda _: 0)
    other = timed(env, 1_000, [[0]]).key_by(lambda _: 0)

    class Pairs(ProcessJoinFunction):
        def process_element(
            self, left: int, right: int, ctx: ProcessJoinFunction.Context
        ) -> Iterable[int]:
            yield left + right

    return (
        keyed.interval_join(other)
        .between(Time.milliseconds(-5), Time.milliseconds(5))
        .process(Pairs())
    )


def timed(env: StreamExecutionEnvironment, bound: int, batches: list[list[int]]) -> DataStream:
    return env.from_source(TestingSource(batches), strategy_of(bound), "source")


def strategy_of(bound: int) -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound))
    return strategy.with_timestamp_assigner(lambda record, _: record)


KINDS: dict[str, Callable[[], Any]] = {
    "tumbling": lambda: TumblingEventTimeWindows.of(10),
    "sliding": lambda: SlidingEventTimeWindows.of(10, 5),
    "session": lambda: EventTimeSessionWindows.with_gap(10),
}


def dropped(kind: str, batches: list[list[int]], bound: int, lateness: int = 0) -> tuple[int, int]:
    """Return how many records a program drops, and how much more it says would have kept all of them."""
    env = local_environment()
    if kind == "join":
        result = joined(env, bound, batches)
    else:
        keyed = timed(env, bound, batches).key_by(lambda _: 0).window(KINDS[kind]())
        result = keyed.allowed_lateness(lateness).reduce(max)
    result.add_sink(lambda _: None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LateRecordsDroppedWarning)
        operators = env.execute().metrics["operators"].values()
    count = sum(report["late_records"] for report in operators)
    texts = [str(one.message) for one in caught]
    assert len(texts) == bool(count)
    found = [re.search(r"for_bounded_out_of_orderness; ([\d,]+) ms more", text) for text in texts]
    return count, sum(int(one[1].replace(",", "")) for one in found if one)


@pytest.mark.parametrize("kind", [*KINDS, "join"])
@settings(max_examples=25)
@given(batches=st.lists(st.lists(st.integers(0, 200), min_size=1, max_size=5), max_size=6))
def test_so_much_more_time_keeps_all_records_and_less_does_not(
    kind: str, batches: list[list[int]]
) -> None:
    count, more = dropped(kind, batches, 3)
    assert bool(count) == bool(more)
    if not count:
        return
    assert dropped(kind, batches, 3 + more) == (0, 0)
    if kind != "session":  # others that are kept may keep its session
        assert dropped(kind, batches, 3 + more - 1)[0] > 0
    if kind != "join":
        assert dropped(kind, batches, 3, more) == (0, 0)


def test_a_record_without_a_window_needs_no_time() -> None:
    env = local_environment()
    keyed = timed(env, 0, [[100], [7]]).key_by(lambda _: 0)
    keyed.window(SlidingEventTimeWindows.of(5, 10)).reduce(max).add_sink(lambda _: None)
    with pytest.warns(LateRecordsDroppedWarning) as caught:
        env.execute()
    assert "1 at 'SlidingEventTimeWindows'" in str(caught[0].message)
    assert "more would" not in str(caught[0].message)


def reports(*counts: int, lateness: int = 12_345) -> list[dict[str, Any]]:
    measured = Distribution()
    measured.update(lateness)
    return [
        {
            "name": f"operator {number}",
            "user": {LATE_RECORDS: count, LATENESS: measured, "mine": 7} if count else {"mine": 7},
        }
        for number, count in enumerate(counts)
    ]


class TestInTheLog:
    @pytest.fixture
    def said(self, caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
        caplog.set_level(logging.WARNING, "penstock")
        return caplog

    def test_the_first_are_told_and_ten_times_as_many(self, said: pytest.LogCaptureFixture) -> None:
        log = LateRecordsLog("clicks")
        heard = []
        for count in (0, 0, 1, 2, 9, 10, 11, 99, 2_000, 2_001, 9_999, 10_000):
            log.note(reports(count))
            heard += [count] * len(said.records)
            said.clear()
        assert heard == [1, 10, 2_000, 10_000]

    def test_operators_and_what_would_have_kept_the_records_are_told(
        self, said: pytest.LogCaptureFixture
    ) -> None:
        LateRecordsLog("cl\nicks").note(reports(1_500, 0, 3))
        (record,) = said.records
        assert record.getMessage() == (
            "cl icks: dropped 1,503 records that came behind the watermark: 1,500 at 'operator 0', 3 at "
            "'operator 2'. To keep them, let the watermark stay further behind "
            "(for_bounded_out_of_orderness; 13 s more would have kept all of them), keep windows for them "
            "(allowed_lateness), or take them in a side output (side_output_late_data). "
            "This is said again at 10,000 records."
        )

    @pytest.mark.parametrize("is_bounded", [False, True])
    def test_a_job_without_an_end_says_it_while_it_runs(
        self, said: pytest.LogCaptureFixture, is_bounded: bool
    ) -> None:
        env = local_environment()
        env.configure(Configuration().set_string("execution.epoch.available-now", "true"))
        source = ScriptedSource("clicks", Script([[100]], [[5]], ends=is_bounded))
        keyed = env.from_source(source, strategy_of(0), "clicks").key_by(lambda _: 0)
        keyed.window(TumblingEventTimeWindows.of(10)).reduce(max).name("hours").print()
        with pytest.warns(LateRecordsDroppedWarning) if is_bounded else nullcontext():
            env.execute("clicks")
        messages = [record.getMessage() for record in said.records]
        found = [text.startswith("clicks: dropped 1 record that came") for text in messages]
        assert found == ([] if is_bounded else [True])
