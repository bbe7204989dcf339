from __future__ import annotations

import logging

import pytest
from tests.executors.driver.reporters.metrics import OF_EACH_KIND, metric

from penstock.executors.driver.reporters.log_reporter import LogReporter
from penstock.metrics import MetricKind

BEFORE = "h1.taskmanager.driver.my job.Sum: a.0."


def test_all_metrics_are_one_message_by_kind(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "penstock.metrics"):
        LogReporter().report(OF_EACH_KIND)

    (record,) = caplog.records
    assert record.getMessage().split("\n") == [
        "Metrics",
        "-- Counters",
        f"{BEFORE}numRecordsIn: 30",
        "-- Gauges",
        f"{BEFORE}lag: -5",
        f"{BEFORE}isBackPressured: True",
        f"{BEFORE}mood: good",
        "-- Meters",
        f"{BEFORE}parser.rowsPerSecond: count=9, rate=1.5",
        "-- Distributions",
        f"{BEFORE}parser.size: p50=1.0, p95=2.0, p99=3.0, max=4.0",
    ]


def test_a_text_makes_no_line_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "penstock.metrics"):
        LogReporter().report([metric("mood", MetricKind.GAUGE, "good\nERROR all is lost \x1b[31m")])

    (record,) = caplog.records
    assert record.getMessage().split("\n")[2:] == [f"{BEFORE}mood: good ERROR all is lost [31m"]
