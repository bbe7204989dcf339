"""Filters have Flink's form: a scope, names and kinds, each of which may be left out."""

from __future__ import annotations

import pytest

from penstock.executors.driver.reporters.metric_filter import MetricFilter, Pattern
from penstock.metrics import MetricKind, ReportedMetric

RECORDS = ReportedMetric(
    "numRecordsIn", MetricKind.COUNTER, 1, "", "taskmanager.job.task.operator", {}
)


@pytest.mark.parametrize(
    "text",
    [
        "*",
        "*:*:*",
        "taskmanager.job.task.operator",
        "*.operator:num*",
        "*:other,numRecordsIn:meter,counter",
        "::COUNTER",
    ],
)
def test_matches(text: str) -> None:
    assert Pattern.parse(text).matches(RECORDS)


@pytest.mark.parametrize(
    "text", ["jobmanager*", "taskmanager.job", "*:numRecords", "*:*:gauge", "*:*:histogram"]
)
def test_does_not_match(text: str) -> None:
    assert not Pattern.parse(text).matches(RECORDS)


def test_a_point_is_no_wildcard() -> None:
    assert not Pattern.parse("taskmanager-job.task.operator").matches(RECORDS)
    assert not Pattern.parse("taskmanagerXjob*").matches(RECORDS)


def test_what_is_excluded_is_not_reported_though_it_is_included() -> None:
    everything = (Pattern.parse("*"),)

    assert MetricFilter(everything).lets_pass(RECORDS)
    assert not MetricFilter(everything, (Pattern.parse("*:numRecords*"),)).lets_pass(RECORDS)
    assert not MetricFilter(()).lets_pass(RECORDS)
