"""Sessions of Spark Connect for those who look at what runs, and do not wait for a server that is gone."""

from __future__ import annotations

import atexit
import warnings
from contextlib import suppress
from typing import Any

from pyspark.sql import SparkSession

from penstock.executors.spark.connect import client_lacks

_MOST_RETRIES = 2


def brief_session(server: str) -> SparkSession:
    """Return a session of its own, in which a call fails soon that no server answers.

    Args:
        server: The server, as "sc://host:15002".

    Raises:
        SparkPackageError: If the client of Spark Connect lacks a package.
    """
    try:
        from pyspark.sql.connect.client.retries import DefaultPolicy
        from pyspark.sql.connect.session import SparkSession as ConnectSession
    except ImportError as error:
        raise client_lacks(error) from error
    # That a server does not answer is said otherwise.
    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")
    found: SparkSession = ConnectSession.builder.remote(server).create()  # type: ignore[assignment]
    found.client.set_retry_policies([DefaultPolicy(max_retries=_MOST_RETRIES)])
    atexit.register(_close, found)
    return found


def _close(spark: Any) -> None:
    """Close a session while threads still run: later, as Spark does it where nobody has, that may wait for one for ever."""
    with suppress(Exception):
        spark.client.close()


def let_go_at_end(spark: SparkSession) -> None:
    """Have a server forget a session when this process ends, not only after an hour: call it if the server answers."""
    atexit.register(spark.stop)
