from __future__ import annotations

from typing import Any

import pytest
from tests.graph.programs import Programs

from penstock.errors import (
    DuplicateUidError,
    ForwardParallelismError,
    InvalidArgumentError,
    InvalidParallelismError,
    MissingUidError,
    NoSinkError,
)
from penstock.graph.stream_graph import StreamGraph, build_stream_graph
from penstock.graph.transformation import Transformation
from penstock.runtime.exchange.partitioners import ForwardPartitioner, RebalancePartitioner


def edges_of(graph: StreamGraph) -> list[tuple[str, str, str, str | None]]:
    """Return sender, receiver, ship strategy and side output of every edge."""
    return [
        (
            graph.nodes[edge.source_id].name,
            node.name,
            edge.partitioner.ship_strategy,
            edge.tag.tag_id if edge.tag else None,
        )
        for node in graph.nodes.values()
        for edge in node.in_edges
    ]


def test_operators_and_edges() -> None:
    program = Programs()
    mapped = program.map(program.source(), description="what it does", output_type="type")
    program.sink(mapped, uid="out", uid_hash="f" * 32)
    graph = program.graph(job_name="job", job_parameters={"a": "b"}, object_reuse=False)
    source, mapped_node, sink = graph.nodes.values()
    assert (graph.job_name, graph.job_parameters, graph.object_reuse) == ("job", {"a": "b"}, False)
    assert graph.sources == [source]
    assert source.is_source
    assert source.source is not None
    assert not mapped_node.is_source
    assert mapped_node.operator is mapped.operator
    assert (mapped_node.description, mapped_node.output_type) == ("what it does", "type")
    assert (sink.description, sink.uid, sink.uid_hash) == ("Sink: Print", "out", "f" * 32)
    assert sink.is_sink
    assert edges_of(graph) == [
        ("Source: numbers", "Map", "FORWARD", None),
        ("Map", "Sink: Print", "FORWARD", None),
    ]
    assert source.out_edges == mapped_node.in_edges


def test_only_what_the_sinks_need_is_built() -> None:
    program = Programs()
    source = program.source()
    program.map(source, name="unread")
    sink = program.sink(source)
    graph = build_stream_graph([sink], job_name="job", default_parallelism=1)
    assert [node.name for node in graph.nodes.values()] == ["Source: numbers", "Sink: Print"]


def test_an_operator_without_a_sink_runs_if_it_is_given() -> None:
    program = Programs()
    source = program.source()
    program.map(source, name="unread")
    program.sink(source)
    assert "unread" in [node.name for node in program.graph().nodes.values()]


def test_parallelism() -> None:
    program = Programs()
    program.sink(program.map(program.source(parallelism=1), parallelism=100), max_parallelism=7)
    graph = program.graph(default_parallelism=3)
    found = [(node.parallelism, node.max_parallelism) for node in graph.nodes.values()]
    assert found == [(1, 128), (100, 256), (3, 7)]
    graph = program.graph(default_parallelism=3, max_parallelism=1000)
    assert [node.max_parallelism for node in graph.nodes.values()] == [1000, 1000, 7]


def test_default_partitioner_depends_on_parallelism() -> None:
    program = Programs()
    mapped = program.map(program.source(parallelism=1), parallelism=2)
    program.sink(mapped, parallelism=2)
    assert [strategy for _, _, strategy, _ in edges_of(program.graph())] == ["REBALANCE", "FORWARD"]


def test_the_last_partitioning_counts() -> None:
    program = Programs()
    keyed = program.key_by(program.source())
    program.sink(program.partition(keyed, RebalancePartitioner()))
    assert edges_of(program.graph()) == [("Source: numbers", "Sink: Print", "REBALANCE", None)]


def test_unions_become_edges() -> None:
    program = Programs()
    a, b, c = program.source("a"), program.source("b"), program.source("c", parallelism=2)
    program.sink(program.union(program.union(a, program.key_by(b)), c))
    graph = program.graph()
    assert edges_of(graph) == [
        ("Source: a", "Sink: Print", "FORWARD", None),
        ("Source: b", "Sink: Print", "HASH", None),
        ("Source: c", "Sink: Print", "REBALANCE", None),
    ]
    [*_, sink] = graph.nodes.values()
    assert {edge.input for edge in sink.in_edges} == {0}


def test_a_long_row_of_unions() -> None:
    program = Programs()
    stream: Transformation = program.source()
    for number in range(2000):
        stream = program.union(stream, program.source(str(number)))
    sink = program.sink(stream)
    assert len(program.graph().nodes[sink.id].in_edges) == 2001


def test_a_stream_may_be_united_with_itself() -> None:
    program = Programs()
    source = program.source()
    sink = program.sink(program.union(source, source))
    assert len(program.graph().nodes[sink.id].in_edges) == 2


