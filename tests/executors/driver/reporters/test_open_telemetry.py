"""A collector's own protocol: what is sent is read by OpenTelemetry's messages, by gRPC and by HTTP."""

from __future__ import annotations

import gzip
import sys
import threading
from collections.abc import Iterator
from concurrent import futures
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2_grpc import (
    MetricsServiceServicer,
    add_MetricsServiceServicer_to_server,
)
from tests.executors.driver.reporters.metrics import OF_EACH_KIND, config

from penstock.errors import (
    InvalidConfigurationValueError,
    MetricsLibraryNotFoundError,
    MetricsNotReportedError,
)
from penstock.executors.driver.reporters.open_telemetry import OpenTelemetryReporter

OPERATOR = "flink.taskmanager.job.task.operator"
CUMULATIVE = 2


class Collector(MetricsServiceServicer):
    """A collector that keeps what it is sent."""

    def __init__(self) -> None:
        self.requests: list[ExportMetricsServiceRequest] = []
        self.paths: list[str] = []

    def Export(self, request: ExportMetricsServiceRequest, context: Any) -> Any:  # noqa: N802 - as it is called
        self.requests.append(request)
        return ExportMetricsServiceResponse()


@contextmanager
def by_grpc(collector: Collector) -> Iterator[str]:
    server = grpc.server(futures.ThreadPoolExecutor(1))
    add_MetricsServiceServicer_to_server(collector, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"http://127.0.0.1:{port}"
    server.stop(None).wait()


@contextmanager
def by_http(collector: Collector) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers["Content-Encoding"] == "gzip":
                body = gzip.decompress(body)
            collector.paths.append(self.path)
            collector.requests.append(ExportMetricsServiceRequest.FromString(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def opened(endpoint: str, **settings: str) -> OpenTelemetryReporter:
    reporter = OpenTelemetryReporter()
    reporter.open(config(exporter__endpoint=endpoint, **settings))
    return reporter


@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize(("protocol", "serve"), [("gRPC", by_grpc), ("HTTP", by_http)])
def test_a_collector_reads_metrics_of_each_kind(
    protocol: str, serve: Any, compression: str
) -> None:
    collector = Collector()
    with (
        serve(collector) as endpoint,
        closing(
            opened(
                endpoint,
                exporter__protocol=protocol,
                exporter__compression=compression,
                service__name="fares",
                service__version="7",
            )
        ) as reporter,
    ):
        reporter.report(OF_EACH_KIND)

    (request,) = collector.requests
    (resource,) = request.resource_metrics
    said = {one.key: one.value.string_value for one in resource.resource.attributes}
    assert (said["service.name"], said["service.version"]) == ("fares", "7")
    (scope,) = resource.scope_metrics
    found = {one.name: one for one in scope.metrics}
    counted = found[f"{OPERATOR}.numRecordsIn"].sum
    assert counted.is_monotonic
    assert counted.aggregation_temporality == CUMULATIVE
    (point,) = counted.data_points
    assert point.as_int == 30
    assert 0 < point.start_time_unix_nano <= point.time_unix_nano
    attributes = {one.key: one.value.string_value for one in point.attributes}
    assert attributes["operator_name"] == "Sum: a"
    assert found[f"{OPERATOR}.lag"].gauge.data_points[0].as_int == -5
    assert f"{OPERATOR}.mood" not in found
    rows = found[f"{OPERATOR}.parser.rowsPerSecond.count"].sum
    assert (rows.is_monotonic, rows.data_points[0].as_int) == (False, 9)
    rate = found[f"{OPERATOR}.parser.rowsPerSecond.rate"].gauge.data_points[0]
    assert rate.as_double == 1.5
    quantiles = {
        attribute.value.double_value: point.as_double
        for point in found[f"{OPERATOR}.parser.size"].gauge.data_points
        for attribute in point.attributes
        if attribute.key == "quantile"
    }
    assert quantiles == {0.5: 1.0, 0.95: 2.0, 0.99: 3.0, 1.0: 4.0}


def test_the_path_of_http_is_added_unless_there_is_one() -> None:
    collector = Collector()
    with by_http(collector) as endpoint:
        for path in ("", "/", "/otlp/metrics"):
            with closing(opened(f"{endpoint}{path}", exporter__protocol="http")) as reporter:
                reporter.report(OF_EACH_KIND)

    assert collector.paths == ["/v1/metrics", "/v1/metrics", "/otlp/metrics"]


@pytest.mark.parametrize("protocol", ["gRPC", "HTTP"])
def test_a_collector_that_is_not_there_is_named_and_nothing_else_is_logged(
    protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"exporter__protocol": protocol, "exporter__timeout": "200 ms"}
    with closing(opened("http://127.0.0.1:9", **settings)) as reporter:
        for _ in range(2):
            with pytest.raises(MetricsNotReportedError, match=r"http://127\.0\.0\.1:9 "):
                reporter.report(OF_EACH_KIND)

    assert [record.name for record in caplog.records] == []


@pytest.mark.parametrize(
    ("key", "settings"),
    [
        ("exporter.endpoint", {}),
        ("exporter.endpoint", {"exporter__endpoint": "collector:4317"}),
        ("exporter.protocol", {"exporter__protocol": "carrier pigeon"}),
        ("exporter.compression", {"exporter__compression": "zip"}),
        ("exporter.timeout", {"exporter__timeout": "soon"}),
    ],
)
def test_a_wrong_setting_is_refused(key: str, settings: dict[str, str]) -> None:
    known = {} if key == "exporter.endpoint" else {"exporter__endpoint": "http://127.0.0.1:9"}

    with pytest.raises(InvalidConfigurationValueError, match=rf"metrics\.reporter\.mine\.{key}"):
        OpenTelemetryReporter().open(config(**known, **settings))


def test_without_the_library_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)

    with pytest.raises(MetricsLibraryNotFoundError, match=r"penstock\[opentelemetry\]"):
        opened("http://127.0.0.1:9")
