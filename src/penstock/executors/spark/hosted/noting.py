"""Has jobs noted on this machine that run on a server: the command `penstock` finds them when their client is gone."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from penstock.executors.spark.connect import is_elsewhere
from penstock.job_notes import JobNote


def note_of(spark: SparkSession, location: str, job_id: str, name: str) -> JobNote | None:
    """Return the note of a job; None if its server ends with this process, or nothing says where it is.

    Args:
        spark: The job's session.
        location: Its checkpoint location.
        job_id: Its id.
        name: Its name.
    """
    server = _server_of(spark) if is_elsewhere(spark) else None
    return None if server is None else JobNote(server, location, job_id, name)


def _server_of(spark: SparkSession) -> str | None:
    """Return the address of a session's server, without the secrets that its URL may have."""
    client: Any = getattr(spark, "client", None)
    builder = getattr(client, "_builder", None)
    endpoint = getattr(builder, "endpoint", None)
    if not isinstance(endpoint, str):
        return None
    return f"sc://{endpoint}{'/;use_ssl=true' if getattr(builder, 'use_ssl', False) else ''}"
