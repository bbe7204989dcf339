"""The text by which Spark's page describes what a thread has Spark do.

The Spark context alone takes it, which only classic pyspark has. A setting of the session, which Spark Connect would
take too, would also describe what others do in the session at the same time.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from pyspark.sql import SparkSession

from penstock.common.plain_text import fitted

_LONGEST: Final = 200


def page_of(spark: SparkSession) -> str | None:
    """Return where Spark's page is; None where it has none, and under Spark Connect, which does not know."""
    if isinstance(spark, SparkSession):
        with suppress(Exception):  # as below
            return spark.sparkContext.uiWebUrl
    return None


def describe(spark: SparkSession, *parts: str) -> None:
    """Say what the calling thread has Spark do from now on; under Spark Connect nothing is said.

    Args:
        spark: The session.
        parts: As the name of the job, its epoch, and what runs in that.
    """
    if isinstance(spark, SparkSession):
        with suppress(Exception):  # if the session has ended, the next call says so as it should
            spark.sparkContext.setJobDescription(fitted(" · ".join(parts), _LONGEST))
