from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.graph.programs import Programs
from tests.strategies import any_of, many_of

from penstock.graph.chaining import chained_edges, is_chainable
from penstock.graph.compiler import compile_program
from penstock.graph.job_graph import JobGraph
from penstock.graph.plan.execution_plan import ExecutionPlan
from penstock.graph.transformation import Transformation
from penstock.runtime.exchange.partitioners import (
    BroadcastPartitioner,
    ForwardPartitioner,
    RebalancePartitioner,
    ShufflePartitioner,
)
from penstock.runtime.operator import ChainingStrategy
from penstock.runtime.program import Program


def chains_of(graph: JobGraph) -> list[tuple[int, str]]:
    return [(vertex.level, vertex.name) for vertex in graph.vertices]


def edges_of(graph: JobGraph) -> list[tuple[int, int, str]]:
    return [
        (edge.source, edge.target, edge.stream_edge.partitioner.ship_strategy)
        for edge in graph.edges
    ]


def test_a_chain_branches() -> None:
    program = Programs()
    mapped = program.map(program.source())
    program.sink(program.map(mapped, name="Filter"))
    program.sink(mapped)
    graph = program.job_graph(job_name="job")
    [vertex] = graph.vertices
    assert vertex.name == "Source: numbers -> Map -> (Filter -> Sink: Print, Sink: Print)"
    assert [node.name for node in vertex.nodes] == [
        "Source: numbers",
        "Map",
        "Filter",
        "Sink: Print",
        "Sink: Print",
    ]
    assert vertex.vertex_id == graph.operator_ids[vertex.head.id]
    assert (graph.name, graph.levels, graph.edges) == ("job", 1, ())


def test_exchanges_separate_chains() -> None:
    program = Programs()
    keyed = program.map(program.key_by(program.map(program.source())), name="sum")
    program.sink(program.map(keyed, name="scale", parallelism=3), parallelism=3)
    graph = program.job_graph()
    assert chains_of(graph) == [
        (0, "Source: numbers -> Map"),
        (1, "sum"),
        (2, "scale -> Sink: Print"),
    ]
    assert edges_of(graph) == [(0, 1, "HASH"), (1, 2, "REBALANCE")]
    assert [vertex.parallelism for vertex in graph.vertices] == [1, 1, 3]
    assert graph.vertices[1].inputs == graph.vertices[0].outputs == [graph.edges[0]]


def test_levels_are_the_longest_distance_from_the_sources() -> None:
    # A diamond with an edge that skips levels, and a second source that joins below.
    program = Programs()
    source = program.source("first")
    left = program.map(program.key_by(source), name="left")
    long = program.map(program.key_by(program.map(program.key_by(left), name="mid")), name="long")
    late = program.source("second")
    joined = program.map(program.union(long, source, late), name="join")
    program.sink(joined)
    graph = program.job_graph()
    assert chains_of(graph) == [
        (0, "Source: first"),
        (0, "Source: second"),
        (1, "left"),
        (2, "mid"),
        (3, "long"),
        (4, "join -> Sink: Print"),
    ]
    assert [node.name for node in graph.sources] == ["Source: first", "Source: second"]
    assert graph.levels == 5


def test_the_head_decides_the_max_parallelism() -> None:
    program = Programs()
    keyed = program.map(program.key_by(program.source()), name="sum", max_parallelism=64)
    program.sink(keyed, max_parallelism=32)
    assert [vertex.max_parallelism for vertex in program.job_graph().vertices] == [128, 64]


def test_a_stream_united_with_itself_crosses_twice() -> None:
    program = Programs()
    source = program.source()
    program.sink(program.union(source, source))
    assert edges_of(program.job_graph()) == [(0, 1, "FORWARD"), (0, 1, "FORWARD")]


def test_a_very_long_chain() -> None:
    program = Programs()
    stream: Transformation = program.source()
    for _ in range(3000):
        stream = program.map(stream)
    program.sink(stream)
    [vertex] = program.job_graph().vertices
    assert len(vertex.nodes) == 3002


@dataclass(frozen=True)
class Step:
    """How a random program goes on: an operator that reads earlier ones, chosen by number."""

    inputs: tuple[int, ...]
    partitioning: str | None
    side_output: bool
    parallelism: int
    options: tuple[tuple[str, Any], ...]


PARTITIONERS: dict[str, Any] = {
    "forward": ForwardPartitioner,
    "rebalance": RebalancePartitioner,
    "broadcast": BroadcastPartitioner,
    "shuffle": ShufflePartitioner,
}

OPTIONS = "chaining_strategy", "slot_sharing_group", "max_parallelism"
A_STEP = any_of(
    [None, None, None, "key_by", *PARTITIONERS],
    [False, True],
    [1, 1, 1, 2],
    # Each option is left out by half.
    [*[None] * len(ChainingStrategy), *ChainingStrategy],
    [None, None, "a", "b"],
    [None, None, 8, 16],
)


