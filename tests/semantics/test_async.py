"""Asynchronous calls in whole programs: order, watermarks, epochs, failures."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.semantics.conftest import NewEnvironment
from tests.semantics.faults import Once, kill_the_worker, lose_a_buffer
from tests.semantics.running import epochs, operators

from penstock.common import Duration, Time, WatermarkStrategy
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncOptions,
    AsyncRetryStrategy,
    DataStream,
    KeyedProcessFunction,
    OnFailure,
    OutputTag,
)
from penstock.datastream.async_retry_predicates import has_exception_predicate

TIMEOUT = Time.seconds(30)
FAILED = OutputTag("failed")
EPOCHS = [[*range(10)], [*range(10, 20)], [], [*range(20, 30)], [30]]


class Ask(AsyncFunction[int, int]):
    """Takes a while that is another for each call."""

    async def open(self, runtime_context: Any) -> None:
        self.loop = asyncio.get_running_loop()

    async def async_invoke(self, value: int) -> list[int]:
        assert asyncio.get_running_loop() is self.loop
        await asyncio.sleep(random.random() * 0.02)
        return [value]


class Flaky(Ask):
    """Fails for every third record, for the first time that it is asked for."""

    async def open(self, runtime_context: Any) -> None:
        await super().open(runtime_context)
        self.seen: set[int] = set()

    async def async_invoke(self, value: int) -> list[int]:
        found = await super().async_invoke(value)
        if value % 3 == 0 and value not in self.seen:
            self.seen.add(value)
            raise ConnectionResetError(value)
        return found


def passed(stream: DataStream) -> list[int]:
    """The numbers of a stream, behind one more exchange."""
    return sorted(stream.rebalance().map(lambda number: number).execute_and_collect())


@pytest.mark.parametrize("drain_timeout", ["10 s", "0 s"])
def test_results_come_in_order_and_once_however_epochs_are_cut(
    new_environment: NewEnvironment, drain_timeout: str
) -> None:
    env = new_environment(3, async__drain_timeout=drain_timeout)
    numbers = epochs(env, *EPOCHS).set_parallelism(1)
    asked = AsyncDataStream.ordered_wait(numbers, Ask(), TIMEOUT, 5).set_parallelism(1)
    again = AsyncDataStream.ordered_wait(asked, Ask(), TIMEOUT, 3).set_parallelism(1)
    assert list(again.execute_and_collect()) == [*range(31)]


def test_unordered_behind_keys(new_environment: NewEnvironment) -> None:
    env = new_environment(3, async__drain_timeout="0 s")
    keyed = epochs(env, *EPOCHS).key_by(lambda number: number % 5)
    asked = AsyncDataStream.unordered_wait(keyed, Ask(), TIMEOUT, 4)
    assert passed(asked) == [*range(31)]


class SeenWatermark(KeyedProcessFunction):
    """Emits records that are late."""

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        timestamp = ctx.timestamp()
        assert timestamp is not None
        if timestamp <= ctx.timer_service().current_watermark():
            yield value, timestamp, ctx.timer_service().current_watermark()
        ctx.timer_service().register_event_time_timer(timestamp)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield timestamp


@pytest.mark.parametrize("ordered", [True, False])
def test_no_result_is_late(new_environment: NewEnvironment, *, ordered: bool) -> None:
    env = new_environment(2, async__drain_timeout="0 s")
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(0))
    strategy = strategy.with_timestamp_assigner(lambda number, _: number * 1000)
    timed = epochs(env, *EPOCHS).assign_timestamps_and_watermarks(strategy)
    wait = AsyncDataStream.ordered_wait if ordered else AsyncDataStream.unordered_wait
    seen = wait(timed, Ask(), TIMEOUT, 4).key_by(lambda number: 0).process(SeenWatermark())
    assert list(seen.execute_and_collect()) == [number * 1000 for number in range(31)]


def test_what_fails_is_tried_again(new_environment: NewEnvironment) -> None:
    numbers = epochs(new_environment(2, async__drain_timeout="0 s"), *EPOCHS)
    strategy: AsyncRetryStrategy[Any] = AsyncRetryStrategy.exponential_backoff(
        20, 1, 20, 2, None, has_exception_predicate, jitter=0.5
    )
    asked = AsyncDataStream.unordered_wait_with_retry(numbers, Flaky(), TIMEOUT, strategy)
    assert passed(asked) == [*range(31)]


def test_what_fails_goes_aside(new_environment: NewEnvironment) -> None:
    async def odd(number: int) -> list[int]:
        await asyncio.sleep(0)
        if number % 2 == 0:
            raise ValueError(number)
        return [number]

    options = AsyncOptions(on_failure=OnFailure.side_output(FAILED))
    numbers = epochs(new_environment(2), *EPOCHS)
    asked = AsyncDataStream.unordered_wait(numbers, odd, TIMEOUT, options=options)
    failed = asked.get_side_output(FAILED).rebalance().map(lambda pair: pair[1].args[0])
    assert passed(asked.union(failed)) == [*range(31)]


def test_what_is_counted(new_environment: NewEnvironment) -> None:
    numbers = epochs(new_environment(2, async__drain_timeout="0 s"), *EPOCHS)
    asked = AsyncDataStream.unordered_wait(numbers, Ask(), TIMEOUT).name("ask")
    results = asked.execute_and_collect()
    assert len(list(results)) == 31
    found = operators(results._client.wait().metrics)["ask"]["user"]
    assert found["async.in_flight"] == 0
    assert found["async.completed"] >= 31
    assert found["async.latency"]["max"] > 0


# Twenty is in the fourth epoch, behind which calls are under way.
@pytest.mark.parametrize("number", [3, 20])
def test_a_lost_buffer_loses_no_call(
    new_environment: NewEnvironment, tmp_path: Path, number: int
) -> None:
    marker = tmp_path / "lost"
    once = Once(lose_a_buffer, marker, lambda value: value == number)
    env = new_environment(2, async__drain_timeout="0 s")
    keyed = epochs(env, *EPOCHS).key_by(lambda value: value % 5)
    asked = AsyncDataStream.unordered_wait(keyed, Ask(), TIMEOUT).map(once)
    assert passed(asked) == [*range(31)]
    assert marker.exists()


@pytest.mark.parametrize(
    "executor", [pytest.param("spark", marks=pytest.mark.spark)], indirect=True
)
def test_a_killed_worker_loses_no_call(new_environment: NewEnvironment, tmp_path: Path) -> None:
    marker = tmp_path / "killed"
    once = Once(kill_the_worker, marker, lambda value: value == 20)
    env = new_environment(2, async__drain_timeout="0 s")
    keyed = epochs(env, *EPOCHS).key_by(lambda value: value % 5)
    asked = AsyncDataStream.unordered_wait(keyed, Ask(), TIMEOUT).map(once)
    assert passed(asked) == [*range(31)]
    assert marker.exists()
