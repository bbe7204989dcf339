"""What is said of a chain and of its subtasks."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import Any

from penstock.executors.driver.reporters.scopes import TASK_MANAGER
from penstock.executors.driver.reports.job_view import JobView, SubtaskView, VertexView
from penstock.executors.driver.rest.answers.io_metrics import subtask_io, vertex_io
from penstock.executors.driver.rest.answers.jobs import user_accumulators
from penstock.executors.driver.rest.answers.states import (
    TASK_STATES,
    end_of,
    in_state,
    running_since,
    task_state,
    until_now,
)
from penstock.executors.driver.rest.answers.summaries import task_statistics
from penstock.executors.driver.rest.exchange import RequestRefusedError
from penstock.runtime.timestamp import MIN_TIMESTAMP

_SOME, _MUCH = 0.1, 0.5
"""From which share of time on back-pressure is low and high, as in Flink."""


def vertex(found: VertexView, view: JobView) -> dict[str, Any]:
    """Return a chain with its subtasks."""
    subtasks = [subtask_of(found, view, one.index) for one in found.subtasks]
    return {
        "id": found.vertex_id,
        "name": found.name,
        "parallelism": found.parallelism,
        "maxParallelism": found.max_parallelism,
        "now": view.at,
        "subtasks": subtasks,
        "aggregated": _aggregated(subtasks),
    }


def _endpoint() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def _aggregated(subtasks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what is said of all subtasks at once; "NaN" counts as nothing."""
    names = [
        name
        for name in (subtasks[0]["metrics"] if subtasks else ())
        if not name.endswith("-complete")
    ]
    states = subtasks[0]["status-duration"] if subtasks else ()
    return {
        "metrics": {
            name: task_statistics([_whole(one["metrics"][name]) for one in subtasks])
            for name in names
        },
        "status-duration": {
            state: task_statistics([one["status-duration"][state] for one in subtasks])
            for state in states
        },
    }


def _whole(figure: Any) -> int:
    return figure if isinstance(figure, int) else 0


def find_subtask(found: VertexView, index: int) -> SubtaskView:
    """Return a subtask of a chain.

    Raises:
        RequestRefusedError: If there is none of that index.
    """
    for subtask in found.subtasks:
        if subtask.index == index:
            return subtask
    raise RequestRefusedError(404, f"The vertex {found.vertex_id} has no subtask {index}.")


def subtask_of(found: VertexView, view: JobView, index: int) -> dict[str, Any]:
    """Return a subtask.

    Raises:
        RequestRefusedError: If there is none of that index.
    """
    start = running_since(view)
    state = task_state(view)
    return {
        "subtask": index,
        "status": state,
        "attempt": view.restarts,
        "endpoint": _endpoint(),
        "start-time": start,
        "end-time": end_of(view),
        "duration": until_now(view, start),
        "metrics": subtask_io(find_subtask(found, index), found, view),
        "taskmanager-id": TASK_MANAGER,
        "status-duration": {
            "CREATED": max(0, start - view.started),
            **dict.fromkeys(("SCHEDULED", "DEPLOYING", "INITIALIZING"), 0),
            "RUNNING": until_now(view, start),
        },
        "start_time": start,
    }


def subtask_times(found: VertexView, view: JobView) -> dict[str, Any]:
    """Return when each subtask came to which state."""
    times = dict.fromkeys(TASK_STATES, 0)
    times |= {"CREATED": view.started, "RUNNING": running_since(view)}
    if view.ended is not None:
        times[task_state(view)] = view.ended
    duration = until_now(view, view.started)
    return {
        "id": found.vertex_id,
        "name": found.name,
        "now": view.at,
        "subtasks": [
            {
                "subtask": one.index,
                "endpoint": _endpoint(),
                "duration": duration,
                "timestamps": times,
            }
            for one in found.subtasks
        ],
    }


def task_managers_of(found: VertexView, view: JobView) -> dict[str, Any]:
    """Return what a chain does by task managers: of which there is one."""
    start = running_since(view)
    subtasks = [subtask_of(found, view, one.index) for one in found.subtasks]
    return {
        "id": found.vertex_id,
        "name": found.name,
        "now": view.at,
        "taskmanagers": [
            {
                "endpoint": _endpoint(),
                "status": task_state(view),
                "start-time": start,
                "end-time": end_of(view),
                "duration": until_now(view, start),
                "metrics": vertex_io(found, view),
                "status-counts": in_state(view, found.parallelism),
                "taskmanager-id": TASK_MANAGER,
                "aggregated": _aggregated(subtasks),
            }
        ],
    }


def watermarks(found: VertexView) -> list[dict[str, str]]:
    """Return the watermark that has come to each subtask: none to those of a source."""
    if found.is_source:
        return []
    return [
        {"id": f"{one.index}.currentInputWatermark", "value": str(_input_watermark(one))}
        for one in found.subtasks
    ]


def _input_watermark(subtask: SubtaskView) -> int:
    known = subtask.operators[0].input_watermark if subtask.operators else None
    return MIN_TIMESTAMP if known is None else known


def back_pressure(found: VertexView, view: JobView) -> dict[str, Any]:
    """Return how subtasks spent the last seconds."""
    subtasks = [
        {
            "subtask": one.index,
            "backpressureLevel": _level(one.times.back_pressured),
            "ratio": one.times.back_pressured,
            "idleRatio": one.times.idle,
            "busyRatio": one.times.busy,
            "backpressure-level": _level(one.times.back_pressured),
        }
        for one in found.subtasks
    ]
    most = _level(max((one.times.back_pressured for one in found.subtasks), default=0.0))
    return {
        "status": "ok",
        "backpressureLevel": most,
        "end-timestamp": view.at,
        "subtasks": subtasks,
        "backpressure-level": most,
    }


def _level(share: float) -> str:
    if share <= _SOME:
        return "ok"
    return "low" if share <= _MUCH else "high"


def vertex_accumulators(found: VertexView) -> dict[str, Any]:
    """Return what the functions of a chain count."""
    counted = user_accumulators(operator.figures for operator in found.operators)
    return {"id": found.vertex_id, "user-accumulators": counted}


def subtask_accumulators(found: VertexView, view: JobView) -> dict[str, Any]:
    """Return what the functions of a chain count, by subtasks."""
    return {
        "id": found.vertex_id,
        "parallelism": found.parallelism,
        "subtasks": [
            {
                "subtask": one.index,
                "attempt": view.restarts,
                "endpoint": _endpoint(),
                "user-accumulators": user_accumulators(one.operators),
            }
            for one in found.subtasks
        ],
    }
