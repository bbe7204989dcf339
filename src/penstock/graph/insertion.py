"""Puts an operator between two others."""

from __future__ import annotations

from dataclasses import replace

from penstock.graph.stream_graph import StreamEdge, StreamGraph, StreamNode
from penstock.runtime.exchange.partitioners import ForwardPartitioner, StreamPartitioner
from penstock.runtime.operator import StreamOperator


def insert(
    edge: StreamEdge,
    graph: StreamGraph,
    *,
    name: str,
    description: str,
    operator: StreamOperator,
    partitioner: StreamPartitioner,
) -> None:
    """Put an operator that works on columns on an edge, next to the one that sends.

    Args:
        edge: The edge.
        graph: The program, which is changed.
        name: The operator's name.
        description: The text for plans.
        operator: The operator.
        partitioner: Chooses the subtasks of the receiver.
    """
    sender, receiver = graph.nodes[edge.source_id], graph.nodes[edge.target_id]
    node = StreamNode(
        id=max(graph.nodes) + 1,
        name=name,
        operator=operator,
        parallelism=sender.parallelism,
        max_parallelism=sender.max_parallelism,
        fixes_max_parallelism=sender.fixes_max_parallelism,
        slot_sharing_group=sender.slot_sharing_group,
        description=description,
        is_columnar=True,
    )
    before = replace(edge, target_id=node.id, partitioner=ForwardPartitioner(), input=0)
    after = replace(edge, source_id=node.id, partitioner=partitioner, tag=None)
    sender.out_edges[sender.out_edges.index(edge)] = before
    receiver.in_edges[receiver.in_edges.index(edge)] = after
    node.in_edges.append(before)
    node.out_edges.append(after)
    # A node stands behind those that feed it.
    nodes = list(graph.nodes.values())
    nodes.insert(nodes.index(receiver), node)
    graph.nodes = {each.id: each for each in nodes}
