"""What functions count and measure: counters, gauges, meters and distributions, in groups."""

from __future__ import annotations

from penstock.metrics.metricbase import Counter, Distribution, Meter, Metric, MetricGroup

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]
