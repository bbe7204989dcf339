"""What a job's view says, as metrics with Flink's names and scopes: for the REST API and for reporters.

A metric that Flink has too has its name, its meaning and its unit. Those that Flink has not are `watermarkLag` of
a job, `numRecordsFailed`, `numRecordsFiltered`, `numTimers`, `stateSize` and `holdsWatermarkBack`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from penstock.common.job_status import JobStatus
from penstock.executors.driver.reports.job_view import (
    Figures,
    JobView,
    OperatorView,
    SubtaskView,
    VertexView,
)
from penstock.metrics import MetricKind
from penstock.runtime.metrics import MetricName
from penstock.runtime.timestamp import MIN_TIMESTAMP


class Level(Enum):
    """What a metric is about."""

    JOB = "job"
    TASK = "task"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a metric is about: a job, a subtask of one of its chains (a task), or an operator in a subtask.

    Attributes:
        job_id: The job's id.
        job_name: The job's name.
        vertex_id: The chain's id; None of a job.
        vertex_name: The chain's name: what Flink calls the name of the task.
        subtask: The subtask's index.
        operator_id: The operator's id; None of a job or a task.
        operator_name: The operator's name.
    """

    job_id: str
    job_name: str
    vertex_id: str | None = None
    vertex_name: str | None = None
    subtask: int | None = None
    operator_id: str | None = None
    operator_name: str | None = None

    @property
    def level(self) -> Level:
        """What the metric is about."""
        if self.vertex_id is None:
            return Level.JOB
        return Level.TASK if self.operator_id is None else Level.OPERATOR


@dataclass(frozen=True, slots=True)
class JobMetric:
    """A metric of a job.

    Attributes:
        name: Its name, the last part of it.
        kind: What it is.
        value: Its value, in the form that its kind says.
        scope: What it is about.
        groups: The groups of a user's metric, outermost first; none of the others.
        logical_groups: Those of them that are not values of a variable.
        variables: The variables that its groups give values to, with these.
        is_user: Whether a function has registered it.
    """

    name: str
    kind: MetricKind
    value: Any
    scope: Scope
    groups: tuple[str, ...] = ()
    logical_groups: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    is_user: bool = False


def metrics_of(view: JobView) -> Iterator[JobMetric]:
    """Yield the metrics of a job, then those of each subtask and of each operator in it.

    Args:
        view: The job as it is seen now.
    """
    job = Scope(view.job_id, view.name)
    yield from _metrics(_of_job(view), job)
    for vertex in view.vertices:
        for subtask in vertex.subtasks:
            task = Scope(view.job_id, view.name, vertex.vertex_id, vertex.name, subtask.index)
            yield from _metrics(_of_task(vertex, subtask, view), task)
            for place, (operator, figures) in enumerate(
                zip(vertex.operators, subtask.operators, strict=False)
            ):
                scope = Scope(
                    view.job_id,
                    view.name,
                    vertex.vertex_id,
                    vertex.name,
                    subtask.index,
                    operator.operator_id,
                    operator.name,
                )
                found = _of_operator(operator, figures, subtask, vertex)
                if operator.operator_id in view.watermark_origins:
                    holds = view.watermark_origins[operator.operator_id]
                    found["holdsWatermarkBack"] = _gauge(int(holds))
                    found |= _lag(subtask.operators[place:], view)
                yield from _metrics(found, scope)
                yield from _of_user(figures, scope)


_Found = dict[str, tuple[MetricKind, Any]]


def _metrics(found: _Found, scope: Scope) -> Iterator[JobMetric]:
    for name, (kind, value) in found.items():
        yield JobMetric(name, kind, value, scope)


def _gauge(value: Any) -> tuple[MetricKind, Any]:
    return MetricKind.GAUGE, value


def _counter(value: int) -> tuple[MetricKind, Any]:
    return MetricKind.COUNTER, value


def _meter(count: int, rate: float) -> tuple[MetricKind, Any]:
    return MetricKind.METER, {"count": count, "rate": rate}


def _watermark(timestamp: int | None) -> tuple[MetricKind, Any]:
    return _gauge(MIN_TIMESTAMP if timestamp is None else timestamp)


def _lag(figures: Iterable[Figures], view: JobView) -> _Found:
    """Return how far a watermark is behind the clock: nothing before the first and after the last.

    Args:
        figures: Those of the operator in which it begins, or in whose chain, and of those behind it.
        view: The job.
    """
    sent = (done.output_watermark for done in figures)
    watermark = next((one for one in sent if one is not None), None)
    if watermark is None or abs(watermark) >= -(MIN_TIMESTAMP + 1):
        return {}
    return {"watermarkLag": _gauge(view.at - watermark)}