def test_side_outputs_become_tags() -> None:
    program = Programs()
    source = program.source()
    late = program.side_output(source, "late")
    program.sink(late)
    program.sink(program.key_by(late), name="Sink: keyed")
    program.sink(program.union(source, late), name="Sink: both")
    assert edges_of(program.graph()) == [
        ("Source: numbers", "Sink: Print", "FORWARD", "late"),
        ("Source: numbers", "Sink: keyed", "HASH", "late"),
        ("Source: numbers", "Sink: both", "FORWARD", None),
        ("Source: numbers", "Sink: both", "FORWARD", "late"),
    ]


def test_inputs_are_numbered() -> None:
    program = Programs()
    left = program.union(program.source("a"), program.source("b"))
    joined = program.map(left, program.source("c"), name="join")
    program.sink(joined)
    edges = program.graph().nodes[joined.id].in_edges
    assert [edge.input for edge in edges] == [0, 0, 1]


def test_slot_sharing_groups() -> None:
    program = Programs()
    left = program.source("left", slot_sharing_group="a")
    right = program.source("right", slot_sharing_group="b")
    plain = program.source("plain")
    same = program.map(program.union(left, left), name="same")
    mixed = program.map(program.union(left, right), name="mixed")
    own = program.map(same, name="own", slot_sharing_group="c")
    for stream in (mixed, own, plain):
        program.sink(stream)
    groups = {node.name: node.slot_sharing_group for node in program.graph().nodes.values()}
    assert groups["same"] == "a"
    assert groups["mixed"] == groups["Source: plain"] == "default"
    assert groups["own"] == "c"


def test_boundedness() -> None:
    program = Programs()
    program.sink(program.source("bounded"))
    assert program.graph().is_bounded
    program.sink(program.source("endless", is_bounded=False))
    assert not program.graph().is_bounded


def test_batch_needs_sources_that_end() -> None:
    program = Programs()
    program.sink(program.source("endless", is_bounded=False))
    with pytest.raises(InvalidArgumentError, match="'Source: endless' never does"):
        program.graph(batch=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parallelism": 0}, "'Map' has the parallelism 0"),
        ({"parallelism": -1}, "'Map' has the parallelism -1"),
        ({"max_parallelism": 0}, "'Map' has the max parallelism 0"),
        ({"max_parallelism": 2**15 + 1}, "'Map' has the max parallelism 32769"),
        (
            {"parallelism": 9, "max_parallelism": 8},
            "'Map' has the parallelism 9, more than its max parallelism of 8",
        ),
        ({"parallelism": 2**15 + 1}, "more than its max parallelism of 32768"),
    ],
)
def test_parallelism_out_of_range(options: dict[str, Any], message: str) -> None:
    program = Programs()
    program.sink(program.map(program.source(), **options))
    with pytest.raises(InvalidParallelismError, match=message) as caught:
        program.graph()
    assert caught.value.hint


def test_a_forward_cannot_change_parallelism() -> None:
    program = Programs()
    source = program.source(parallelism=1)
    program.sink(program.partition(source, ForwardPartitioner()), parallelism=2)
    message = r"'Source: numbers' \(parallelism 1\) cannot forward to operator 'Sink: Print'"
    with pytest.raises(ForwardParallelismError, match=message) as caught:
        program.graph()
    assert "rebalance" in str(caught.value.hint)


def test_equal_uids_are_refused() -> None:
    program = Programs()
    program.sink(program.map(program.source(uid="same"), uid="same"))
    with pytest.raises(DuplicateUidError, match="'Source: numbers' and 'Map'") as caught:
        program.graph()
    assert "'same'" in caught.value.message
    assert caught.value.hint


def test_missing_uids_are_refused_if_that_is_wanted() -> None:
    program = Programs()
    source = program.source(uid="source")
    program.sink(program.map(source, uid_hash="0" * 32), uid="sink")
    program.graph(auto_uids=False)

    program.sink(program.map(source), uid="other")
    program.graph()
    with pytest.raises(MissingUidError, match="'Map' has no uid") as caught:
        program.graph(auto_uids=False)
    assert "uid()" in (caught.value.hint or "")


def test_a_program_without_a_sink_is_refused() -> None:
    program = Programs()
    with pytest.raises(NoSinkError, match="no operator"):
        program.graph()
    program.map(program.source())
    with pytest.raises(NoSinkError, match="no sink") as caught:
        program.graph()
    assert "print()" in str(caught.value.hint)


def test_streams_of_two_programs_cannot_meet() -> None:
    one, other = Programs(), Programs()
    one.sink(one.union(one.source("one"), other.source("other")))
    with pytest.raises(InvalidArgumentError, match="different programs"):
        one.graph()
