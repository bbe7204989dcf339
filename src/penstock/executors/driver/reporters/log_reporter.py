"""The reporter that writes metrics into the log."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock.common.plain_text import one_line
from penstock.metrics import MetricKind, MetricReporter, ReportedMetric

_LOG: Final = logging.getLogger("penstock.metrics")
_HEADS: Final = {
    MetricKind.COUNTER: "Counters",
    MetricKind.GAUGE: "Gauges",
    MetricKind.METER: "Meters",
    MetricKind.DISTRIBUTION: "Distributions",
}


class LogReporter(MetricReporter):
    """Writes all metrics into the log `penstock.metrics`, at level INFO, as one message."""

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        lines = ["Metrics"]
        for kind, head in _HEADS.items():
            found = [metric for metric in metrics if metric.kind is kind]
            if found:
                lines.append(f"-- {head}")
                lines += [
                    one_line(f"{metric.identifier}: {_shown(metric.value)}") for metric in found
                ]
        _LOG.info("%s", "\n".join(lines))


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={part}" for name, part in value.items())
    return str(value)
