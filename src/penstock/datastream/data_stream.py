"""Streams and what they end in, under the name of PyFlink's module."""

from __future__ import annotations

from penstock.datastream.all_windowed_stream import AllWindowedStream
from penstock.datastream.broadcast_stream import BroadcastConnectedStream, BroadcastStream
from penstock.datastream.closeable_iterator import CloseableIterator
from penstock.datastream.connected_streams import ConnectedStreams
from penstock.datastream.data_stream_sink import DataStreamSink
from penstock.datastream.keyed_stream import KeyedStream
from penstock.datastream.stream import DataStream
from penstock.datastream.windowed_stream import WindowedStream

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
    "WindowedStream",
]
