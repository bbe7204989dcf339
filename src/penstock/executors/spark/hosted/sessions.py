"""Sessions of Spark Connect that the server has made: of a query, and of this process."""

from __future__ import annotations

import os
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from penstock.executors.spark.connect import is_connect

_LOCAL_URL: Final = "SPARK_CONNECT_LOCAL_URL"
_KNOWN: Final[dict[str, Any]] = {}


def session_with_id(spark: SparkSession, session_id: str) -> Any:
    """Return a session of the server, of which this process is the client.

    Args:
        spark: A session that is known.
        session_id: The id of the one that is wanted.
    """
    given: Any = spark
    if given.session_id == session_id:
        return spark
    if session_id not in _KNOWN:
        url = f"{os.environ[_LOCAL_URL]};session_id={session_id}"
        _KNOWN[session_id] = type(given).builder.remote(url).create()
    return _KNOWN[session_id]


def in_session(frame: DataFrame, spark: SparkSession) -> DataFrame:
    """Return a DataFrame as one of another session, which has the same views."""
    own: Any = frame
    if own.sparkSession is spark or not is_connect(spark):
        return frame
    found: DataFrame = type(own)(own._plan, spark)  # noqa: SLF001 - Spark has no other way
    return found
