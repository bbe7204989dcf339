"""Which versions of Spark penstock runs on."""

from __future__ import annotations

import re
from typing import Final

import pyspark
from pyspark.sql import SparkSession

from penstock.errors import SparkTooOldError

_OLDEST: Final = (4, 2)
_HINT: Final = "Run: pip install 'penstock[spark]'. A cluster, or a server of Spark Connect, needs that version too."


def check_pyspark() -> None:
    """Make sure that the pyspark that is installed is not too old.

    Raises:
        SparkTooOldError: If it is.
    """
    _check(pyspark.__version__, "pyspark")


def check_session(spark: SparkSession) -> None:
    """Make sure that the Spark of a session is not too old.

    Raises:
        SparkTooOldError: If it is.
    """
    _check(spark.version, "the SparkSession runs Spark")


def _check(version: str, what: str) -> None:
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is not None and (int(found[1]), int(found[2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        where = f"{what} {version}" if " " in what else f"{what} {version} is installed"
        raise SparkTooOldError(
            f"penstock runs on Spark {oldest} and newer, and {where}.", hint=_HINT
        )
