from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedStream,
    MapFunction,
    RuntimeContext,
    SinkFunction,
)
from penstock.datastream.state import ValueStateDescriptor
from penstock.errors import (
    UnsupportedOperationError,
)
from penstock.testing import TestingSource, local_environment

EPOCHS = [[1, 2, 3], [4], [5, 6]]


class Counting:
    """Counts the records of each key in keyed state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def counted(self) -> int:
        count: int = (self.count.value() or 0) + 1
        self.count.update(count)
        return count


class Numbered(Counting, MapFunction):
    def map(self, value: Any) -> Any:
        return value, self.counted()


class Repeated(Counting, FlatMapFunction):
    def flat_map(self, value: Any) -> Iterator[Any]:
        for _ in range(self.counted()):
            yield value


class EverySecond(Counting, FilterFunction):
    def filter(self, value: Any) -> bool:
        return self.counted() % 2 == 0


def by_parity() -> KeyedStream:
    source = TestingSource(EPOCHS)
    stream = local_environment().from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    return stream.key_by(lambda number: number % 2)


def test_map_has_state() -> None:
    assert list(by_parity().map(Numbered()).execute_and_collect()) == [
        (1, 1),
        (2, 1),
        (3, 2),
        (4, 2),
        (5, 3),
        (6, 3),
    ]


def test_flat_map_has_state() -> None:
    found = list(by_parity().flat_map(Repeated()).execute_and_collect())
    assert found == [1, 2, 3, 3, 4, 4, 5, 5, 5, 6, 6, 6]


def test_filter_has_state() -> None:
    assert list(by_parity().filter(EverySecond()).execute_and_collect()) == [3, 4]


class CountingSink(SinkFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def invoke(self, value: int) -> None:
        raise NotImplementedError


class CountingCall(AsyncFunction[int, int]):
    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    async def async_invoke(self, value: int) -> list[int]:
        raise NotImplementedError


def test_sinks_and_asynchronous_functions_have_no_state_with_keys_either() -> None:
    by_key = by_parity()
    by_key.add_sink(CountingSink()).name("counted")
    told = "'Sink: counted' asks for keyed state, but a sink function has none, behind key_by"
    with pytest.raises(UnsupportedOperationError, match=told):
        by_key.get_execution_environment().execute()
    calls = AsyncDataStream.ordered_wait(by_parity(), CountingCall(), 1000).name("called")
    told = "'called' asks for keyed state, but an asynchronous function has none"
    with pytest.raises(UnsupportedOperationError, match=told):
        list(calls.execute_and_collect())


def test_without_keys_there_is_no_state() -> None:
    stream = local_environment().from_collection([1]).map(Numbered()).name("numbered")
    with pytest.raises(UnsupportedOperationError, match="'numbered' asks for keyed state"):
        list(stream.execute_and_collect())
