"""Streams and what they end in, under the name of PyFlink's module."""

from __future__ import annotations

from penstock.datastream.closeable_iterator import CloseableIterator
from penstock.datastream.data_stream_sink import DataStreamSink
from penstock.datastream.keyed_stream import KeyedStream
from penstock.datastream.stream import DataStream

__all__ = ["CloseableIterator", "DataStream", "DataStreamSink", "KeyedStream"]
