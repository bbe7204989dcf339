"""Where streams are read from and written to."""

from __future__ import annotations

from penstock.datastream.connectors.base import Sink, Source
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.datastream.connectors.spark import SparkSink

__all__ = ["NumberSequenceSource", "Sink", "Source", "SparkSink"]
