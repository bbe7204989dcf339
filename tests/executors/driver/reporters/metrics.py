"""Metrics to try reporters on, one of each kind and each level, and the settings they are read with."""

from __future__ import annotations

from typing import Any

from tests.executors.driver.reports import views

from penstock.common import Configuration
from penstock.executors.driver.reporters.scopes import Naming, ScopeFormats
from penstock.executors.driver.reports.flink_metrics import metrics_of
from penstock.executors.driver.reports.job_view import JobView
from penstock.metrics import MetricConfig, MetricKind, ReportedMetric

PREFIX = "metrics.reporter.mine."
VARIABLES = {"host": "h1", "job_name": "my job", "operator_name": "Sum: a", "subtask_index": "0"}


def metric(
    name: str, kind: MetricKind, value: Any, groups: str = "", **variables: str
) -> ReportedMetric:
    """Return a metric of an operator."""
    return ReportedMetric(
        name,
        kind,
        value,
        f"h1.taskmanager.driver.my job.Sum: a.0.{groups}{name}",
        f"taskmanager.job.task.operator{f'.{groups}'.rstrip('.')}",
        {**VARIABLES, **variables},
        is_user=bool(groups),
    )


OF_EACH_KIND = (
    metric("numRecordsIn", MetricKind.COUNTER, 30),
    metric("lag", MetricKind.GAUGE, -5),
    metric("isBackPressured", MetricKind.GAUGE, value=True),
    metric("mood", MetricKind.GAUGE, "good"),
    metric("rowsPerSecond", MetricKind.METER, {"count": 9, "rate": 1.5}, "parser."),
    metric(
        "size",
        MetricKind.DISTRIBUTION,
        {"p50": 1.0, "p95": 2.0, "p99": 3.0, "max": 4.0},
        "parser.",
        shard="7",
    ),
)


def configuration(**settings: str) -> Configuration:
    """Return a configuration with a reporter named `mine`; `__` in a name stands for a point."""
    found = Configuration()
    for key, text in settings.items():
        found.set_string(f"{PREFIX}{key.replace('__', '.')}", text)
    return found


def config(**settings: str) -> MetricConfig:
    """Return what a reporter is opened with; `__` in a name stands for a point."""
    return MetricConfig(
        {key.replace("__", "."): text for key, text in settings.items()}, prefix=PREFIX
    )


def reported(view: JobView | None = None) -> list[ReportedMetric]:
    """Return the metrics of a view, as reporters are given them."""
    naming = Naming(ScopeFormats.read(Configuration()))
    return list(naming.reported(metrics_of(views.view() if view is None else view)))
