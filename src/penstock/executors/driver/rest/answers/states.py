"""The states that Flink has for jobs and for tasks."""

from __future__ import annotations

from typing import Final

from penstock.common.job_status import JobStatus
from penstock.executors.driver.reports.job_view import JobView

TASK_STATES: Final = (
    "CREATED",
    "SCHEDULED",
    "DEPLOYING",
    "RUNNING",
    "FINISHED",
    "CANCELING",
    "CANCELED",
    "FAILED",
    "RECONCILING",
    "INITIALIZING",
)
_STATES: Final = {
    JobStatus.CREATED: "CREATED",
    JobStatus.RUNNING: "RUNNING",
    JobStatus.FAILING: "CANCELING",
    JobStatus.FAILED: "FAILED",
    JobStatus.CANCELLING: "CANCELING",
    JobStatus.CANCELED: "CANCELED",
    JobStatus.FINISHED: "FINISHED",
    JobStatus.RESTARTING: "CREATED",
    JobStatus.SUSPENDED: "CANCELED",
    JobStatus.RECONCILING: "RECONCILING",
}


def task_state(view: JobView) -> str:
    """Return the state that all tasks of a job are in: they begin and end together."""
    return _STATES[view.status]


def in_state(view: JobView, count: int) -> dict[str, int]:
    """Return how many of some tasks of a job are in each state."""
    now = task_state(view)
    return {state: count if state == now else 0 for state in TASK_STATES}


def tasks_by_state(view: JobView) -> dict[str, int]:
    """Return how many tasks of a job are in each state."""
    return in_state(view, sum(vertex.parallelism for vertex in view.vertices))


def running_since(view: JobView) -> int:
    """Return when the tasks of a job were started, the last time."""
    return view.status_times.get(JobStatus.RUNNING, view.started)


def end_of(view: JobView) -> int:
    """Return when a job ended; -1 while it runs."""
    return -1 if view.ended is None else view.ended


def until_now(view: JobView, since: int) -> int:
    """Return for how long something of a job has lasted, or did until its end."""
    return max(0, (view.at if view.ended is None else view.ended) - since)
