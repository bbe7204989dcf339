"""What a bounded job dropped because it was late is told once, with operators and counts."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from penstock.common import WatermarkStrategy
from penstock.datastream import (
    DataStream,
    OutputTag,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import LateRecordsDroppedWarning
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
