"""The plan of a job, for people and for tools."""

from __future__ import annotations

import json
from typing import Any

from penstock.common.job_profile import JobProfile
from penstock.graph.job_graph import JobGraph
from penstock.graph.plan.plan_svg import plan_svg
from penstock.graph.plan.plan_text import explain_text
from penstock.graph.stream_graph import StreamGraph, StreamNode


class ExecutionPlan:
    """The plan of a job: text where it is printed, a picture in a notebook.

    Args:
        job_graph: The chains of the job.
        profile: Where the time of the job went, if it was executed for that.

    Attributes:
        profile: Where the time of the job went; None unless it was executed for that.
    """

    def __init__(self, job_graph: JobGraph, profile: JobProfile | None = None) -> None:
        self._job_graph = job_graph
        self.profile = profile

    def __str__(self) -> str:
        if self.profile is None:
            return explain_text(self._job_graph)
        return f"{explain_text(self._job_graph, _shares(self.profile))}\n\n{self.profile}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        plan = plan_svg(self._job_graph)
        return plan if self.profile is None else f"{plan}\n{self.profile.to_svg()}"

    def to_json(self) -> str:
        """Return the plan as JSON, as Flink's plan visualizer reads it."""
        return execution_plan(self._job_graph.stream_graph)


def _shares(profile: JobProfile) -> dict[str, str]:
    """Return what stands behind an operator in an analyzed plan, by its id."""
    total = profile.total or 1.0
    times = {row.operator_id: f"{row.total:,.1f} ms" for row in profile.operators}
    width = max(map(len, times.values()), default=0)
    return {
        row.operator_id: f"{times[row.operator_id]:>{width}}  {100 * row.total / total:4.1f} %"
        for row in profile.operators
    }


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
