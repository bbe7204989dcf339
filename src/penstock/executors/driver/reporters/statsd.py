"""The reporter for StatsD: lines in datagrams."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from penstock.errors import MetricsNotReportedError
from penstock.executors.driver.reporters.prometheus_page import as_number
from penstock.metrics import MetricConfig, MetricReporter, ReportedMetric

_UNALLOWED: Final = re.compile(r"[:|@#\x00-\x1f]")
_MOST_BYTES: Final = 1_432
"""What fits into a datagram on all networks."""
_LONGEST: Final = 65_507
"""What fits into any datagram."""


class StatsDReporter(MetricReporter):
    """Sends metrics to StatsD, each number as a gauge, as Flink does.

    Its settings are `host`, which has to be set, and `port`.
    """

    def open(self, config: MetricConfig) -> None:
        host = config.get_string("host", "").strip()
        if not host:
            raise config.invalid("host", "Give the name of StatsD's host, such as localhost.")
        self._target = host, config.read("port", 8125, _port, "a port, such as 8125")
        self._socket: socket.socket | None = None

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        host, port = self._target
        try:
            if self._socket is None:
                family, kind, _, _, address = socket.getaddrinfo(
                    host, port, type=socket.SOCK_DGRAM
                )[0]
                found = socket.socket(family, kind)
                found.connect(address)
                self._socket = found
            for packet in _packets(metrics):
                self._socket.send(packet)
        except OSError as error:
            self.close()  # the host may have another address when it is back
            raise MetricsNotReportedError(
                f"StatsD at {host}:{port} does not take metrics: {error}",
                hint="Look at metrics.reporter.<name>.host and port.",
            ) from error

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _port(text: str) -> int:
    port = int(text)
    if not 0 < port <= 65_535:
        raise ValueError(text)
    return port


def _packets(metrics: Sequence[ReportedMetric]) -> Iterator[bytes]:
    packet = b""
    for metric in metrics:
        for lines in _lines(metric):
            text = lines.encode(errors="replace")
            if len(text) > _LONGEST:  # it cannot be sent, and all others can
                continue
            if packet and len(packet) + 1 + len(text) > _MOST_BYTES:
                yield packet
                packet = b""
            packet = packet + b"\n" + text if packet else text
    if packet:
        yield packet


def _lines(metric: ReportedMetric) -> Iterator[str]:
    """Yield the line of each number of a metric; of one below 0 two, that have to stay together."""
    name = _UNALLOWED.sub("-", metric.identifier)
    value = metric.value
    parts = (
        {f".{key}": part for key, part in value.items()}
        if isinstance(value, Mapping)
        else {"": value}
    )
    for suffix, part in parts.items():
        number = as_number(part)
        if number is None:
            continue
        line = f"{name}{suffix}:{number}|g"
        # StatsD takes a sign for a change of the gauge.
        yield line if number >= 0 else f"{name}{suffix}:0|g\n{line}"
