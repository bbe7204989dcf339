"""Metrics as the REST API has them: a list of names, or of the values of those that were asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from penstock.executors.driver.reports.flink_metrics import (
    JobMetric,
    Level,
    metrics_of,
)
from penstock.executors.driver.reports.job_view import JobView
from penstock.executors.driver.rest.answers.summaries import AGGREGATIONS
from penstock.executors.driver.rest.exchange import RequestRefusedError
from penstock.metrics import MetricKind

_REPLACED = str.maketrans(dict.fromkeys(" .:,", "_"))
"""Flink replaces the same, in names of users too: `get` takes several names with commas between them."""


def job_metrics(view: JobView) -> dict[str, Any]:
    """Return the metrics of a job by their names."""
    return dict(_values(one for one in metrics_of(view) if one.scope.level is Level.JOB))


def subtask_metrics(view: JobView, vertex_id: str) -> dict[int, dict[str, Any]]:
    """Return the metrics of the subtasks of a chain by their names: `name`, or `operator.name`."""
    found: dict[int, list[JobMetric]] = defaultdict(list)
    for metric in metrics_of(view):
        if metric.scope.vertex_id == vertex_id and metric.scope.subtask is not None:
            found[metric.scope.subtask].append(metric)
    return {index: dict(_values(metrics)) for index, metrics in found.items()}


def vertex_metrics(view: JobView, vertex_id: str) -> dict[str, Any]:
    """Return the metrics of the subtasks of a chain by their names, each after its subtask's index."""
    return {
        f"{index}.{name}": value
        for index, metrics in subtask_metrics(view, vertex_id).items()
        for name, value in metrics.items()
    }


def _values(metrics: Iterable[JobMetric]) -> Iterator[tuple[str, Any]]:
    for metric in metrics:
        operator = metric.scope.operator_name
        parts = [] if operator is None else [operator]
        name = ".".join(part.translate(_REPLACED) for part in (*parts, *metric.groups, metric.name))
        if metric.kind is MetricKind.METER:
            yield name, metric.value["rate"]
        elif metric.kind is MetricKind.DISTRIBUTION:
            for part, value in metric.value.items():
                yield f"{name}_{'median' if part == 'p50' else part}", value
        else:
            yield name, metric.value


def selected(metrics: Mapping[str, Any], query: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the names of metrics, or the values of those that `get` names.

    Args:
        metrics: The metrics by their names.
        query: What is asked for.
    """
    if "get" not in query:
        return [{"id": name} for name in metrics]
    return [
        {"id": name, "value": _text(metrics[name])}
        for name in query["get"].split(",")
        if name in metrics
    ]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def aggregated(
    metrics: Sequence[Mapping[str, Any]], query: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the names of metrics, or for those that `get` names what they come to.

    Args:
        metrics: The metrics of each subtask, or of each job.
        query: What is asked for: `agg` names some of min, max, avg, sum and skew. Default: all.

    Raises:
        RequestRefusedError: If there is no such aggregation.
    """
    if "get" not in query:
        return [{"id": name} for name in dict.fromkeys(key for one in metrics for key in one)]
    wanted = query["agg"].lower().split(",") if "agg" in query else list(AGGREGATIONS)
    for name in wanted:
        if name not in AGGREGATIONS:
            raise RequestRefusedError(
                400, f"agg is one or more of {', '.join(AGGREGATIONS)}, not {name[:200]!r}."
            )
    found = []
    for name in query["get"].split(","):
        figures = [float(one[name]) for one in metrics if _is_number(one.get(name))]
        if figures:
            found.append({"id": name, **{how: AGGREGATIONS[how](figures) for how in wanted}})
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def chosen_subtasks(text: str | None) -> Iterator[range]:
    """Yield the subtasks that a text such as "1,3,5-9" names.

    Raises:
        RequestRefusedError: If it does not have this form.
    """
    for part in (text or "").split(",") if text else ():
        first, _, last = part.partition("-")
        if not all(one.isdecimal() and len(one) <= 9 for one in (first, last or first)):
            raise RequestRefusedError(
                400, f'subtasks are numbers and ranges, such as "1,3,5-9", not {part[:200]!r}.'
            )
        yield range(int(first), int(last or first) + 1)
