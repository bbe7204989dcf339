"""The driver reports what functions measure in Spark's workers."""

from __future__ import annotations

import contextlib
import socket
import urllib.request
from collections.abc import Sequence
from typing import ClassVar

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.metrics import MetricReporter, ReportedMetric
from penstock.testing import TestingSource

pytestmark = pytest.mark.spark


class Scraping(MapFunction):
    """Counts records, and asks for the metrics as Prometheus does, though from a worker."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/metrics"

    def open(self, runtime_context: RuntimeContext) -> None:
        self.rows = runtime_context.get_metrics_group().counter("rows")

    def map(self, value: int) -> str:
        self.rows.inc()
        with urllib.request.urlopen(self._url, timeout=60) as answer:
            return str(answer.read().decode())


def test_prometheus_scrapes_a_job_that_runs(env: StreamExecutionEnvironment) -> None:
    with contextlib.closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    factory = "org.apache.flink.metrics.prometheus.PrometheusReporterFactory"
    settings = Configuration().set_string("metrics.reporter.prom.factory.class", factory)
    settings.set_string("metrics.reporter.prom.port", str(port))
    settings.set_string("metrics.reporter.prom.host", "127.0.0.1")
    env.configure(settings)
    source = TestingSource([[1, 2], [3]])
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    pages = numbers.map(Scraping(port)).name("Scrape").set_parallelism(1)

    with pages.execute_and_collect("scraped on spark") as results:
        *_, page = results

    samples = [one for family in text_string_to_metric_families(page) for one in family.samples]

    def found_at(name: str) -> set[tuple[float, str]]:
        return {
            (one.value, one.labels["job_name"])
            for one in samples
            if one.name.startswith(f"flink_taskmanager_job_task_operator_{name}")
            and one.labels["operator_name"] == "Scrape"
        }

    # The page is of the epoch before.
    assert found_at("numRecordsIn") >= {(2, "scraped_on_spark")}
    assert found_at("rows") == {(2, "scraped_on_spark")}


class Last(MetricReporter):
    metrics_of_last_report: ClassVar[Sequence[ReportedMetric]] = ()

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        Last.metrics_of_last_report = metrics


class Counting(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        group = runtime_context.get_metrics_group().add_group("zone", "eu.1")
        self.rows = group.counter("rows")
        group.gauge("last", lambda: 7)

    def map(self, value: int) -> int:
        self.rows.inc()
        return value


def test_user_metrics_come_with_their_groups(env: StreamExecutionEnvironment) -> None:
    settings = Configuration()
    settings.set_string("metrics.reporter.last.factory.class", f"{__name__}:Last")
    settings.set_string("metrics.reporter.last.interval", "1 d")
    env.configure(settings)
    numbers = env.from_collection(list(range(10))).rebalance()
    numbers.map(Counting()).name("Count").set_parallelism(2).add_sink(lambda _: None)

    env.execute("on spark")

    found = [one for one in Last.metrics_of_last_report if one.is_user]
    rows = [one for one in found if one.name == "rows"]
    assert sum(one.value for one in rows) == 10
    assert {one.variables["subtask_index"] for one in rows} == {"0", "1"}
    assert {one.logical_scope for one in found} == {"taskmanager.job.task.operator.zone"}
    assert {one.variables["zone"] for one in found} == {"eu.1"}
    assert {one.value for one in found if one.name == "last"} == {7}
    (read,) = [
        one
        for one in Last.metrics_of_last_report
        if (one.logical_scope, one.name) == ("jobmanager.job", "numRecordsIn")
    ]
    assert (read.value, read.variables["job_name"]) == (10, "on spark")
