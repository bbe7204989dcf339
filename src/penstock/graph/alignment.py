"""Watermark alignment, where it can be had."""

from __future__ import annotations

from penstock.errors import UnsupportedOperationError
from penstock.graph.stream_graph import StreamGraph
from penstock.runtime.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator


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
