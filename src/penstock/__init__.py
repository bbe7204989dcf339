"""The DataStream programming model of Apache Flink for Python, executed on Apache Spark."""

from __future__ import annotations

__version__ = "0.1.0"
