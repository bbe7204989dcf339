"""The dashboard for Grafana asks for what a job reports: a Prometheus that scrapes one answers each of its queries."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
from prometheus_client.parser import text_string_to_metric_families

from penstock.common import Configuration, Duration, Time, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import MapFunction, ProcessWindowFunction
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import LateRecordsDroppedWarning
from penstock.executors.driver.reporters.prometheus import PrometheusReporter
from penstock.executors.driver.reporters.prometheus_page import prometheus_page
from penstock.metrics import MetricConfig, MetricReporter, ReportedMetric
from penstock.testing import TestingSource, local_environment

SECONDS = 60.0
DASHBOARD = json.loads(
    (Path(__file__).parents[2] / "docs" / "grafana" / "penstock.json").read_text(encoding="utf-8")
)
SELECTOR = re.compile(r"(?P<name>flink_\w+)?{(?P<labels>[^}]*)}")
GROUPED = re.compile(r"by \(([^)]*)\)")
OWN = "flink_taskmanager_job_task_operator_fares_size"
LAST = 9_001
OPTIONAL = {"quantile"}
"""Labels that not each metric has that a query may be about."""


def targets() -> list[tuple[str, dict[str, str]]]:
    return [
        (f"{panel['title']}-{target['refId']}", target)
        for panel in DASHBOARD["panels"]
        for target in panel.get("targets", [])
    ]


EXPRESSIONS = {name: target["expr"] for name, target in targets()}


def filled_in(expression: str) -> str:
    """Return a query as Grafana asks it."""
    values = {"$job": ".*", "$metric": OWN, "$__rate_interval": "1m"}
    for variable, value in values.items():
        expression = expression.replace(variable, value)
    return expression


class Asked(MetricReporter):
    last: ClassVar[Asked]

    def open(self, config: MetricConfig) -> None:
        Asked.last = self


class Look(MapFunction):
    """Looks at the metrics while the job works on a record."""

    seen: ClassVar[list[ReportedMetric]] = []

    def map(self, value: int) -> int:
        if value == LAST:
            Look.seen = list(Asked.last.metrics())
        return value


class Measuring(ProcessWindowFunction[Any, Any, Any, Any]):
    def open(self, runtime_context: Any) -> None:
        group = runtime_context.get_metrics_group().add_group("fares")
        self.sizes = group.distribution("size")

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        self.sizes.update(len(list(elements)))
        yield key


class Stamps(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int | None) -> int:
        return int(value)


@pytest.fixture(scope="module")
def metrics() -> list[ReportedMetric]:
    """What a job with event time, state, late records and metrics of its own reports in the middle of its run."""
    env = local_environment()
    env.configure(
        Configuration().set_string(
            "metrics.reporter.asked.factory.class", f"{__name__}:{Asked.__qualname__}"
        )
    )
    stamped: WatermarkStrategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(0)
    ).with_timestamp_assigner(Stamps())
    epochs = [[1, 1_500, 3_000], [2, 5_000], [9_000], [LAST]]
    rows = env.from_source(TestingSource(epochs), stamped, "fares").map(Look())
    windows = (
        rows.filter(bool)
        .key_by(lambda value: value % 2)
        .window(TumblingEventTimeWindows.of(Time.seconds(1)))
    )
    windows.process(Measuring()).add_sink(lambda value: None)
    with pytest.warns(LateRecordsDroppedWarning):
        env.execute("fares")
    return Look.seen


def test_each_query_is_about_what_is_reported(metrics: list[ReportedMetric]) -> None:
    text = prometheus_page(metrics).decode()
    known: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            known.setdefault(sample.name, set()).update(sample.labels)

    for expression in map(filled_in, EXPRESSIONS.values()):
        found = list(SELECTOR.finditer(expression))
        assert found, expression
        for selector in found:
            labels = dict(pair.split("=", 1) for pair in selector["labels"].split(","))
            named = labels.pop("__name__", "").strip('"')
            name = selector["name"] or named
            assert name in known, expression
            asked = {label.rstrip("~!") for label in labels}
            asked |= {
                label for listed in GROUPED.findall(expression) for label in listed.split(", ")
            }
            assert asked - OPTIONAL <= known[name], expression


def test_jobs_that_are_shown_together_are_told_apart() -> None:
    for name, target in targets():
        groups = GROUPED.findall(target["expr"])
        assert all("job_name" in listed.split(", ") for listed in groups), name
        assert "{{job_name}}" in target["legendFormat"], name


def test_the_dashboard_has_a_query_for_all_that_is_asked_of_a_job() -> None:
    titles = [panel["title"] for panel in DASHBOARD["panels"] if panel["type"] == "row"]

    assert titles == [
        "What it does",
        "How far it is behind",
        "Why",
        "State and checkpoints",
        "What went wrong",
        "What your functions measure",
    ]
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def without(value: Any, known: Any) -> Iterator[str]:
    """Yield where a value has what another, made of it, has not, or has otherwise."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in known:
                yield key
            else:
                yield from (f"{key}/{rest}" for rest in without(part, known[key]))
    elif isinstance(value, list):
        for part, other in zip(value, known, strict=True):
            yield from without(part, other)
    elif value != known:
        yield f"{value} is {known}"


