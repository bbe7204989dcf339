"""The driver reports what functions measure in Spark's workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pytest

from penstock.common import Configuration
from penstock.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.metrics import MetricReporter, ReportedMetric

pytestmark = pytest.mark.spark


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
