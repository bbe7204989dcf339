"""What a view says is said by metrics too, under Flink's names and scopes."""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.executors.driver.reports import views

from penstock.common.job_status import JobStatus
from penstock.executors.driver.reports.flink_metrics import (
    JobMetric,
    Level,
    metrics_of,
)
from penstock.executors.driver.reports.job_view import JobView, SubtaskView
from penstock.metrics import MetricKind
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP


def found(
    view: JobView, level: Level, *, subtask: int | None = None, operator: str | None = None
) -> dict[str, JobMetric]:
    """Return the metrics of one scope by their names."""
    return {
        metric.name: metric
        for metric in metrics_of(view)
        if metric.scope.level is level
        and metric.scope.subtask == subtask
        and operator in (None, metric.scope.operator_id)
    }


def values(metrics: dict[str, JobMetric], *names: str) -> list[Any]:
    return [metrics[name].value for name in names]


def test_a_job_has_its_totals() -> None:
    metrics = found(views.view(), Level.JOB)

    assert values(metrics, "uptime", "downtime", "numRestarts") == [50_000, 0, 1]
    assert values(metrics, "numberOfCompletedCheckpoints", "numberOfFailedCheckpoints") == [2, 1]
    assert values(metrics, "lastCompletedCheckpointId", "lastCheckpointDuration") == [3, 700]
    assert metrics["numRecordsInPerSecond"].value == {"count": 30, "rate": 4.0}
    assert metrics["numRecordsInPerSecond"].kind is MetricKind.METER
    assert metrics["watermarkLag"].value == 60_000
    assert metrics["numRecordsIn"].scope.job_name == "fares"


def test_a_job_that_is_restarted_is_down_and_one_that_ended_is_neither() -> None:
    times = {JobStatus.RESTARTING: views.STARTED + 20_000}
    restarted = found(views.view(status=JobStatus.RESTARTING, status_times=times), Level.JOB)
    ended = found(views.view(status=JobStatus.FINISHED), Level.JOB)

    assert values(restarted, "uptime", "downtime") == [0, 40_000]
    assert values(ended, "uptime", "downtime") == [-1, -1]


def test_a_task_counts_what_enters_and_what_leaves_its_chain() -> None:
    first, second = views.source(), views.summing()
    view = views.view(vertices=(first, second))
    tasks = [
        metric
        for metric in metrics_of(view)
        if metric.scope.level is Level.TASK and metric.scope.subtask == 0
    ]
    of_source = {m.name: m for m in tasks if m.scope.vertex_id == views.SOURCE_ID}
    of_sum = {m.name: m for m in tasks if m.scope.vertex_id == views.SUM_ID}

    assert values(of_source, "numRecordsOut", "numBytesOut") == [20, 300]
    assert values(of_source, "busyTimeMsPerSecond", "isBackPressured") == [250, False]
    assert values(of_sum, "numRecordsIn", "numRecordsOut") == [18, 0]
    assert of_sum["currentInputWatermark"].value == MIN_TIMESTAMP
    assert of_sum["numRecordsIn"].scope.vertex_name == "Sum -> Sink: out"


def test_an_operator_says_what_it_dropped_and_a_source_how_far_it_is_behind() -> None:
    total = found(views.view(), Level.OPERATOR, subtask=1, operator=views.SUM_ID)
    source = found(views.view(), Level.OPERATOR, subtask=1, operator=views.SOURCE_ID)

    assert values(total, "numRecordsIn", "numLateRecordsDropped") == [12, 1]
    assert total["numRecordsInPerSecond"].value == {"count": 12, "rate": 2.0}
    assert "watermarkLag" not in total
    assert values(source, "watermarkLag", "holdsWatermarkBack") == [60_000, 1]


def test_what_makes_watermarks_behind_a_source_says_how_far_it_is_behind() -> None:
    figures = (views.figures(1, 1), views.figures(1, 1, output_watermark=views.STARTED + 58_000))
    chain = dataclasses.replace(
        views.summing(), subtasks=(SubtaskView(0, views.summing().times, figures),)
    )
    origins = {views.SOURCE_ID: False, views.SINK_ID: True}
    view = views.view(
        vertices=(views.source(), chain),
        watermark_origins=origins,
        watermark=None,
        watermark_lag=None,
    )

    maker = found(view, Level.OPERATOR, subtask=0, operator=views.SINK_ID)
    source = found(view, Level.OPERATOR, subtask=1, operator=views.SOURCE_ID)
    between = found(view, Level.OPERATOR, subtask=0, operator=views.SUM_ID)

    assert values(maker, "watermarkLag", "holdsWatermarkBack") == [2_000, 1]
    assert source["holdsWatermarkBack"].value == 0
    assert "holdsWatermarkBack" not in between


def test_a_source_is_as_far_behind_as_the_watermarks_that_are_made_in_its_chain() -> None:
    figures = (views.figures(1, 1), views.figures(1, 1, output_watermark=views.STARTED + 57_000))
    chain = dataclasses.replace(
        views.summing(), subtasks=(SubtaskView(0, views.summing().times, figures),)
    )
    view = views.view(vertices=(chain,), watermark_origins={views.SUM_ID: False})

    metrics = found(view, Level.OPERATOR, subtask=0, operator=views.SUM_ID)

    assert values(metrics, "watermarkLag", "holdsWatermarkBack") == [3_000, 0]


def test_a_source_whose_time_has_ended_is_not_behind() -> None:
    figures = views.figures(1, 1, output_watermark=MAX_TIMESTAMP)
    first = views.source()
    subtask = type(first.subtasks[0])(0, first.times, (figures,))
    vertex = type(first)(
        first.vertex_id, first.name, 1, 128, first.operators, (), (subtask,), first.times
    )

    metrics = found(views.view(vertices=(vertex,)), Level.OPERATOR, subtask=0)

    assert "watermarkLag" not in metrics
    assert metrics["currentOutputWatermark"].value == MAX_TIMESTAMP


def test_metrics_of_the_user_keep_their_groups_and_kinds() -> None:
    metrics = found(views.view(), Level.OPERATOR, subtask=0, operator=views.SUM_ID)

    rows = metrics["rows"]
    assert (rows.groups, rows.kind, rows.value) == (("parser", "user", "7"), MetricKind.COUNTER, 3)
    assert metrics["mood"].kind is MetricKind.GAUGE
    assert metrics["speed"].kind is MetricKind.METER


@given(st.lists(st.tuples(st.integers(0, 10**9), st.floats(0, 1e6)), min_size=1, max_size=4))
def test_what_subtasks_count_comes_to_what_their_operator_counts(
    parts: list[tuple[int, float]],
) -> None:
    first = views.source()
    total = sum(count for count, _ in parts)
    operator = type(first.operators[0])(
        views.SUM_ID, "Sum", None, (), views.figures(total, 0), sum(rate for _, rate in parts)
    )
    head = first.operators[0]
    subtasks = tuple(
        type(first.subtasks[0])(
            index, first.times, (views.figures(count, count), views.figures(count, 0))
        )
        for index, (count, _) in enumerate(parts)
    )
    vertex = type(first)(
        first.vertex_id, "chain", len(parts), 128, (head, operator), (), subtasks, first.times
    )

    metrics = [
        metric.value
        for metric in metrics_of(views.view(vertices=(vertex,)))
        if metric.scope.operator_id == views.SUM_ID and metric.name == "numRecordsInPerSecond"
    ]

    assert sum(value["count"] for value in metrics) == total
    rate = sum(value["rate"] for value in metrics)
    assert abs(rate - operator.records_per_second) <= 1e-6 * (1 + operator.records_per_second)
