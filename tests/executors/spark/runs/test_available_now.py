"""Runs that read what is there: what is left to do at their end waits for no new input."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.executors.spark.conftest import StreamOf

from penstock.common import Configuration, JobStatus, Time
from penstock.datastream import (
    AsyncDataStream,
    DataStream,
    KeyedProcessFunction,
    StreamExecutionEnvironment,
)

pytestmark = [pytest.mark.spark, pytest.mark.timeout(120)]

LATER = 1_500
"""After how many milliseconds timers are due: a run does not wait for them."""


class Echo(KeyedProcessFunction):
    """Gives each record, and its negative when a timer is due."""

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterable[int]:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + LATER)
        yield value

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[int]:
        yield -ctx.get_current_key()


async def slowly(value: int) -> list[int]:
    await asyncio.sleep(0.3)
    return [value]


def environment(spark: SparkSession, location: Path, **settings: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", str(location))
    configuration.set_string("execution.epoch.available-now", "true")
    configuration.set_string("async.drain-timeout", "0 ms")
    for key, value in settings.items():
        configuration.set_string(f"execution.epoch.{key.replace('_', '-')}", value)
    return StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)


def answers(numbers: DataStream, function: Any) -> DataStream:
    keyed = numbers.key_by(lambda number: number).process(Echo()).uid("echo")
    return AsyncDataStream.unordered_wait(keyed, function, Time.seconds(100)).uid("calls")


@pytest.mark.parametrize("ends", ["true", "false"])
def test_calls_and_timers_wait_for_no_input(
    spark: SparkSession, stream_of: StreamOf, tmp_path: Path, ends: str
) -> None:
    frame = stream_of("number int", [{"number": 1}, {"number": 2}])

    def run() -> list[int]:
        env = environment(spark, tmp_path / "job", end_of_input=ends)
        numbers = env.from_data_frame(frame).uid("rows").map(lambda row: int(row.number))
        return sorted(answers(numbers, slowly).execute_and_collect())

    first = run()
    assert first[-2:] == [1, 2]
    if ends == "false":
        # No run waits for the timers: what they give comes from the first one after they are due.
        later: list[int] = first[:-2]
        while len(later) < 2:
            later += run()
        assert sorted(later) == [-2, -1]


def test_a_call_that_hangs_can_be_cancelled(
    spark: SparkSession, stream_of: StreamOf, tmp_path: Path
) -> None:
    async def hang(value: int) -> list[int]:
        await asyncio.sleep(1_000)
        return [value]

    env = environment(spark, tmp_path / "job", end_of_input="false")
    frame = stream_of("number int", [{"number": 1}])
    numbers = env.from_data_frame(frame).uid("rows").map(lambda row: int(row.number))
    answers(numbers, hang).print()
    pause = threading.Event()
    client = env.execute_async()
    while client.progress().last_epoch != 0:
        pause.wait(0.01)
    client.cancel().result()
    assert client.get_job_status().result() is JobStatus.CANCELED
