"""Whether the SparkSession that a job runs on is still there."""

from __future__ import annotations

from pyspark.sql import SparkSession

from penstock.errors import PenstockError, SessionLostError


def is_alive(spark: SparkSession, error: PenstockError | None = None) -> bool:
    """Tell whether a session can still run something.

    Args:
        spark: The session.
        error: What it failed with last.
    """
    if error is not None and "stopped SparkContext" in error.message:
        return False
    try:
        spark.range(1).schema  # noqa: B018 - asks the JVM, and runs nothing
    except Exception:  # noqa: BLE001 - a session that has ended raises one thing or another
        return False
    return True


def session_lost(what: str, error: PenstockError) -> SessionLostError:
    """Return the error for a job whose session has ended.

    Args:
        what: What was being done, as in "Job 'x'".
        error: What it failed with.
    """
    return SessionLostError(
        f"{what} lost its SparkSession: {error.message}",
        hint="The session was stopped, or its Java process died. Start the program again: with a "
        "checkpoint location it goes on from its last epoch.",
    )
