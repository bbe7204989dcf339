"""Which operators share a chain: Flink's rules."""

from __future__ import annotations

from penstock.graph.stream_graph import StreamEdge, StreamGraph, StreamNode
from penstock.runtime.exchange.partitioners import ForwardPartitioner
from penstock.runtime.operator import ChainingStrategy
from penstock.runtime.planned.planned_source import PlannedSource
from penstock.runtime.source import NativeSource


def chained_edges(node: StreamNode, graph: StreamGraph) -> list[StreamEdge]:
    """Return the edges from an operator to those that are chained to it."""
    return [edge for edge in node.out_edges if is_chainable(edge, graph)]


def is_chainable(edge: StreamEdge, graph: StreamGraph) -> bool:
    """Return whether the receiver of an edge joins the chain of its sender.

    That needs: chaining switched on; a receiver fed by this edge alone, so by no union; a forward
    partitioner; one slot sharing group; the same parallelism, and, unless the graph allows
    otherwise, the same max parallelism; a sender whose strategy is not NEVER; and a receiver whose
    strategy is ALWAYS. As Flink does not chain an operator that yields to a legacy source, so one that
    needs its subtask is not chained to a stream that Spark reads, or whose reading the driver plans.
    """
    sender, receiver = graph.nodes[edge.source_id], graph.nodes[edge.target_id]
    return (
        graph.chaining_enabled
        and len(receiver.in_edges) == 1
        and isinstance(edge.partitioner, ForwardPartitioner)
        and sender.slot_sharing_group == receiver.slot_sharing_group
        and sender.parallelism == receiver.parallelism
        and _fit_in_max_parallelism(sender, receiver, graph)
        and sender.chaining_strategy is not ChainingStrategy.NEVER
        and receiver.chaining_strategy is ChainingStrategy.ALWAYS
        and not (receiver.operator.needs_its_subtask and _has_shared_head(sender, graph))
    )


def _has_shared_head(node: StreamNode, graph: StreamGraph) -> bool:
    """Return whether the chain of an operator begins with a stream that Spark reads."""
    while node.in_edges and is_chainable(node.in_edges[0], graph):
        node = graph.nodes[node.in_edges[0].source_id]
    if isinstance(node.source, PlannedSource):
        return node.source.has_epochs
    return node.is_source and not node.is_bounded and not isinstance(node.source, NativeSource)


def _fit_in_max_parallelism(sender: StreamNode, receiver: StreamNode, graph: StreamGraph) -> bool:
    return (
        graph.chain_different_max_parallelism or sender.max_parallelism == receiver.max_parallelism
    )
