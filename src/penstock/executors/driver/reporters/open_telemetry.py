"""The reporter for OpenTelemetry's collectors, by gRPC or HTTP."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from penstock.common.configuration.config_option import ConfigOption
from penstock.common.plain_text import without_logins
from penstock.common.time import Duration
from penstock.errors import MetricsLibraryNotFoundError, MetricsNotReportedError
from penstock.executors.driver.reporters.prometheus_page import as_number
from penstock.metrics import MetricConfig, MetricKind, MetricReporter, ReportedMetric

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import Metric, MetricExporter
    from opentelemetry.sdk.resources import Resource

_TIMEOUT: Final[ConfigOption[Any]] = ConfigOption("", Duration, None, "", minimum=1)
_QUANTILES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
_LOGGERS: Final = (
    "opentelemetry.exporter.otlp.common.http",
    "opentelemetry.exporter.otlp.proto.grpc.exporter",
    "opentelemetry.exporter.otlp.proto.http.metric_exporter",
)


class OpenTelemetryReporter(MetricReporter):
    """Sends metrics to a collector.

    Its settings are `exporter.endpoint`, which has to be set, `exporter.protocol`, `gRPC` or `HTTP`,
    `exporter.timeout`, `exporter.compression`, `none` or `gzip`, `service.name` and `service.version`.

    A counter is a sum, cumulative since the job began, and only one of penstock's own is monotonic, since users
    can count down. A meter is such a sum with `.count` after its name, and a gauge with `.rate`. A distribution
    is a gauge for each `quantile`.
    """

    def open(self, config: MetricConfig) -> None:
        self._endpoint = config.get_string("exporter.endpoint", "").strip()
        if urlsplit(self._endpoint).scheme not in {"http", "https"}:
            raise config.invalid(
                "exporter.endpoint", "Give the collector's URL, such as http://collector:4317."
            )
        name = config.get_string("service.name", "penstock")
        version = config.get_string("service.version", "")
        try:
            from opentelemetry.sdk.resources import Resource

            self._exporter = _exporter(config, self._endpoint)
        except ImportError as error:
            raise MetricsLibraryNotFoundError(
                "Metrics for OpenTelemetry take its SDK and its exporters, which are not installed.",
                hint="Install them, with: pip install 'penstock[opentelemetry]'",
            ) from error
        attributes = {"service.name": name, "service.version": version}
        self._resource: Resource = Resource.create({k: v for k, v in attributes.items() if v})
        self._opened = time.time_ns()

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        from opentelemetry.sdk.metrics.export import (
            MetricExportResult,
            MetricsData,
            ResourceMetrics,
            ScopeMetrics,
        )
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        found = list(_Points(self._opened, time.time_ns()).metrics(metrics))
        scope = ScopeMetrics(InstrumentationScope("penstock"), found, "")
        data = MetricsData([ResourceMetrics(self._resource, [scope], "")])
        with _heard() as said:
            result = self._exporter.export(data)
        if result is not MetricExportResult.SUCCESS:
            raise MetricsNotReportedError(
                f"The collector {without_logins(self._endpoint)} does not take metrics: {said[-1] if said else result.name}",
                hint="Look at metrics.reporter.<name>.exporter.endpoint and exporter.protocol: collectors usually hear "
                "gRPC at port 4317, and HTTP at port 4318.",
            )

    def close(self) -> None:
        self._exporter.shutdown()


def _exporter(config: MetricConfig, endpoint: str) -> MetricExporter:
    protocol = config.read("exporter.protocol", "grpc", _one_of("grpc", "http"), "gRPC or HTTP")
    zipped = (
        config.read("exporter.compression", "none", _one_of("none", "gzip"), "none or gzip")
        == "gzip"
    )
    duration = config.read(
        "exporter.timeout", Duration.of_seconds(10), _TIMEOUT.parse, "a duration such as '10 s'"
    )
    seconds = duration.to_millis() / 1000
    if protocol == "grpc":
        from grpc import Compression
        from opentelemetry.exporter.otlp.proto.grpc import metric_exporter as by_grpc

        compression = Compression.Gzip if zipped else Compression.NoCompression
        return by_grpc.OTLPMetricExporter(endpoint, timeout=seconds, compression=compression)
    from opentelemetry.exporter.otlp.proto.http import Compression as Zip
    from opentelemetry.exporter.otlp.proto.http import metric_exporter as by_http

    if urlsplit(endpoint).path in {"", "/"}:
        endpoint = f"{endpoint.rstrip('/')}/v1/metrics"
    compressing = Zip.Gzip if zipped else Zip.NoCompression
    return by_http.OTLPMetricExporter(endpoint, timeout=seconds, compression=compressing)


def _one_of(*choices: str) -> Any:
    def parse(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(text)
        return text.lower()

    return parse


@contextmanager
def _heard() -> Iterator[list[str]]:
    """Keep what the exporters log in this thread out of the log: it comes at each interval, and is said once."""
    said: list[str] = []
    here = threading.get_ident()

    def hear(record: logging.LogRecord) -> bool:
        if record.thread != here:
            return True
        said.append(record.getMessage())
        return False

    loggers = [logging.getLogger(name) for name in _LOGGERS]
    for logger in loggers:
        logger.filters.insert(0, hear)  # before one that drops what it has seen
    try:
        yield said
    finally:
        for logger in loggers:
            logger.removeFilter(hear)


class _Points:
    """Makes OpenTelemetry's metrics of some.

    Args:
        since: When counting began, in nanoseconds since 1970.
        now: What time it is.
    """

    def __init__(self, since: int, now: int) -> None:
        self._since = since
        self._now = now
        self._sums: dict[tuple[str, bool], list[Any]] = {}
        self._gauges: dict[str, list[Any]] = {}

    def metrics(self, metrics: Sequence[ReportedMetric]) -> Iterator[Metric]:
        """Yield them, all points of a name in one."""
        from opentelemetry.sdk.metrics.export import AggregationTemporality, Gauge, Metric, Sum

        for metric in metrics:
            self._add(metric)
        cumulative = AggregationTemporality.CUMULATIVE
        for (name, is_monotonic), points in self._sums.items():
            yield Metric(name, "", "", Sum(points, cumulative, is_monotonic))
        for name, points in self._gauges.items():
            yield Metric(name, "", "", Gauge(points))

    def _add(self, metric: ReportedMetric) -> None:
        name, value = f"flink.{metric.logical_scope}.{metric.name}", metric.value
        if metric.kind is MetricKind.METER:
            self._sum(f"{name}.count", metric, value["count"])
            self._gauge(f"{name}.rate", metric, value["rate"])
        elif metric.kind is MetricKind.DISTRIBUTION:
            for key, part in value.items():
                self._gauge(name, metric, part, {"quantile": _QUANTILES[key]})
        elif (number := as_number(value)) is None:
            return
        elif metric.kind is MetricKind.COUNTER:
            self._sum(name, metric, number)
        else:
            self._gauge(name, metric, number)

    def _sum(self, name: str, metric: ReportedMetric, value: float) -> None:
        points = self._sums.setdefault((name, not metric.is_user), [])
        points.append(self._point(metric, value, {}))

    def _gauge(
        self,
        name: str,
        metric: ReportedMetric,
        value: float,
        more: Mapping[str, float] | None = None,
    ) -> None:
        self._gauges.setdefault(name, []).append(self._point(metric, value, more or {}))

    def _point(self, metric: ReportedMetric, value: float, more: Mapping[str, float]) -> Any:
        from opentelemetry.sdk.metrics.export import NumberDataPoint

        return NumberDataPoint({**metric.variables, **more}, self._since, self._now, value)
