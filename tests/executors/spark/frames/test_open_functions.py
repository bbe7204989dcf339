"""Functions that stay open from task to task: no Spark is needed for that."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterator
from typing import Any

import cloudpickle
import pytest

from penstock.datastream import AsyncFunction, RuntimeContext
from penstock.errors import UserFunctionError
from penstock.executors.spark.frames import open_functions
from penstock.executors.spark.frames.open_functions import open_function
from penstock.runtime.async_io.async_wait import AsyncWaitOperator
from penstock.runtime.async_io.function_life import AsyncSettings
from penstock.runtime.async_io.loop.event_loop import shared_event_loop
from penstock.runtime.exchange.elements import Block

EVENTS: list[str] = []


class Function(AsyncFunction[Any, Any]):
    """Tells what happens to it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        EVENTS.append("open")

    def close(self) -> None:
        EVENTS.append("close")

    async def async_invoke(self, value: Any) -> list[Any]:
        if value == "fail":
            raise LookupError(value)
        try:
            await asyncio.sleep(3600 if value == "hang" else 0)
        except asyncio.CancelledError:
            EVENTS.append(f"cancelled {value}")
            raise
        return [value]


PROTOTYPE = cloudpickle.dumps(AsyncWaitOperator(Function(), AsyncSettings(capacity=10)))


@pytest.fixture(autouse=True)
def nothing_open() -> Iterator[None]:
    EVENTS.clear()
    open_functions._IDLE.clear()
    yield
    for function in open_functions._IDLE.values():
        function.close()
    open_functions._IDLE.clear()


def results(map_id: str, *blocks: list[Any]) -> Generator[Any]:
    with open_function(map_id, "test", PROTOTYPE) as function:
        for part in function.run(map(Block, blocks)):
            yield from part


def test_a_function_stays_open_for_the_next_task() -> None:
    numbers = list(range(1_000))
    assert list(results("a", numbers, [1])) == [*numbers, 1]
    assert list(results("a", numbers)) == numbers
    assert EVENTS == ["open"]


def test_a_function_that_failed_is_closed_and_opened_anew() -> None:
    with pytest.raises(UserFunctionError, match="LookupError"):
        list(results("a", [1, "fail", 2]))
    assert EVENTS == ["open", "close"]
    assert list(results("a", [3])) == [3]
    assert EVENTS == ["open", "close", "open"]


def test_a_task_that_nobody_follows_to_its_end_leaves_nothing_under_way() -> None:
    task = results("a", [1] * 11, ["hang"])
    assert next(task) == 1
    task.close()
    assert list(results("a", [2])) == [2]
    assert EVENTS.count("open") == 1

    hanging = results("a", [*range(10), "hang", *range(9)], [4])
    assert next(hanging) == 0
    a_few_turns_of_the_loop()
    hanging.close()
    assert list(results("a", [5])) == [5]
    a_few_turns_of_the_loop()
    # Calls that were about to end may have been cancelled too.
    assert "cancelled hang" in EVENTS
    assert EVENTS.count("open") == 1
    assert "close" not in EVENTS


def a_few_turns_of_the_loop() -> None:
    async def turn() -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    shared_event_loop().run(turn())


def test_of_many_functions_the_one_used_longest_ago_is_closed() -> None:
    for number in range(open_functions._MOST_IDLE):
        assert list(results(f"f{number}", [number])) == [number]
    assert list(results("f0", [0])) == [0]
    assert "close" not in EVENTS
    assert list(results("another", [1])) == [1]
    assert EVENTS.count("close") == 1
    assert "f1" not in open_functions._IDLE
    assert "f0" in open_functions._IDLE
