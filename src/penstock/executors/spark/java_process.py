"""The Java process of Spark's driver that this process started, and what to do when it has died.

Only classic pyspark starts one. It asks the one it knows for ever, and has no public way to start another.
"""

from __future__ import annotations

import subprocess
from contextlib import suppress
from typing import Final

from pyspark.sql import SparkSession

from penstock.executors.spark.connect import is_client_alone

_PATIENCE: Final = 5.0
"""How many seconds a process may take to end whose connections are gone."""


def java_process() -> subprocess.Popen[bytes] | None:
    """Return the Java process of Spark's driver, if this process started it."""
    if is_client_alone():
        return None
    from pyspark import SparkContext

    gateway = SparkContext._gateway  # noqa: SLF001 - see above
    return getattr(gateway, "proc", None)


def has_died(process: subprocess.Popen[bytes] | None) -> bool:
    """Tell whether a Java process, to which nobody could talk any more, has died."""
    if process is None:
        return False
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        return False
    return True


def forget_dead_process() -> None:
    """Have pyspark start another Java process with the next session, if the one it knows has died."""
    from pyspark import SparkContext

    process = java_process()
    if process is None or process.poll() is None:
        return
    context = SparkContext._active_spark_context  # noqa: SLF001
    for _ in range(0 if context is None else 2):
        # The first time it finds that nobody is there, the second time it tidies up.
        with suppress(Exception):
            context.stop()  # type: ignore[union-attr]
    SparkContext._active_spark_context = None  # noqa: SLF001
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
    SparkSession._instantiatedSession = None  # noqa: SLF001
