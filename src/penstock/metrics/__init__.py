"""What functions count and measure, in groups, and the base class of reporters, which take it to where it is seen."""

from __future__ import annotations

from penstock.metrics.metricbase import Counter, Distribution, Meter, Metric, MetricGroup
from penstock.metrics.reporter import MetricConfig, MetricKind, MetricReporter, ReportedMetric

__all__ = [
    "Counter",
    "Distribution",
    "Meter",
    "Metric",
    "MetricConfig",
    "MetricGroup",
    "MetricKind",
    "MetricReporter",
    "ReportedMetric",
]
