"""From chains of operators to the program that executors run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from penstock.graph.chaining import chained_edges
from penstock.graph.job_graph import JobEdge, JobGraph, JobVertex
from penstock.graph.source_descriptions import AggregatedFrameSource
from penstock.graph.stream_graph import StreamEdge, StreamNode
from penstock.graph.unpicklable import pickle_by_value
from penstock.runtime.job_pickle import classes_of_main, dump_code
from penstock.runtime.operators.broadcast_process import BroadcastOperator
from penstock.runtime.program import ChainedEdge, NetworkEdge, OperatorSpec, Program, Vertex
from penstock.runtime.source import NativeSource


def compile_program(job_graph: JobGraph, class_names: Mapping[str, str] | None = None) -> Program:
    """Pickle the operators of a job and put them into a program.

    Args:
        job_graph: The job's chains. Its `sources` has, at the place `Vertex.source`, the operator that
            the vertex begins with.
        class_names: The new qualified names of classes by those under which state may be kept.

    Raises:
        FunctionNotSerializableError: If an operator's function, or a key selector or partitioner,
            cannot be pickled.
    """
    graph = job_graph.stream_graph
    edges = [_network_edge(edge, job_graph) for edge in job_graph.edges]
    vertices = tuple(_vertex(vertex, job_graph, edges) for vertex in job_graph.vertices)
    program = Program(
        name=job_graph.name,
        vertices=vertices,
        main_classes=_main_classes(),
        object_reuse=graph.object_reuse,
        batch=graph.batch,
        job_parameters=dict(sorted(graph.job_parameters.items())),
        state_backend=graph.state_backend,
        state_memory=graph.state_memory,
        rocksdb=graph.rocksdb,
        class_names=dict(class_names or {}),
    )
    return replace(program, digest=_digest(program, edges))


def _network_edge(edge: JobEdge, job_graph: JobGraph) -> NetworkEdge:
    sender = job_graph.stream_graph.nodes[edge.stream_edge.source_id]
    what = f"The key selector or partitioner behind operator {sender.name!r}"
    return NetworkEdge(
        index=edge.index,
        source=edge.source,
        target=edge.target,
        input=edge.stream_edge.input,
        partitioner=pickle_by_value(edge.stream_edge.partitioner, what),
        tag=_tag_id(edge.stream_edge),
        is_broadcast=edge.stream_edge.partitioner.is_broadcast,
    )


def _tag_id(edge: StreamEdge) -> str | None:
    return None if edge.tag is None else edge.tag.tag_id


def _vertex(vertex: JobVertex, job_graph: JobGraph, edges: list[NetworkEdge]) -> Vertex:
    head = vertex.head
    return Vertex(
        index=vertex.index,
        vertex_id=vertex.vertex_id,
        name=vertex.name,
        operators=tuple(_operator(node, vertex, job_graph, edges) for node in vertex.nodes),
        parallelism=vertex.parallelism,
        max_parallelism=vertex.max_parallelism,
        level=vertex.level,
        inputs=tuple(edges[edge.index] for edge in vertex.inputs),
        source=job_graph.sources.index(head) if head.is_source else None,
        is_shared=head.is_source
        and not isinstance(head.source, (NativeSource, AggregatedFrameSource)),
        fixes_key_groups=head.fixes_max_parallelism,
    )


def _operator(
    node: StreamNode, vertex: JobVertex, job_graph: JobGraph, edges: list[NetworkEdge]
) -> OperatorSpec:
    places = {other.id: place for place, other in enumerate(vertex.nodes)}
    return OperatorSpec(
        operator_id=job_graph.operator_ids[node.id],
        name=node.name,
        prototype=pickle_by_value(node.operator, f"Operator {node.name!r}"),
        chained=tuple(
            ChainedEdge(places[edge.target_id], _tag_id(edge))
            for edge in chained_edges(node, job_graph.stream_graph)
        ),
        network=tuple(
            edges[edge.index] for edge in vertex.outputs if edge.stream_edge.source_id == node.id
        ),
        uid=node.uid,
        is_keyed=node.operator.is_stateful,
        has_broadcast_state=isinstance(node.operator, BroadcastOperator),
        keeps_records=node.operator.keeps_records,
        delivers_to=node.operator.delivers_to,
        kept_windows=node.operator.kept_windows,
    )


def _main_classes() -> bytes:
    """Pickle the classes of the user's script by value, those that can be pickled."""
    found: dict[str, type] = {}
    for name, value in classes_of_main().items():
        try:
            dump_code(value)
        except Exception:  # noqa: BLE001, S112 - pickling runs the user's code
            continue
        found[name] = value
    return dump_code(found) if found else b""


def _digest(program: Program, edges: list[NetworkEdge]) -> str:
    """Hash all that a program is."""
    structure = [
        (
            vertex.vertex_id,
            vertex.parallelism,
            vertex.max_parallelism,
            vertex.source,
            [
                (operator.operator_id, operator.name, operator.chained)
                for operator in vertex.operators
            ],
        )
        for vertex in program.vertices
    ]
    options = (program.name, program.object_reuse, program.batch, program.job_parameters)
    network = [(edge.source, edge.target, edge.input, edge.tag) for edge in edges]
    digest = hashlib.sha256(repr((options, structure, network)).encode())
    prototypes = [
        operator.prototype for vertex in program.vertices for operator in vertex.operators
    ]
    for code in [program.main_classes, *prototypes, *(edge.partitioner for edge in edges)]:
        digest.update(len(code).to_bytes(8, "big") + code)
    return digest.hexdigest()
