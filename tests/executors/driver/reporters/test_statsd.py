"""StatsD is sent lines in datagrams, here to a real socket."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.executors.driver.reporters.metrics import OF_EACH_KIND, config, metric

from penstock.errors import InvalidConfigurationValueError, MetricsNotReportedError
from penstock.executors.driver.reporters.statsd import StatsDReporter, _packets
from penstock.metrics import MetricKind, ReportedMetric

LINE = re.compile(r"[^:|@#\n]+:-?[0-9][0-9.e+-]*\|g")
BEFORE = "h1.taskmanager.driver.my job.Sum- a.0."


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with closing(socket.socket(type=socket.SOCK_DGRAM)) as found:
        found.bind(("127.0.0.1", 0))
        found.settimeout(60)
        yield found


def opened(server: socket.socket) -> StatsDReporter:
    reporter = StatsDReporter()
    reporter.open(config(host="127.0.0.1", port=str(server.getsockname()[1])))
    return reporter


def test_numbers_are_sent_as_gauges(server: socket.socket) -> None:
    with closing(opened(server)) as reporter:
        reporter.report(OF_EACH_KIND)

    assert server.recv(65_536).decode().split("\n") == [
        f"{BEFORE}numRecordsIn:30|g",
        f"{BEFORE}lag:0|g",
        f"{BEFORE}lag:-5|g",
        f"{BEFORE}isBackPressured:1|g",
        f"{BEFORE}parser.rowsPerSecond.count:9|g",
        f"{BEFORE}parser.rowsPerSecond.rate:1.5|g",
        f"{BEFORE}parser.size.p50:1.0|g",
        f"{BEFORE}parser.size.p95:2.0|g",
        f"{BEFORE}parser.size.p99:3.0|g",
        f"{BEFORE}parser.size.max:4.0|g",
    ]


def test_many_are_sent_in_several_datagrams(server: socket.socket) -> None:
    many = [metric(f"m{number}", MetricKind.COUNTER, number) for number in range(200)]

    with closing(opened(server)) as reporter:
        reporter.report(many)

    lines: list[str] = []
    while len(lines) < 200:
        packet = server.recv(65_536)
        assert len(packet) <= 1_432
        lines += packet.decode().split("\n")
    assert lines == [f"{BEFORE}m{number}:{number}|g" for number in range(200)]


def test_a_line_that_no_datagram_holds_keeps_no_other_back(server: socket.socket) -> None:
    long = metric("m" * 70_000, MetricKind.COUNTER, 1)

    with closing(opened(server)) as reporter:
        reporter.report([long, metric("fine", MetricKind.COUNTER, 2)])

    assert server.recv(65_536).decode() == f"{BEFORE}fine:2|g"


@given(st.lists(st.tuples(st.text(min_size=1), st.integers() | st.floats()), max_size=60))
def test_whatever_names_there_are_each_line_is_one(named: list[tuple[str, float]]) -> None:
    metrics = [metric(name, MetricKind.GAUGE, value) for name, value in named]

    for packet in _packets(metrics):
        assert all(LINE.fullmatch(line) for line in packet.decode().split("\n"))


def test_a_host_that_there_is_not_is_named_and_asked_for_again() -> None:
    reporter = StatsDReporter()
    reporter.open(config(host="no-such-host.invalid"))

    for _ in range(2):
        with pytest.raises(MetricsNotReportedError, match=r"no-such-host\.invalid:8125"):
            reporter.report(OF_EACH_KIND)


@pytest.mark.parametrize(
    ("key", "settings"),
    [("host", {}), ("port", {"host": "h", "port": "0"}), ("port", {"host": "h", "port": "x"})],
)
def test_a_wrong_setting_is_refused(key: str, settings: dict[str, str]) -> None:
    with pytest.raises(InvalidConfigurationValueError, match=rf"metrics\.reporter\.mine\.{key}"):
        StatsDReporter().open(config(**settings))


def test_what_is_no_number_is_left_out() -> None:
    assert list(_packets([metric("a", MetricKind.GAUGE, "text")])) == []
    nothing: list[ReportedMetric] = []
    assert list(_packets(nothing)) == []
