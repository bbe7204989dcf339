"""Streams and what they end in, under the name of PyFlink's module."""

from __future__ import annotations

from penstock.datastream.streams.closeable_iterator import CloseableIterator
from penstock.datastream.streams.data_stream import (
    AllWindowedStream,
    CachedDataStream,
    DataStream,
    KeyedStream,
    WindowedStream,
)
from penstock.datastream.streams.stream_outputs import DataStreamSink
from penstock.datastream.streams.two_streams import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
)

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CachedDataStream",
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
    "WindowedStream",
]