def test_grafana_knows_each_field() -> None:
    register_default_plugins()

    known = json.loads(JSONEncoder().encode(Dashboard.from_json(DASHBOARD)))

    # Grafana's editor shows it beside a variable's query; their classes leave it out.
    assert set(without(DASHBOARD, known)) <= {"templating/list/definition"}


class Prometheus:
    """A Prometheus that scrapes one port."""

    def __init__(self, folder: Path, scraped: int) -> None:
        with closing(socket.socket()) as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        settings = folder / "prometheus.yml"
        settings.write_text(
            "global: {scrape_interval: 100ms, scrape_timeout: 100ms}\n"
            "scrape_configs:\n"
            "- job_name: penstock\n"
            f"  static_configs: [{{targets: ['127.0.0.1:{scraped}']}}]\n"
        )
        self._log = (folder / "log").open("w")
        self._process = subprocess.Popen(
            [
                shutil.which("prometheus") or "prometheus",
                f"--config.file={settings}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self.port}",
            ],
            stdout=self._log,
            stderr=self._log,
        )

    def ask(self, expression: str) -> list[dict[str, Any]]:
        query = urllib.parse.urlencode({"query": expression})
        url = f"http://127.0.0.1:{self.port}/api/v1/query?{query}"
        with urllib.request.urlopen(url, timeout=SECONDS) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
            return found

    def wait_for(self, expression: str) -> None:
        limit, pause = time.monotonic() + SECONDS, threading.Event()
        while time.monotonic() < limit:
            assert self._process.poll() is None, "Prometheus ended"
            try:
                if self.ask(expression):
                    return
            except OSError:
                pass
            pause.wait(0.05)
        raise AssertionError("Prometheus does not scrape")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()


@pytest.fixture(scope="module")
def prometheus(
    metrics: list[ReportedMetric], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    if shutil.which("prometheus") is None:
        why = "There is no program `prometheus` here: Debian's package of that name has it."
        if os.environ.get("PENSTOCK_TESTS") == "all":
            pytest.fail(why)
        pytest.skip(why)
    reporter = PrometheusReporter()
    reporter.metrics = lambda: metrics
    reporter.open(MetricConfig({"port": "0", "host": "127.0.0.1"}))
    assert reporter.port is not None
    with (
        closing(reporter),
        closing(Prometheus(tmp_path_factory.mktemp("prometheus"), reporter.port)) as found,
    ):
        found.wait_for("count_over_time(flink_jobmanager_job_uptime[1m]) > 2")
        yield found


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_a_prometheus_answers_each_query(prometheus: Prometheus, expression: str) -> None:
    found = prometheus.ask(filled_in(expression))

    if " > 0)" in expression:  # of which there may be none
        return
    assert found
    assert all(one["value"][1] not in {"NaN", "+Inf"} for one in found)


def test_a_prometheus_reads_the_numbers_of_the_job(prometheus: Prometheus) -> None:
    (read,) = prometheus.ask("flink_jobmanager_job_numRecordsIn")
    late = prometheus.ask(
        "sum by (operator_name) (flink_taskmanager_job_task_operator_numLateRecordsDropped) > 0"
    )
    sizes = prometheus.ask(f'{OWN}{{quantile="1.0"}}')

    assert (read["value"][1], read["metric"]["job_name"]) == ("6", "fares")
    assert [one["value"][1] for one in late] == ["1"]
    assert {one["value"][1] for one in sizes} <= {"1", "0"}
