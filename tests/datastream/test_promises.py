"""Sentences of the page of guarantees that are about many operators at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import (
    BroadcastProcessFunction,
    CoMapFunction,
    DataStream,
    KeyedProcessFunction,
    MapStateDescriptor,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from penstock.testing import TestingSource, local_environment

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
LATE = ("a", 5)
RECORDS = [[("a", 100), ("b", 101)], [LATE], [("b", 102)]]


def timed(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy.with_timestamp_assigner(lambda record, _: record[1])
    return env.from_source(TestingSource(RECORDS), strategy, "records")


def is_late(value: Any, ctx: Any) -> tuple[Any, bool]:
    return value, ctx.timestamp() <= ctx.timer_service().current_watermark()


class Tell(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield is_late(value, ctx)


class TellByKey(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield is_late(value, ctx)


class Both(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


OPERATORS: dict[str, Any] = {
    "map": lambda stream: stream.map(lambda record: record),
    "flat_map": lambda stream: stream.flat_map(lambda record: [record]),
    "filter": lambda stream: stream.filter(lambda record: True),
    "union": lambda stream: stream.union(stream.filter(lambda record: False)),
    "connect": lambda stream: stream.connect(stream.filter(lambda r: False)).map(Both()),
    "exchange": lambda stream: stream.rebalance().map(lambda record: record),
    "keyed": lambda stream: stream.key_by(lambda record: record[0]).map(lambda record: record),
    "reduce": lambda stream: stream.key_by(lambda record: record[0]).reduce(lambda a, b: b),
    "max": lambda stream: stream.key_by(lambda record: record[1]).max_by(1),
}


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("name", OPERATORS)
def test_no_operator_but_windows_and_interval_joins_drops_what_is_late(
    name: str, parallelism: int
) -> None:
    env = local_environment(parallelism)
    found = OPERATORS[name](timed(env)).execute_and_collect()
    assert sorted(found) == sorted(record for epoch in RECORDS for record in epoch)


@pytest.mark.parametrize("is_keyed", [True, False])
def test_process_functions_see_what_is_late(is_keyed: bool) -> None:
    stream = timed(local_environment())
    found = (
        stream.key_by(lambda record: record[0]).process(TellByKey())
        if is_keyed
        else stream.process(Tell())
    )
    told = dict(found.execute_and_collect())
    assert told.pop(LATE) is True
    assert set(told.values()) == {False}


class Seen(BroadcastProcessFunction):
    """Tells with each record what was broadcast before it."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        rules = ctx.get_broadcast_state(RULES)
        yield value, sorted(rule for rule, _ in rules.items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.get_broadcast_state(RULES).put(value, 1)
        return ()


@pytest.mark.parametrize("parallelism", [1, 2, 3])
@pytest.mark.parametrize("comes_first", ["rules", "records"])
def test_what_is_broadcast_comes_before_all_else_of_its_epoch(
    comes_first: str, parallelism: int
) -> None:
    env = local_environment(parallelism)

    def source(name: str, epochs: list[list[Any]]) -> DataStream:
        return env.from_source(TestingSource(epochs), WatermarkStrategy.no_watermarks(), name)

    epochs: dict[str, list[list[Any]]] = {
        "rules": [["x"], ["y", "z"]],
        "records": [[1, 2, 3], [4, 5, 6]],
    }
    names = ["rules", "records"] if comes_first == "rules" else ["records", "rules"]
    streams = {name: source(name, epochs[name]) for name in names}
    seen = streams["records"].rebalance().connect(streams["rules"].broadcast(RULES)).process(Seen())
    assert sorted(seen.execute_and_collect()) == [
        *((number, ["x"]) for number in (1, 2, 3)),
        *((number, ["x", "y", "z"]) for number in (4, 5, 6)),
    ]
