"""Sessions of Spark Connect that the server has made: of a query, and of this process."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from penstock.executors.spark.connect import is_connect

_LOCAL_URL: Final = "SPARK_CONNECT_LOCAL_URL"
_SECONDS_BETWEEN_CALLS: Final = 10.0
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
    found = _KNOWN.get(session_id)
    if found is None:
        url = f"{os.environ[_LOCAL_URL]};session_id={session_id}"
        found = _KNOWN[session_id] = type(given).builder.remote(url).create()
    return found


def keep_sessions_open(spark: SparkSession, session_id: str) -> None:
    """Have the server keep the sessions of a job as long as this process runs: it closes one that nobody asks for an hour.

    With a session end the queries that were started in it.

    Args:
        spark: The session of this process.
        session_id: That of the client, which may be gone.
    """

    def ask_for() -> None:
        while True:
            time.sleep(_SECONDS_BETWEEN_CALLS)
            with suppress(Exception):  # it is asked for again
                session_with_id(spark, session_id)
            with suppress(Exception):
                _touch(spark)
            for known, session in list(_KNOWN.items()):
                try:
                    _touch(session)
                except Exception:  # noqa: BLE001 - that of a query which has ended is closed
                    _KNOWN.pop(known, None)

    threading.Thread(target=ask_for, name="sessions", daemon=True).start()


def _touch(session: Any) -> None:
    session.conf.get("spark.app.name", None)


def in_session(frame: DataFrame, spark: SparkSession) -> DataFrame:
    """Return a DataFrame as one of another session, which has the same views."""
    own: Any = frame
    if own.sparkSession is spark or not is_connect(spark):
        return frame
    found: DataFrame = type(own)(own._plan, spark)  # noqa: SLF001 - Spark has no other way
    return found
