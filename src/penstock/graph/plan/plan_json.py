"""The plan of a program in the JSON that Flink's plan visualizer reads."""

from __future__ import annotations

import json
from typing import Any

from penstock.graph.stream_graph import StreamGraph, StreamNode


def execution_plan(stream_graph: StreamGraph) -> str:
    """Return the plan of a program as JSON, operators by age and sinks last."""
    nodes = sorted(stream_graph.nodes.values(), key=lambda node: (node.is_sink, node.id))
    return json.dumps({"nodes": [_entry(node) for node in nodes]}, indent=2)


def _entry(node: StreamNode) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": node.id,
        "type": node.name,
        "pact": _kind(node),
        "contents": node.description,
        "parallelism": node.parallelism,
    }
    if not node.is_source:
        entry["predecessors"] = [
            # Flink gives every edge this side.
            {
                "id": edge.source_id,
                "ship_strategy": edge.partitioner.ship_strategy,
                "side": "second",
            }
            for edge in node.in_edges
        ]
    return entry


def _kind(node: StreamNode) -> str:
    if node.is_source:
        return "Data Source"
    return "Data Sink" if node.is_sink else "Operator"
