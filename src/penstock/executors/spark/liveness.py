"""Whether the SparkSession that a job runs on is still there."""

from __future__ import annotations

from pyspark.sql import SparkSession

from penstock.errors import JavaProcessLostError, PenstockError, SessionLostError


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


def session_lost(what: str, error: PenstockError, *, can_go_on: bool) -> SessionLostError:
    """Return the error for a job whose session has ended.

    Args:
        what: What was being done, as in "Job 'x'".
        error: What it failed with.
        can_go_on: Whether a restart can build another session, and go on in it.
    """
    reason = str(error.__cause__ or error.message).partition("\n")[0]
    if can_go_on:
        return JavaProcessLostError(
            f"{what} lost its SparkSession, as Spark's Java process died: {reason}",
            hint="It was often short of memory: set spark.driver.memory, above all for large records (see "
            "'Memory' in docs/configuration.md). With a restart strategy the job goes on in a new session.",
        )
    return SessionLostError(
        f"{what} lost its SparkSession: {reason}",
        hint="The session was stopped, or its Java process died, often for want of memory: set "
        "spark.driver.memory, above all for large records (see 'Memory' in docs/configuration.md). A restart strategy can build another session only where penstock built the "
        "first, and no DataFrame or sink of the program belongs to it. Start the program again: with a "
        "checkpoint location it goes on from its last epoch.",
    )