def a_step(drawn: tuple[list[int], tuple[Any, ...]]) -> Step:
    inputs, (partitioning, side_output, parallelism, *values) = drawn
    options = [pair for pair in zip(OPTIONS, values, strict=True) if pair[1] is not None]
    return Step(tuple(inputs), partitioning, side_output, parallelism, tuple(options))


steps = st.tuples(many_of(range(31), max_size=3), A_STEP).map(a_step)


def random_program(drawn: list[Step]) -> Programs:
    program = Programs()
    streams = [program.source()]
    for step in drawn:
        extra = {"parallelism": step.parallelism} | dict(step.options)
        if not step.inputs:
            streams.append(program.source(**extra))
            continue
        read = [streams[number % len(streams)] for number in step.inputs]
        stream: Transformation = read[0] if len(read) == 1 else program.union(*read)
        if step.side_output:
            stream = program.side_output(stream, "side")
        if step.partitioning == "key_by":
            stream = program.key_by(stream)
        elif step.partitioning is not None:
            stream = program.partition(stream, PARTITIONERS[step.partitioning]())
        if step.partitioning == "forward" and any(
            sender.parallelism != step.parallelism for sender in read
        ):
            stream = program.partition(stream, RebalancePartitioner())
        streams.append(program.map(stream, **extra))
    read_ids = {step.id for made in program.made for step in made.inputs}
    for stream in streams:
        if stream.id not in read_ids:
            program.sink(stream)
    return program


programs = st.lists(steps, max_size=12).map(random_program)
switches = any_of([False, True], [False, True]).map(
    lambda drawn: {"chaining_enabled": drawn[0], "chain_different_max_parallelism": drawn[1]}
)


@given(programs, switches)
def test_laws_of_all_programs(program: Programs, switched: dict[str, bool]) -> None:
    """To draw a program takes longer than to look at it: each law is held against all that are drawn."""
    graph = program.job_graph(**switched)
    every_operator_is_in_one_chain(graph)
    every_edge_is_chained_or_an_exchange(graph)
    levels_rise_along_edges(graph)
    a_chain_has_one_parallelism_and_group(graph)
    ids_are_the_same_on_every_build(program)
    the_compiled_program_has_the_same_shape(graph)
    every_program_has_a_plan_that_names_all(program, graph)


def every_operator_is_in_one_chain(graph: JobGraph) -> None:
    found = [node.id for vertex in graph.vertices for node in vertex.nodes]
    assert sorted(found) == list(graph.stream_graph.nodes)


def every_edge_is_chained_or_an_exchange(graph: JobGraph) -> None:
    stream_graph = graph.stream_graph
    owners = {node.id: vertex for vertex in graph.vertices for node in vertex.nodes}
    exchanges = [edge.stream_edge for edge in graph.edges]
    for node in stream_graph.nodes.values():
        for edge in node.out_edges:
            sender, receiver = owners[edge.source_id], owners[edge.target_id]
            if is_chainable(edge, stream_graph):
                assert sender is receiver
                assert edge not in exchanges
                order = [member.id for member in sender.nodes]
                assert order.index(edge.source_id) < order.index(edge.target_id)
            else:
                assert exchanges.count(edge) == 1
                assert receiver.head.id == edge.target_id


def levels_rise_along_edges(graph: JobGraph) -> None:
    for edge in graph.edges:
        assert graph.vertices[edge.source].level < graph.vertices[edge.target].level
        assert edge.source < edge.target
    for vertex in graph.vertices:
        senders = [graph.vertices[edge.source].level for edge in vertex.inputs]
        assert vertex.level == max(senders, default=-1) + 1
        assert vertex.head.is_source == (vertex.level == 0)


def a_chain_has_one_parallelism_and_group(graph: JobGraph) -> None:
    for vertex in graph.vertices:
        assert len({node.parallelism for node in vertex.nodes}) == 1
        assert len({node.slot_sharing_group for node in vertex.nodes}) == 1


def ids_are_the_same_on_every_build(program: Programs) -> None:
    assert program.job_graph().operator_ids == program.job_graph().operator_ids


def the_compiled_program_has_the_same_shape(graph: JobGraph) -> None:
    compiled: Program = compile_program(graph)
    sent = [edge for vertex in compiled.vertices for op in vertex.operators for edge in op.network]
    got = [edge for vertex in compiled.vertices for edge in vertex.inputs]
    assert sorted(edge.index for edge in sent) == list(range(len(graph.edges)))
    assert sorted(edge.index for edge in got) == list(range(len(graph.edges)))
    for vertex, made_from in zip(compiled.vertices, graph.vertices, strict=True):
        for operator, node in zip(vertex.operators, made_from.nodes, strict=True):
            assert [made_from.nodes[edge.target].id for edge in operator.chained] == [
                edge.target_id for edge in chained_edges(node, graph.stream_graph)
            ]


def every_program_has_a_plan_that_names_all(program: Programs, graph: JobGraph) -> None:
    plan = ExecutionPlan(graph)
    text, picture, data = str(plan), plan._repr_html_(), plan.to_json()
    for step in program.made:
        if hasattr(step, "operator"):
            assert step.name in text
            assert step.name in picture
            assert step.name in data
