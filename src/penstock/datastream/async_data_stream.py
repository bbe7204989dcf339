"""Asynchronous calls for the records of a stream, under the name of PyFlink's module."""

from __future__ import annotations

from penstock.datastream.streams.async_data_stream import AsyncDataStream

__all__ = [
    "AsyncDataStream",
]
