"""How much went through a chain or a subtask, as Flink says it beside them."""

from __future__ import annotations

from typing import Any

from penstock.executors.driver.reports.flink_metrics import task_records
from penstock.executors.driver.reports.job_view import JobView, SubtaskView, VertexView


def vertex_io(vertex: VertexView, view: JobView) -> dict[str, Any]:
    """Return what went through a chain."""
    records_in, records_out = task_records(vertex, [one.figures for one in vertex.operators], view)
    return _io(records_in, records_out, vertex.times.bytes_in, vertex.times.bytes_out)


def subtask_io(subtask: SubtaskView, vertex: VertexView, view: JobView) -> dict[str, Any]:
    """Return what went through a subtask of a chain."""
    records_in, records_out = task_records(vertex, subtask.operators, view)
    return _io(records_in, records_out, subtask.times.bytes_in, subtask.times.bytes_out)


def _io(records_in: int, records_out: int, bytes_in: int, bytes_out: int) -> dict[str, Any]:
    """Return them in Flink's form; of times there are only shares of the last seconds, so sums are not known."""
    return {
        "read-bytes": bytes_in,
        "read-bytes-complete": True,
        "write-bytes": bytes_out,
        "write-bytes-complete": True,
        "read-records": records_in,
        "read-records-complete": True,
        "write-records": records_out,
        "write-records-complete": True,
        "accumulated-backpressured-time": 0,
        "accumulated-idle-time": 0,
        "accumulated-busy-time": "NaN",
    }
