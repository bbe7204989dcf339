from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import WatermarkStrategy
from penstock.datastream import DataStream, KeyedStream, RuntimeExecutionMode
from penstock.datastream.functions import (
    KeyedProcessFunction,
    KeySelector,
    ProcessFunction,
    ReduceFunction,
)
from penstock.errors import InvalidArgumentError, InvalidFunctionError, UserFunctionError
from penstock.testing import TestingSource, local_environment


def numbers(
    *values: int, mode: RuntimeExecutionMode = RuntimeExecutionMode.STREAMING
) -> DataStream:
    return local_environment().set_runtime_mode(mode).from_collection(values)


def parity(value: int) -> int:
    return value % 2


def results(stream: DataStream) -> list[Any]:
    return list(stream.execute_and_collect())


class Add(ReduceFunction):
    def reduce(self, value1: int, value2: int) -> int:
        return value1 + value2


@pytest.mark.parametrize("function", [Add(), lambda a, b: a + b, int.__add__])
def test_reduce_emits_the_new_value_for_every_record(function: Any) -> None:
    assert results(numbers(1, 2, 3, 4).key_by(parity).reduce(function)) == [1, 2, 4, 6]


@pytest.mark.parametrize("mode", [RuntimeExecutionMode.BATCH, RuntimeExecutionMode.AUTOMATIC])
def test_reduce_emits_final_values_alone_in_batch_mode(mode: RuntimeExecutionMode) -> None:
    assert sorted(results(numbers(1, 2, 3, 4, mode=mode).key_by(parity).sum())) == [4, 6]


def test_reduce_keeps_its_values_from_epoch_to_epoch() -> None:
    source = TestingSource([[1], [], [2, 3], [4]])
    stream = local_environment(parallelism=2).from_source(
        source, WatermarkStrategy.no_watermarks(), "numbers"
    )
    assert sorted(results(stream.key_by(parity).sum())) == [1, 2, 4, 6]


def test_reduce_refuses_what_does_not_take_two_values() -> None:
    with pytest.raises(InvalidFunctionError, match=r"reduce\(\) calls its function with 2"):
        numbers(1).key_by(parity).reduce(lambda value: value)  # type: ignore[misc, arg-type]


def test_what_a_reduce_function_raises_names_the_record() -> None:
    with pytest.raises(UserFunctionError) as caught:
        results(numbers(1, 0, 3, 0).key_by(lambda _: 0).reduce(lambda a, b: a // b))
    assert (caught.value.operator, caught.value.record) == ("Keyed Reduce", "0")


class WithKey(KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), value


class PlainProcess(ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield value


def test_process_knows_the_key() -> None:
    keyed = numbers(1, 2).key_by(parity)
    assert results(keyed.process(WithKey())) == [(1, 1), (0, 2)]
    assert results(keyed.process(lambda value, ctx: [ctx.get_current_key()])) == [1, 0]
    assert results(keyed.process(PlainProcess())) == [1, 2]


def test_other_operations_see_the_records_as_they_are() -> None:
    keyed = numbers(1, 2, 3).key_by(parity)
    assert results(keyed) == [1, 2, 3]
    assert results(keyed.map(str)) == ["1", "2", "3"]
    assert results(keyed.flat_map(lambda n: [n, n])) == [1, 1, 2, 2, 3, 3]
    assert results(keyed.filter(lambda n: n > 1)) == [2, 3]
    assert results(keyed.project(0)) == [(1,), (2,), (3,)]
    assert sorted(results(keyed.union(keyed))) == [1, 1, 2, 2, 3, 3]


def test_sinks_of_a_keyed_stream(capsys: pytest.CaptureFixture[str]) -> None:
    keyed = numbers(1, 2).key_by(parity)
    keyed.print()
    keyed.get_execution_environment().execute()
    assert capsys.readouterr().out == "1\n2\n"


def test_key_by_again_replaces_the_key() -> None:
    again = numbers(1, 2, 3).key_by(parity).key_by(lambda value: "all")
    assert isinstance(again, KeyedStream)
    assert results(again.sum()) == [1, 3, 6]
    again.sum().print()
    graph = again.get_execution_environment().get_stream_graph()
    (edge,) = (
        e for node in graph.nodes.values() for e in node.in_edges if str(e.partitioner) == "HASH"
    )
    assert graph.nodes[edge.source_id].name == "Source: Collection Source"


def test_operators_on_a_keyed_stream_are_keyed() -> None:
    keyed = numbers(1).key_by(parity)
    keyed.map(str).map(str).name("plain").print()
    keyed.sum().name("sum")
    nodes = keyed.get_execution_environment().get_stream_graph().nodes.values()
    assert {node.name: node.is_keyed for node in nodes} == {
        "Source: Collection Source": False,
        "Map": True,
        "plain": False,
        "Sink: Print to Std. Out": False,
        "sum": True,
    }


@pytest.mark.parametrize("method", ["sum", "min", "max", "min_by", "max_by"])
def test_aggregates_want_a_field(method: str) -> None:
    for wrong in (None, -1, 1.0, "", lambda record: record):
        with pytest.raises(InvalidArgumentError, match=rf"^{method}\(\) "):
            getattr(numbers(1).key_by(parity), method)(wrong)


class Parity(KeySelector):
    def get_key(self, value: int) -> int:
        return value % 2


def test_a_key_selector_that_is_a_class() -> None:
    assert results(numbers(1, 2, 3).key_by(Parity()).sum()) == [1, 2, 4]
