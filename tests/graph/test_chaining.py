from __future__ import annotations

from typing import Any

import pytest
from tests.graph.programs import Programs, identity

from penstock.graph.chaining import chained_edges, is_chainable
from penstock.graph.source_descriptions import FrameSource
from penstock.runtime.exchange.partitioners import (
    BroadcastPartitioner,
    CustomPartitioner,
    ForwardPartitioner,
    GlobalPartitioner,
    KeyGroupStreamPartitioner,
    RebalancePartitioner,
    RescalePartitioner,
    ShufflePartitioner,
    StreamPartitioner,
)
from penstock.runtime.operator import ChainingStrategy
from penstock.runtime.operators.function_operator import MapOperator

ALWAYS, HEAD, NEVER = ChainingStrategy.ALWAYS, ChainingStrategy.HEAD, ChainingStrategy.NEVER


def are_chained(
    first: dict[str, Any] | None = None, second: dict[str, Any] | None = None, **options: Any
) -> bool:
    """Whether two operators with the given properties share a chain."""
    program = Programs()
    mapped = program.map(program.source(), **(first or {}))
    sink = program.sink(mapped, **(second or {}))
    graph = program.graph(**options)
    [edge] = graph.nodes[sink.id].in_edges
    return is_chainable(edge, graph)


def test_neighbours_are_chained() -> None:
    assert are_chained()


def test_chaining_can_be_switched_off() -> None:
    assert not are_chained(chaining_enabled=False)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (ALWAYS, ALWAYS, True),
        (HEAD, ALWAYS, True),
        (NEVER, ALWAYS, False),
        (ALWAYS, HEAD, False),
        (HEAD, HEAD, False),
        (NEVER, HEAD, False),
        (ALWAYS, NEVER, False),
        (HEAD, NEVER, False),
        (NEVER, NEVER, False),
    ],
)
def test_strategies(first: ChainingStrategy, second: ChainingStrategy, *, expected: bool) -> None:
    assert are_chained({"chaining_strategy": first}, {"chaining_strategy": second}) is expected


def test_a_chain_may_begin_with_a_source() -> None:
    program = Programs()
    source = program.source()
    program.sink(source)
    graph = program.graph()
    assert len(chained_edges(graph.nodes[source.id], graph)) == 1


def test_slot_sharing_groups_are_not_mixed() -> None:
    assert not are_chained({"slot_sharing_group": "a"}, {"slot_sharing_group": "b"})
    assert are_chained({"slot_sharing_group": "a"}, {"slot_sharing_group": "a"})


def test_a_slot_sharing_group_is_inherited() -> None:
    assert are_chained({"slot_sharing_group": "a"})


def test_parallelism_must_be_equal() -> None:
    assert not are_chained({"parallelism": 2}, {"parallelism": 3})
    assert are_chained({"parallelism": 3}, {"parallelism": 3})


def test_parallelism_must_be_equal_even_where_records_are_forwarded() -> None:
    program = Programs()
    sink = program.sink(program.source())
    graph = program.graph()
    graph.nodes[sink.id].parallelism = 2
    assert not is_chainable(graph.nodes[sink.id].in_edges[0], graph)


def test_max_parallelism_need_not_be_equal_unless_asked() -> None:
    first, second = {"max_parallelism": 64}, {"max_parallelism": 32}
    assert are_chained(first, second)
    assert not are_chained(first, second, chain_different_max_parallelism=False)
    assert are_chained(first, first, chain_different_max_parallelism=False)


@pytest.mark.parametrize(
    "partitioner",
    [
        BroadcastPartitioner(),
        CustomPartitioner(lambda key, count: key % count, identity),
        GlobalPartitioner(),
        KeyGroupStreamPartitioner(identity),
        RebalancePartitioner(),
        RescalePartitioner(),
        ShufflePartitioner(),
    ],
    ids=repr,
)
def test_an_exchange_ends_a_chain(partitioner: StreamPartitioner) -> None:
    program = Programs()
    source = program.source()
    program.sink(program.partition(source, partitioner))
    graph = program.graph()
    assert chained_edges(graph.nodes[source.id], graph) == []


def test_an_explicit_forward_is_chained() -> None:
    program = Programs()
    source = program.source()
    program.sink(program.partition(source, ForwardPartitioner()))
    graph = program.graph()
    assert len(chained_edges(graph.nodes[source.id], graph)) == 1


def test_a_union_ends_its_inputs_chains() -> None:
    program = Programs()
    left, right = program.source("left"), program.source("right")
    sink = program.sink(program.union(left, right))
    graph = program.graph()
    assert not any(is_chainable(edge, graph) for edge in graph.nodes[sink.id].in_edges)


def test_a_stream_united_with_itself_ends_its_chain() -> None:
    program = Programs()
    source = program.source()
    sink = program.sink(program.union(source, source))
    graph = program.graph()
    assert [is_chainable(edge, graph) for edge in graph.nodes[sink.id].in_edges] == [False, False]


def test_an_operator_with_two_inputs_starts_a_chain() -> None:
    program = Programs()
    joined = program.map(program.source("left"), program.source("right"), name="join")
    program.sink(joined)
    graph = program.graph()
    assert not any(is_chainable(edge, graph) for edge in graph.nodes[joined.id].in_edges)


def test_several_readers_and_side_outputs_are_chained() -> None:
    program = Programs()
    source = program.source()
    program.sink(source)
    program.sink(program.side_output(source, "late"))
    graph = program.graph()
    assert len(chained_edges(graph.nodes[source.id], graph)) == 2


class NeedsItsSubtask(MapOperator):
    needs_its_subtask = True


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({}, True),
        ({"is_bounded": False}, True),
        ({"source": FrameSource(None), "is_bounded": True}, True),
        ({"source": FrameSource(None), "is_bounded": False}, False),
    ],
    ids=["native", "endless", "bounded frame", "streaming frame"],
)
def test_what_needs_its_subtask_is_not_chained_to_a_stream_that_spark_reads(
    source: dict[str, Any], *, expected: bool
) -> None:
    program = Programs()
    read = program.source(**{"is_bounded": True, **source})
    mapped = program.map(read)
    needy = program.map(mapped, name="Needy")
    needy.operator = NeedsItsSubtask(identity)
    sink = program.sink(needy)
    graph = program.graph()
    assert is_chainable(graph.nodes[mapped.id].in_edges[0], graph)
    assert is_chainable(graph.nodes[needy.id].in_edges[0], graph) is expected
    assert is_chainable(graph.nodes[sink.id].in_edges[0], graph)
