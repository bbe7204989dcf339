"""What a program has to do about its watermarks before it runs: hold some back, and refuse what none can do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from penstock.errors import UnsupportedOperationError
from penstock.graph.stream_graph import StreamGraph, StreamNode
from penstock.runtime.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator


def hold_back_watermarks(graph: StreamGraph, is_unordered: Callable[[StreamNode], bool]) -> None:
    """Let operators that make watermarks of what a source reads in no order make them at the end of epochs only.

    Args:
        graph: The program. One that runs in BATCH mode makes no watermark before the last anyhow.
        is_unordered: Tells whether a source reads in no order; asked only where it matters.
    """
    if graph.batch:
        return
    makers: dict[int, list[TimestampsAndWatermarksOperator]] = {
        source.id: list(_makers(graph, source)) for source in graph.sources
    }
    for operator in chain.from_iterable(makers.values()):
        # A stream that is executed twice has the same operators.
        operator.holds_back = False
    for source in graph.sources:
        if makers[source.id] and is_unordered(source):
            for operator in makers[source.id]:
                operator.holds_back = True


def _makers(graph: StreamGraph, source: StreamNode) -> Iterator[TimestampsAndWatermarksOperator]:
    """Yield what makes watermarks of what a source reads."""
    for node in _from(graph, source):
        operator = node.operator
        if (
            isinstance(operator, TimestampsAndWatermarksOperator)
            and operator.strategy.generator is not None
        ):
            yield operator


def _from(graph: StreamGraph, source: StreamNode) -> Iterator[StreamNode]:
    """Yield a source and all nodes that its records reach."""
    found = {source.id}
    waiting = [source]
    while waiting:
        node = waiting.pop()
        yield node
        for edge in node.out_edges:
            if edge.target_id not in found:
                found.add(edge.target_id)
                waiting.append(graph.nodes[edge.target_id])


def refuse_alignment(graph: StreamGraph) -> None:
    """Refuse watermark alignment in a program that runs in more than one epoch.

    Raises:
        UnsupportedOperationError: If an operator asks for it.
    """
    for node in graph.nodes.values():
        operator = node.operator
        if isinstance(operator, TimestampsAndWatermarksOperator) and operator.is_aligned:
            raise UnsupportedOperationError(
                f"{node.name!r} asks for watermark alignment, which cannot hold from one epoch to the "
                "next: no source of Spark can be paused.",
                hint="Leave out with_watermark_alignment(): inside an epoch channels advance together "
                "anyway. Or read the source as a batch.",
            )