def _of_job(view: JobView) -> _Found:
    found = {
        **_times(view),
        "numRestarts": _gauge(view.restarts),
        "fullRestarts": _gauge(view.restarts),
        "numberOfCompletedCheckpoints": _gauge(view.epochs_completed),
        "numberOfFailedCheckpoints": _gauge(view.epochs_failed),
        "totalNumberOfCheckpoints": _gauge(view.epochs_completed + view.epochs_failed),
        "lastCheckpointDuration": _gauge(view.checkpoint_duration),
        "lastCheckpointSize": _gauge(view.checkpoint_size),
        "lastCheckpointFullSize": _gauge(view.state_size),
        "numRecordsIn": _counter(view.records_in),
        "numRecordsInPerSecond": _meter(view.records_in, view.records_per_second),
        "numLateRecordsDropped": _counter(view.late_records),
        "numRecordsFailed": _counter(view.failed_records),
        "numRecordsFiltered": _counter(view.filtered_records),
        "currentWatermark": _watermark(view.watermark),
        "stateSize": _gauge(view.state_size),
    }
    if view.committed:
        last = view.committed[-1]
        found["lastCompletedCheckpointId"] = _gauge(last.number)
        if last.location is not None:
            found["lastCheckpointExternalPath"] = _gauge(last.location)
    if view.last_restored is not None:
        found["lastCheckpointRestoreTimestamp"] = _gauge(view.last_restored.happened)
    if view.watermark_lag is not None:
        found["watermarkLag"] = _gauge(view.watermark_lag)
    return found


def _times(view: JobView) -> _Found:
    """Return for how long a job is running, or is not: one of them is 0, and both -1 when it has ended."""
    since = view.at - view.status_times.get(view.status, view.started)
    if view.status.is_terminal_state():
        up = down = -1
    else:
        is_up = view.status is JobStatus.RUNNING
        up, down = (since, 0) if is_up else (0, since)
    return {"uptime": _gauge(up), "downtime": _gauge(down)}


def task_records(vertex: VertexView, figures: Sequence[Figures], view: JobView) -> tuple[int, int]:
    """Return how many records entered a chain, and how many left it for others or by its ends.

    Args:
        vertex: The chain.
        figures: What its operators did, in one subtask or in all.
        view: The job.
    """
    senders = {edge.operator_id for other in view.vertices for edge in other.inputs}
    records_out = sum(
        done.records_out
        for operator, done in zip(vertex.operators, figures, strict=False)
        if operator.operator_id in senders or not operator.chained
    )
    return (figures[0].records_in if figures else 0), records_out


def _of_task(vertex: VertexView, subtask: SubtaskView, view: JobView) -> _Found:
    times = subtask.times
    head = subtask.operators[0] if subtask.operators else Figures()
    records_in, records_out = task_records(vertex, subtask.operators, view)
    return {
        "numRecordsIn": _counter(records_in),
        "numRecordsInPerSecond": _meter(records_in, times.records_in_per_second),
        "numRecordsOut": _counter(records_out),
        "numRecordsOutPerSecond": _meter(records_out, times.records_out_per_second),
        "numBytesIn": _counter(times.bytes_in),
        "numBytesOut": _counter(times.bytes_out),
        "currentInputWatermark": _watermark(head.input_watermark),
        "busyTimeMsPerSecond": _gauge(1000 * times.busy),
        "backPressuredTimeMsPerSecond": _gauge(1000 * times.back_pressured),
        "idleTimeMsPerSecond": _gauge(1000 * times.idle),
        "isBackPressured": _gauge(times.back_pressured > 0.5),
        "stateSize": _gauge(subtask.state_size),
    }


def _of_operator(
    operator: OperatorView, figures: Figures, subtask: SubtaskView, vertex: VertexView
) -> _Found:
    share = _share(figures.records_in, operator.figures.records_in, len(vertex.subtasks))
    rate = operator.records_per_second * share
    if operator is vertex.operators[0]:
        rate = subtask.times.records_in_per_second
    return {
        "numRecordsIn": _counter(figures.records_in),
        "numRecordsInPerSecond": _meter(figures.records_in, rate),
        "numRecordsOut": _counter(figures.records_out),
        "currentInputWatermark": _watermark(figures.input_watermark),
        "currentOutputWatermark": _watermark(figures.output_watermark),
        "numLateRecordsDropped": _counter(figures.late_records),
        "numRecordsFailed": _counter(figures.failed_records),
        "numFiredTimers": _counter(figures.timers_fired),
        "numTimers": _gauge(figures.timers),
        "stateSize": _gauge(figures.state_size),
    }


def _share(part: int, whole: int, parts: int) -> float:
    return part / whole if whole else 1 / max(parts, 1)


def _of_user(figures: Figures, scope: Scope) -> Iterator[JobMetric]:
    for full_name, value in figures.user.items():
        found = MetricName.of(full_name)
        kind = kind_of(value, is_gauge=full_name in figures.gauges)
        yield JobMetric(
            found.name,
            kind,
            value,
            scope,
            found.groups,
            found.logical_groups,
            found.variables,
            is_user=True,
        )


def kind_of(value: Any, *, is_gauge: bool) -> MetricKind:
    """Return what a metric of a user is.

    Args:
        value: Its value, as `Figures.user` has it.
        is_gauge: Whether its name is among `Figures.gauges`.
    """
    if is_gauge:
        return MetricKind.GAUGE
    if isinstance(value, Mapping):
        return MetricKind.METER if "rate" in value else MetricKind.DISTRIBUTION
    return MetricKind.COUNTER if isinstance(value, int) else MetricKind.GAUGE
