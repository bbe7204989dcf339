"""Prometheus asks the reporter's own port."""

from __future__ import annotations

import socket
import struct
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.executors.driver.reporters.metrics import OF_EACH_KIND, config

from penstock.errors import InvalidConfigurationValueError, MetricsNotReportedError
from penstock.executors.driver.reporters import prometheus
from penstock.executors.driver.reporters.prometheus import PrometheusReporter, ports_in
from penstock.metrics import ReportedMetric


@pytest.fixture
def taken() -> Iterator[int]:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        found.listen()
        yield found.getsockname()[1]


def opened(metrics: Sequence[ReportedMetric] = OF_EACH_KIND, **settings: str) -> PrometheusReporter:
    reporter = PrometheusReporter()
    reporter.metrics = lambda: metrics
    reporter.open(config(host="127.0.0.1", **settings))
    return reporter


def page(reporter: PrometheusReporter, query: str = "") -> str:
    url = f"http://127.0.0.1:{reporter.port}/metrics{query}"
    with urllib.request.urlopen(url, timeout=60) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        return str(answer.read().decode())


def test_each_scrape_gets_the_metrics_as_they_are_then() -> None:
    metrics = list(OF_EACH_KIND)
    with closing(opened(metrics, port="0")) as reporter:
        families = list(text_string_to_metric_families(page(reporter)))
        del metrics[1:]
        fewer = list(text_string_to_metric_families(page(reporter)))

    assert len(families) == 5
    assert [one.name for one in fewer] == ["flink_taskmanager_job_task_operator_numRecordsIn"]


def test_values_of_labels_are_filtered_unless_that_is_off() -> None:
    with closing(opened(port="0")) as reporter:
        assert 'operator_name="Sum:_a"' in page(reporter)
    with closing(opened(port="0", filterLabelValueCharacters="false")) as reporter:
        assert 'operator_name="Sum: a"' in page(reporter)


def test_of_several_ports_the_first_that_is_free_is_taken(taken: int) -> None:
    with closing(opened(port=f"{taken},0")) as reporter:
        assert reporter.port not in {None, taken, 0}


def test_that_no_port_is_free_is_said_with_a_way_out(taken: int) -> None:
    with pytest.raises(MetricsNotReportedError, match=f"port {taken} is taken") as caught:
        opened(port=str(taken))

    assert "metrics.reporter.<name>.port" in str(caught.value)


def test_the_port_is_free_again_once_it_is_closed() -> None:
    first = opened(port="0")
    assert page(first)
    first.close()

    with closing(opened(port=str(first.port))) as second:
        assert page(second)


def test_one_that_was_never_opened_can_be_closed() -> None:
    PrometheusReporter().close()


@pytest.mark.parametrize("text", ["", "http", "70000", "9250-9249", "-1"])
def test_a_wrong_port_is_refused(text: str) -> None:
    with pytest.raises(InvalidConfigurationValueError, match=r"metrics\.reporter\.mine\.port"):
        opened(port=text)


def test_ports() -> None:
    assert ports_in("9249") == [9249]
    assert ports_in("9250-9252,9260") == [9250, 9251, 9252, 9260]


def test_a_client_that_says_nothing_or_goes_away_costs_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prometheus._Handler, "timeout", 0.05)
    with closing(opened(port="0")) as reporter:
        assert reporter.port is not None
        with socket.create_connection(("127.0.0.1", reporter.port), 60) as silent:
            assert silent.recv(1) == b""
        with socket.create_connection(("127.0.0.1", reporter.port), 60) as gone:
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert page(reporter)

    assert capfd.readouterr().err == ""
