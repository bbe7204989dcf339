"""Starts a query whose function runs in a Python process of the server."""

from __future__ import annotations

from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

_TOO_LATE: Final = "failed to connect back"


def started(writer: DataStreamWriter) -> StreamingQuery:
    """Start a query; once more, if its process does not come up in the ten seconds that Spark waits for it.

    A server that is busy may need more for the first, and less for the next.

    Raises:
        PySparkException: If it does not start.
    """
    try:
        return writer.start()
    except PySparkException as error:
        if not is_too_late(error):
            raise
    return writer.start()


def is_too_late(error: PySparkException) -> bool:
    """Whether a query did not start as its process has not come up."""
    return _TOO_LATE in str(error)
