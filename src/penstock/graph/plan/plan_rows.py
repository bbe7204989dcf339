"""A chain as rows, one per operator, as plans show it: lines that branch where the chain does."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.common.plain_text import one_line
from penstock.graph.chaining import chained_edges
from penstock.graph.job_graph import JobEdge, JobGraph, JobVertex
from penstock.graph.stream_graph import StreamEdge, StreamNode


@dataclass(frozen=True)
class ChainRow:
    """An operator of a chain.

    Attributes:
        node: The operator.
        parent: The row of the operator that feeds it; None for the head.
        branches: For each branching on the way from the head, whether further branches follow
            below this row.
        is_branch: Whether a branch begins here: its parent feeds several operators of the chain.
        tag: The side output of the parent that it reads; None for the main output.
        exits: The edges that leave the chain here.
    """

    node: StreamNode
    parent: int | None
    branches: tuple[bool, ...]
    is_branch: bool
    tag: str | None
    exits: tuple[JobEdge, ...]

    @property
    def label(self) -> str:
        """The operator's name on one line, after the side output it reads."""
        name = one_line(self.node.name) + (" (columnar)" if self.node.is_columnar else "")
        return name if self.tag is None else f"{self.tag!r}: {name}"


def chain_rows(vertex: JobVertex, job_graph: JobGraph) -> list[ChainRow]:
    """Return the operators of a chain from top to bottom."""
    rows = [_row(vertex, vertex.head, None, (), is_branch=False)]
    places: dict[int, tuple[StreamEdge, int, tuple[bool, ...], bool]] = {}
    for index, node in enumerate(vertex.nodes):
        if index > 0:
            edge, parent, branches, is_branch = places[node.id]
            tag = edge.tag.tag_id if edge.tag else None
            rows.append(_row(vertex, node, tag, branches, is_branch=is_branch, parent=parent))
        behind = chained_edges(node, job_graph.stream_graph)
        for number, edge in enumerate(behind, 1):
            is_branch = len(behind) > 1
            follow = (number < len(behind),) if is_branch else ()
            places[edge.target_id] = (edge, index, rows[index].branches + follow, is_branch)
    return rows


def _row(
    vertex: JobVertex,
    node: StreamNode,
    tag: str | None,
    branches: tuple[bool, ...],
    *,
    is_branch: bool,
    parent: int | None = None,
) -> ChainRow:
    exits = tuple(edge for edge in vertex.outputs if edge.stream_edge.source_id == node.id)
    return ChainRow(node, parent, branches, is_branch, tag, exits)


def exit_label(edge: JobEdge) -> str:
    """Say what passes an edge between chains, and how.

    Example: `'late', HASH (key by)`.
    """
    stream_edge = edge.stream_edge
    strategy = stream_edge.partitioner.ship_strategy
    if strategy == "HASH":
        strategy += " (key by)"
    return strategy if stream_edge.tag is None else f"{stream_edge.tag.tag_id!r}, {strategy}"


def chain_title(vertex: JobVertex) -> str:
    """Return what stands above a chain."""
    return f"[{vertex.index + 1}] parallelism {vertex.parallelism}"
