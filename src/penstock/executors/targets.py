"""Where programs run: which executors there are, and what programs may give them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from penstock import uncaught
from penstock.common.plain_text import shown_name
from penstock.errors import SparkNotFoundError
from penstock.executors.port import Executor
from penstock.executors.spark.spark_objects import described_frame, is_session

__all__ = ["close_server", "described_frame", "executor_for", "is_session", "preparing"]


def executor_for(target: str) -> Executor:
    """Return the executor for a value of `execution.target`: `spark` or `local`.

    It is imported now: a program that is only built, or explained, needs none.

    Raises:
        SparkNotFoundError: If pyspark is not installed, which only the one on Spark needs.
        SparkTooOldError: If it is older than penstock runs on.
        UnknownSparkError: If penstock is not tested with it.
        SparkPackageError: If what is installed beside it does not go with it, or is missing.
    """
    if target == "local":
        from penstock.executors.local import LocalExecutor

        return LocalExecutor()
    if importlib.util.find_spec("pyspark") is None:
        raise SparkNotFoundError(
            "The program is to run on Spark, but pyspark is not installed.",
            hint="Run: pip install 'penstock[spark]'. To try a program without Spark, set "
            "execution.target to 'local'.",
        )
    from penstock.executors.spark.versions.checks import check_pyspark, check_version

    check_version()
    try:
        from penstock.executors.spark.executor import SparkExecutor
    except Exception:
        # With packages that pyspark cannot stand this may fail in any way.
        check_pyspark()
        raise
    return SparkExecutor()


@contextmanager
def preparing(name: str) -> Iterator[None]:
    """Build a job inside that is started then: of a Ctrl-C that nothing catches one line is left.

    Args:
        name: The name of the job.
    """
    from penstock.executors.driver.interrupts import JOBS
    from penstock.executors.driver.progress.places import at_interrupt

    with JOBS.starting():
        try:
            yield
        except KeyboardInterrupt as error:
            uncaught.show_as(
                error, at_interrupt(f"{shown_name(name)}: cancelled before it started")
            )
            raise


def close_server() -> None:
    """Close the server that shows the jobs of this process, if there is one and none of them runs.

    Those who watch them learn before how they ended.
    """
    serving = sys.modules.get("penstock.executors.driver.rest.serving")
    if serving is not None:
        serving.SERVING.linger()
        serving.SERVING.close(unless_busy=True)
