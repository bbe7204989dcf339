"""What is pushed is what a push gateway takes: read by Prometheus' own parser from the requests."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.executors.driver.reporters.metrics import OF_EACH_KIND, config

from penstock.errors import InvalidConfigurationValueError, MetricsNotReportedError
from penstock.executors.driver.reporters.push_gateway import PrometheusPushGatewayReporter


class Request(NamedTuple):
    method: str
    path: str
    body: str
    authorization: str | None


class Gateway(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[Request] = []
        self.status = 202

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Gateway

    def do_PUT(self) -> None:
        self.answer()

    def do_DELETE(self) -> None:
        self.answer()

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        authorization = self.headers["Authorization"]
        self.server.requests.append(Request(self.command, self.path, body, authorization))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    server = Gateway()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def opened(gateway: Gateway, **settings: str) -> PrometheusPushGatewayReporter:
    reporter = PrometheusPushGatewayReporter()
    reporter.open(config(hostUrl=gateway.url, **settings))
    return reporter


def test_it_pushes_and_takes_away_what_it_pushed(gateway: Gateway) -> None:
    reporter = opened(
        gateway, jobName="fares", randomJobNameSuffix="false", groupingKey="stage=test;zone=eu"
    )

    reporter.report(OF_EACH_KIND)
    reporter.close()

    pushed, deleted = gateway.requests
    assert (pushed.method, deleted.method) == ("PUT", "DELETE")
    assert pushed.path == deleted.path == "/metrics/job/fares/stage/test/zone/eu"
    assert pushed.authorization is None
    found = {one.name: one for one in text_string_to_metric_families(pushed.body)}
    counted = found["flink_taskmanager_job_task_operator_numRecordsIn"]
    assert counted.samples[0].value == 30
    assert counted.samples[0].labels["operator_name"] == "Sum:_a"


def test_it_leaves_what_it_pushed_if_that_is_wanted(gateway: Gateway) -> None:
    reporter = opened(gateway, jobName="fares", deleteOnShutdown="false")

    reporter.report(OF_EACH_KIND)
    reporter.close()

    (pushed,) = gateway.requests
    assert pushed.path.startswith("/metrics/job/fares")
    assert len(pushed.path) == len("/metrics/job/fares") + 32


def test_it_logs_in(gateway: Gateway) -> None:
    opened(gateway, username="me", password="pw").report(OF_EACH_KIND)

    (pushed,) = gateway.requests
    assert pushed.authorization == f"Basic {base64.b64encode(b'me:pw').decode()}"


@pytest.mark.parametrize("status", [500, 307, 99_999])
def test_a_gateway_that_refuses_is_named(gateway: Gateway, status: int) -> None:
    gateway.status = status
    reporter = opened(gateway)

    with pytest.raises(MetricsNotReportedError, match=gateway.url):
        reporter.report(OF_EACH_KIND)
    with pytest.raises(MetricsNotReportedError, match=gateway.url):
        reporter.close()


@pytest.mark.parametrize(
    ("key", "settings"),
    [
        ("hostUrl", {}),
        ("hostUrl", {"hostUrl": "gateway:9091"}),
        ("jobName", {"hostUrl": "http://g:1", "randomJobNameSuffix": "false"}),
        ("groupingKey", {"hostUrl": "http://g:1", "groupingKey": "stage"}),
        ("randomJobNameSuffix", {"hostUrl": "http://g:1", "randomJobNameSuffix": "1"}),
        ("password", {"hostUrl": "http://g:1", "username": "me"}),
        ("username", {"hostUrl": "http://g:1", "password": "pw"}),
    ],
)
def test_a_wrong_setting_is_refused(key: str, settings: dict[str, str]) -> None:
    with pytest.raises(InvalidConfigurationValueError, match=rf"metrics\.reporter\.mine\.{key}"):
        PrometheusPushGatewayReporter().open(config(**settings))
