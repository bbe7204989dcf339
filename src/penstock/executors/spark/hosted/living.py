"""Which driver runs a job at a checkpoint location on a server, by the signs of life that it gives."""

from __future__ import annotations

import time
from typing import Final

from pyspark.sql import SparkSession

from penstock.executors.spark.hosted.mailbox import drivers_at
from penstock.executors.spark.hosted.reports import ReportName

_SECONDS_FOR_SIGN: Final = 4.0
_POLL_SECONDS: Final = 0.5


def living_driver(
    spark: SparkSession, location: str, seconds: float = _SECONDS_FOR_SIGN
) -> str | None:
    """Return the folder of a driver that gives signs of life; None if none does for some seconds.

    Args:
        spark: The session.
        location: The checkpoint location.
        seconds: For how long.
    """
    before = _unended(spark, location)
    until = time.monotonic() + seconds
    while before and time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
        for folder, names in _unended(spark, location).items():
            if names != before.get(folder):
                return folder
    return None


def _unended(spark: SparkSession, location: str) -> dict[str, set[ReportName]]:
    return {
        folder: set(names)
        for folder, names in drivers_at(spark, location).items()
        if not any(name.is_end for name in names)
    }
