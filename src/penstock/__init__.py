"""The DataStream programming model of Apache Flink for Python, executed on Apache Spark."""

from __future__ import annotations

from penstock.not_here import tell_of_them

__version__ = "0.1.0"

tell_of_them()
