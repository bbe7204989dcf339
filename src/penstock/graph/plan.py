"""The plan of a job, for people and for tools."""

from __future__ import annotations

from penstock.graph.job_graph import JobGraph
from penstock.graph.plan_json import execution_plan
from penstock.graph.plan_svg import plan_svg
from penstock.graph.plan_text import explain_text


class ExecutionPlan:
    """The plan of a job: text where it is printed, a picture in a notebook.

    Args:
        job_graph: The chains of the job.
    """

    def __init__(self, job_graph: JobGraph) -> None:
        self._job_graph = job_graph

    def __str__(self) -> str:
        return explain_text(self._job_graph)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return plan_svg(self._job_graph)

    def to_json(self) -> str:
        """Return the plan as JSON, as Flink's plan visualizer reads it."""
        return execution_plan(self._job_graph.stream_graph)
