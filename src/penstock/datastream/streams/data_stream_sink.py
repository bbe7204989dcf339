"""The end of a stream."""

from __future__ import annotations

from penstock.datastream.streams.operator_settings import OperatorSettings

__all__ = ["DataStreamSink"]


class DataStreamSink(OperatorSettings):
    """The end of a stream: what `print`, `add_sink` and `sink_to` return.

    Example:
        >>> from penstock.testing import local_environment
        >>> env = local_environment()
        >>> sink = env.from_collection([1, 2]).print().name("numbers").uid("numbers")
        >>> result = env.execute()
        1
        2
    """
