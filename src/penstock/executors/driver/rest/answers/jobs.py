"""What is said of a job: its state, its plan, its configuration, what it failed with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

from penstock.common.configuration.options import OBJECT_REUSE, RESTART_STRATEGY
from penstock.common.job_status import JobStatus
from penstock.executors.driver.reporters.scopes import TASK_MANAGER
from penstock.executors.driver.reports.flink_metrics import kind_of
from penstock.executors.driver.reports.job_view import (
    ExceptionView,
    Figures,
    JobView,
    VertexView,
)
from penstock.executors.driver.rest.answers.failures import failure_cause
from penstock.executors.driver.rest.answers.io_metrics import vertex_io
from penstock.executors.driver.rest.answers.states import (
    end_of,
    in_state,
    running_since,
    task_state,
    tasks_by_state,
    until_now,
)

MOST_EXCEPTIONS: Final = 20
"""As many are told if nobody says how many, as in Flink."""


def jobs(views: Sequence[JobView]) -> dict[str, Any]:
    """Return the ids and the states of all jobs."""
    return {"jobs": [{"id": view.job_id, "status": view.status.name} for view in views]}


def jobs_overview(views: Sequence[JobView]) -> dict[str, Any]:
    """Return a few words on each job."""
    return {"jobs": [_overview(view) for view in views]}


def _overview(view: JobView) -> dict[str, Any]:
    tasks = {state.lower(): count for state, count in tasks_by_state(view).items()}
    return {
        "jid": view.job_id,
        "name": view.name,
        "jobType": _type(view),
        "schedulerType": "Default",
        "start-time": view.started,
        "end-time": end_of(view),
        "duration": until_now(view, view.started),
        "state": view.status.name,
        "last-modification": max(view.status_times.values(), default=view.started),
        "tasks": {"total": sum(tasks.values()), **tasks},
        "pending-operators": 0,
    }


def _type(view: JobView) -> str:
    mode = view.configuration.get("execution.runtime-mode", "STREAMING")
    return "BATCH" if mode == "BATCH" or (mode == "AUTOMATIC" and view.is_bounded) else "STREAMING"


def job(view: JobView) -> dict[str, Any]:
    """Return a job with its chains."""
    times = {status.name: 0 for status in JobStatus} | {"INITIALIZING": view.started}
    times |= {status.name: moment for status, moment in view.status_times.items()}
    return {
        "jid": view.job_id,
        "application-id": view.job_id,
        "name": view.name,
        "isStoppable": False,
        "state": view.status.name,
        "job-type": _type(view),
        "schedulerType": "Default",
        "start-time": view.started,
        "end-time": end_of(view),
        "duration": until_now(view, view.started),
        "maxParallelism": view.max_parallelism,
        "now": view.at,
        "timestamps": times,
        "vertices": [_vertex(vertex, view) for vertex in view.vertices],
        "status-counts": in_state(view, len(view.vertices)),
        "plan": plan(view)["plan"],
        "pending-operators": 0,
    }


def _vertex(vertex: VertexView, view: JobView) -> dict[str, Any]:
    start = running_since(view)
    return {
        "id": vertex.vertex_id,
        "slotSharingGroupId": view.job_id,
        "name": vertex.name,
        "maxParallelism": vertex.max_parallelism,
        "parallelism": vertex.parallelism,
        "status": task_state(view),
        "start-time": start,
        "end-time": end_of(view),
        "duration": until_now(view, start),
        "tasks": in_state(view, vertex.parallelism),
        "metrics": vertex_io(vertex, view),
    }


def status(view: JobView) -> dict[str, Any]:
    """Return the state of a job."""
    return {"status": view.status.name}


def plan(view: JobView) -> dict[str, Any]:
    """Return the chains of a job, last ones first as in Flink, with what feeds them."""
    nodes = [_node(vertex) for vertex in reversed(view.vertices)]
    return {"plan": {"jid": view.job_id, "name": view.name, "type": _type(view), "nodes": nodes}}


def _node(vertex: VertexView) -> dict[str, Any]:
    node: dict[str, Any] = {
        "id": vertex.vertex_id,
        "parallelism": vertex.parallelism,
        "operator": "",
        "operator_strategy": "",
        "description": "".join(
            f"{'' if place == 0 else '+- '}{escape(operator.name)}<br/>"
            for place, operator in enumerate(vertex.operators)
        ),
        "optimizer_properties": {},
    }
    if vertex.inputs:
        node["inputs"] = [
            {
                "num": number,
                "id": edge.vertex_id,
                "ship_strategy": edge.ship_strategy,
                "exchange": "pipelined_bounded",
            }
            for number, edge in enumerate(vertex.inputs)
        ]
    return node


def configuration(view: JobView) -> dict[str, Any]:
    """Return what is set for a job, without secrets."""
    known = view.configuration
    return {
        "jid": view.job_id,
        "name": view.name,
        "execution-config": {
            "restart-strategy": known.get(
                RESTART_STRATEGY.key, "Cluster level default restart strategy"
            ),
            "job-parallelism": view.parallelism,
            "object-reuse-mode": known.get(OBJECT_REUSE.key, "true") == "true",
            "user-config": dict(known),
        },
    }


def exceptions(view: JobView, most: int) -> dict[str, Any]:
    """Return what epochs failed with, newest first."""
    entries = [
        {**_exception(found, view), "concurrentExceptions": []} for found in view.exceptions[:most]
    ]
    truncated = len(view.exceptions) > most
    return {"exceptionHistory": {"entries": entries, "truncated": truncated}}


def _exception(found: ExceptionView, view: JobView) -> dict[str, Any]:
    chains = {vertex.vertex_id: vertex.name for vertex in view.vertices}
    # Labels are Flink's place for what else is known of a failure.
    labels = {
        "operator": found.operator,
        "record": found.record,
        "epoch": found.epoch,
        "times": found.times,
        "message": found.message,
    }
    return {
        "exceptionName": found.name,
        "stacktrace": found.traceback,
        "timestamp": found.happened,
        "taskName": chains.get(found.vertex_id or "") or found.operator,
        "endpoint": None,
        "taskManagerId": TASK_MANAGER,
        "failureLabels": {name: str(label) for name, label in labels.items() if label is not None},
    }


_RESULTS: Final = {
    JobStatus.FINISHED: "SUCCEEDED",
    JobStatus.FAILED: "FAILED",
    JobStatus.CANCELED: "CANCELED",
}


def execution_result(view: JobView) -> dict[str, Any]:
    """Return how a job ended, if it has."""
    if not view.status.is_terminal_state():
        return {"status": {"id": "IN_PROGRESS"}}
    result: dict[str, Any] = {
        "id": view.job_id,
        "name": view.name,
        "application-status": _RESULTS.get(view.status, "UNKNOWN"),
        "accumulator-results": {},
        "net-runtime": until_now(view, view.started),
        "application-id": view.job_id,
        "start-time": view.started,
        "end-time": end_of(view),
    }
    if view.status is JobStatus.FAILED and view.exceptions:
        last = view.exceptions[0]
        result["failure-cause"] = failure_cause(last.name, last.traceback or last.message)
    return {"status": {"id": "COMPLETED"}, "job-execution-result": result}


def accumulators(view: JobView) -> dict[str, Any]:
    """Return what the functions of a job count, under the names of their metrics."""
    return {
        "job-accumulators": [],
        "user-task-accumulators": user_accumulators(
            figures for vertex in view.vertices for figures in _figures(vertex)
        ),
        "serialized-user-task-accumulators": {},
    }


def _figures(vertex: VertexView) -> list[Figures]:
    return [operator.figures for operator in vertex.operators]


def user_accumulators(found: Iterable[Figures]) -> list[dict[str, str]]:
    """Return metrics of the user as accumulators."""
    return [
        {
            "name": name,
            "type": kind_of(value, is_gauge=name in figures.gauges).value.capitalize(),
            "value": json.dumps(value) if isinstance(value, Mapping | list) else str(value),
        }
        for figures in found
        for name, value in figures.user.items()
    ]
