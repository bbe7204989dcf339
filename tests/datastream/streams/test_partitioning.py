from __future__ import annotations

import itertools

import pytest

from penstock.datastream import DataStream
from penstock.datastream.functions import KeySelector, MapFunction, Partitioner, RuntimeContext
from penstock.errors import (
    ForwardParallelismError,
    InvalidArgumentError,
    InvalidFunctionError,
    UnsupportedOperationError,
    UserFunctionError,
)
from penstock.testing import local_environment

STRATEGIES = {
    "shuffle": "SHUFFLE",
    "rescale": "RESCALE",
    "rebalance": "REBALANCE",
    "broadcast": "BROADCAST",
    "global_": "GLOBAL",
}


def numbers(parallelism: int = 3) -> DataStream:
    return local_environment(parallelism).from_collection(range(10))


class Where(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: int) -> tuple[int, int]:
        return self.subtask, value


def where(stream: DataStream) -> dict[int, list[int]]:
    """Which subtasks of the next operator got which records."""
    found: dict[int, list[int]] = {}
    for subtask, value in stream.map(Where()).execute_and_collect():
        found.setdefault(subtask, []).append(value)
    return found


@pytest.mark.parametrize("method", STRATEGIES)
def test_the_edge_has_the_strategy(method: str) -> None:
    stream = getattr(numbers(), method)().map(str)
    stream.print()
    graph = stream.get_execution_environment().get_stream_graph()
    (mapped,) = (node for node in graph.nodes.values() if node.name == "Map")
    assert [str(edge.partitioner) for edge in mapped.in_edges] == [STRATEGIES[method]]


def test_rebalance_and_rescale_deal_records_out_in_turn() -> None:
    dealt = {0: [0, 3, 6, 9], 1: [1, 4, 7], 2: [2, 5, 8]}
    assert where(numbers().rebalance()) == dealt
    assert where(numbers().rescale()) == dealt


def test_broadcast_gives_all_records_to_all() -> None:
    assert where(numbers().broadcast()) == {subtask: [*range(10)] for subtask in range(3)}


def test_global_gives_all_records_to_the_first() -> None:
    assert where(numbers().global_()) == {0: [*range(10)]}


def test_shuffle_loses_nothing() -> None:
    found = where(numbers().shuffle())
    assert sorted(itertools.chain(*found.values())) == [*range(10)]


def test_forward_keeps_subtasks_apart() -> None:
    mapped = numbers().rebalance().map(lambda value: value)
    assert where(mapped.forward()) == where(numbers().rebalance())


def test_forward_needs_equal_parallelism() -> None:
    stream = numbers()
    stream.forward().map(str).print()
    with pytest.raises(ForwardParallelismError):
        stream.get_execution_environment().execute()


class Modulo(Partitioner):
    def partition(self, key: int, num_partitions: int) -> int:
        return key % num_partitions


class Identity(KeySelector):
    def get_key(self, value: int) -> int:
        return value


def test_partition_custom_asks_the_user() -> None:
    expected = {0: [0, 3, 6, 9], 1: [1, 4, 7], 2: [2, 5, 8]}
    by_function = numbers().partition_custom(lambda key, n: key % n, lambda value: value)
    assert where(by_function) == expected
    assert where(numbers().partition_custom(Modulo(), Identity())) == expected


def test_partition_custom_refuses_what_cannot_be_called() -> None:
    with pytest.raises(InvalidFunctionError, match="partition_custom"):
        numbers().partition_custom(3, lambda value: value)  # type: ignore[arg-type]
    with pytest.raises(InvalidFunctionError, match="partition_custom"):
        numbers().partition_custom(Modulo(), None)  # type: ignore[arg-type]


def test_partition_custom_checks_what_the_partitioner_returns() -> None:
    with pytest.raises(InvalidArgumentError, match="returned 3 for the record 3"):
        where(numbers().partition_custom(lambda key, n: key, lambda value: value))


def test_partition_custom_names_the_record_that_failed() -> None:
    with pytest.raises(UserFunctionError, match="ZeroDivisionError") as caught:
        where(numbers().partition_custom(lambda key, n: 1 // key, lambda value: value))
    assert caught.value.record == "0"


@pytest.mark.parametrize("method", [*STRATEGIES, "forward", "partition_custom"])
def test_a_keyed_stream_stays_partitioned_by_key(method: str) -> None:
    keyed = numbers().key_by(lambda value: value % 2)
    arguments = (Modulo(), Identity()) if method == "partition_custom" else ()
    with pytest.raises(UnsupportedOperationError, match=rf"^{method}\(\) was called on a keyed"):
        getattr(keyed, method)(*arguments)
