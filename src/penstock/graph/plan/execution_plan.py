"""The plan of a job, for people and for tools."""

from __future__ import annotations

from penstock.common.job_profile import JobProfile
from penstock.graph.job_graph import JobGraph
from penstock.graph.plan.plan_json import execution_plan
from penstock.graph.plan.plan_svg import plan_svg
from penstock.graph.plan.plan_text import explain_text


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
