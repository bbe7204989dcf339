"""The chains of a job, and the edges between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.graph.chaining import chained_edges, is_chainable
from penstock.graph.operator_ids import operator_ids
from penstock.graph.stream_graph import StreamEdge, StreamGraph, StreamNode


@dataclass(frozen=True, eq=False)
class JobEdge:
    """An edge from one chain to another.

    Attributes:
        index: The place in `JobGraph.edges`.
        source: The index of the sending vertex.
        target: The index of the receiving vertex.
        stream_edge: The edge between operators that it is: from one of the sender's to the
            receiver's head.
    """

    index: int
    source: int
    target: int
    stream_edge: StreamEdge


@dataclass(eq=False, kw_only=True)
class JobVertex:
    """A chain of operators.

    Attributes:
        index: The place in `JobGraph.vertices`.
        vertex_id: The id of its head operator.
        name: The names of the operators, as "Source: numbers -> Map -> (Filter, Sink: Print)".
        nodes: The operators, each after the one that feeds it; the first is the head.
        level: The longest distance from a source; sources stand on level 0.
        inputs: The edges that feed the head.
        outputs: The edges that leave the chain.
    """

    index: int
    vertex_id: str
    name: str
    nodes: tuple[StreamNode, ...]
    level: int
    inputs: list[JobEdge] = field(default_factory=list)
    outputs: list[JobEdge] = field(default_factory=list)

    @property
    def head(self) -> StreamNode:
        """The operator that the chain's input goes to."""
        return self.nodes[0]

    @property
    def parallelism(self) -> int:
        """The number of subtasks."""
        return self.head.parallelism

    @property
    def max_parallelism(self) -> int:
        """The number of key groups: the head's, as only a head has its input by key."""
        return self.head.max_parallelism


@dataclass(frozen=True, eq=False, kw_only=True)
class JobGraph:
    """The chains of a job, and the edges between them.

    Attributes:
        stream_graph: The operators it was made from.
        vertices: The chains, ordered by level and then by age, so in a topological order.
        edges: The edges between chains.
        sources: The operators that read the job's input, in the numbering of `Vertex.source`.
        operator_ids: The id of each operator, by the id of its node.
    """

    stream_graph: StreamGraph
    vertices: tuple[JobVertex, ...]
    edges: tuple[JobEdge, ...]
    sources: tuple[StreamNode, ...]
    operator_ids: dict[int, str]

    @property
    def name(self) -> str:
        return self.stream_graph.job_name

    @property
    def levels(self) -> int:
        """The number of levels."""
        return max(vertex.level for vertex in self.vertices) + 1


def create_job_graph(stream_graph: StreamGraph) -> JobGraph:
    """Put the operators of a program into chains.

    Raises:
        DuplicateUidError: If two operators get the same id.
    """
    ids = operator_ids(stream_graph)
    chains = _chains(stream_graph)
    levels = _levels(stream_graph, chains)
    vertices = tuple(
        JobVertex(
            index=index,
            vertex_id=ids[chain[0].id],
            name=_chain_name(chain, stream_graph),
            nodes=chain,
            level=levels[chain[0].id],
        )
        for index, chain in enumerate(sorted(chains, key=lambda chain: levels[chain[0].id]))
    )
    return JobGraph(
        stream_graph=stream_graph,
        vertices=vertices,
        edges=tuple(_connect(vertices, stream_graph)),
        sources=tuple(vertex.head for vertex in vertices if vertex.head.is_source),
        operator_ids=ids,
    )


def _chained_targets(node: StreamNode, graph: StreamGraph) -> list[StreamNode]:
    return [graph.nodes[edge.target_id] for edge in chained_edges(node, graph)]


def _is_head(node: StreamNode, graph: StreamGraph) -> bool:
    return not any(is_chainable(edge, graph) for edge in node.in_edges)


def _chains(graph: StreamGraph) -> list[tuple[StreamNode, ...]]:
    """Return the chains in the order of their heads, each chain's operators depth first."""
    chains = []
    for head in graph.nodes.values():
        if _is_head(head, graph):
            chain, waiting = [], [head]
            while waiting:
                node = waiting.pop()
                chain.append(node)
                waiting.extend(reversed(_chained_targets(node, graph)))
            chains.append(tuple(chain))
    return chains


def _levels(graph: StreamGraph, chains: list[tuple[StreamNode, ...]]) -> dict[int, int]:
    """Return the level of every operator's chain, by the operator's id."""
    heads = {node.id: chain[0].id for chain in chains for node in chain}
    levels: dict[int, int] = {}
    # Nodes stand in the order of making: whatever feeds a chain's head comes before the head.
    for node in graph.nodes.values():
        if heads[node.id] == node.id:
            senders = [levels[edge.source_id] for edge in node.in_edges]
            levels[node.id] = max(senders, default=-1) + 1
        else:
            levels[node.id] = levels[heads[node.id]]
    return levels


def _chain_name(chain: tuple[StreamNode, ...], graph: StreamGraph) -> str:
    names: dict[int, str] = {}
    for node in reversed(chain):
        behind = [names[target.id] for target in _chained_targets(node, graph)]
        match behind:
            case []:
                names[node.id] = node.name
            case [single]:
                names[node.id] = f"{node.name} -> {single}"
            case several:
                names[node.id] = f"{node.name} -> ({', '.join(several)})"
    return names[chain[0].id]


def _connect(vertices: tuple[JobVertex, ...], graph: StreamGraph) -> Iterator[JobEdge]:
    owners = {node.id: vertex for vertex in vertices for node in vertex.nodes}
    leaving = [
        (vertex, edge)
        for vertex in vertices
        for node in vertex.nodes
        for edge in node.out_edges
        if not is_chainable(edge, graph)
    ]
    for index, (vertex, stream_edge) in enumerate(leaving):
        target = owners[stream_edge.target_id]
        edge = JobEdge(index, vertex.index, target.index, stream_edge)
        vertex.outputs.append(edge)
        target.inputs.append(edge)
        yield edge
