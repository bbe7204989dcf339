"""The jars that a program names, for the session that it runs in."""

from __future__ import annotations

import functools
import logging
import os
from typing import Final

from pyspark.sql import SparkSession

from penstock.common.configuration.configuration import Configuration
from penstock.common.configuration.options import CLASSPATHS, JARS
from penstock.errors import JarsNotLoadedError

_LOG: Final = logging.getLogger("penstock")
_OF_FLINK: Final = "flink-"
_FILE: Final = "file://"


def jars_of(configuration: Configuration) -> list[str]:
    """Return the jars that a program names, as `spark.jars` wants them, without those of Flink."""
    jars = [jar for jar in configuration.get(JARS) if not _is_of_flink(jar)]
    everywhere = [url for url in configuration.get(CLASSPATHS) if not _is_of_flink(url)]
    # Spark copies what is a file, and takes what is `local` from where each machine has it.
    return jars + [
        f"local:{url.removeprefix(_FILE)}" if url.startswith(_FILE) else url for url in everywhere
    ]


def check_jars(spark: SparkSession, configuration: Configuration) -> None:
    """Make sure that a session that runs already has the jars that a program names.

    Raises:
        JarsNotLoadedError: If it has not.
    """
    wanted = jars_of(configuration)
    if not wanted:
        return
    there = {os.path.basename(row[0]) for row in spark.sql("LIST JARS").collect()}
    missing = [jar for jar in wanted if os.path.basename(jar) not in there]
    if missing:
        raise JarsNotLoadedError(
            f"The program names {', '.join(map(repr, missing))}, and the SparkSession that it is to run in was "
            "built without.",
            hint="Spark's Java process takes jars when it starts. Have penstock build the session, in a program that "
            f'has none yet; or build it with SparkSession.builder.config("spark.jars", "{",".join(wanted)}"), or '
            f"spark-submit --jars. For a data source, spark.sql(\"ADD JAR '{missing[0]}'\") will do in a session "
            "that runs.",
        )


def _is_of_flink(jar: str) -> bool:
    is_of_flink = os.path.basename(jar).startswith(_OF_FLINK)
    if is_of_flink:
        _say_once(jar)
    return is_of_flink


@functools.cache
def _say_once(jar: str) -> None:
    _LOG.warning("%s is Flink's, and left out: Spark reads and writes with jars of its own.", jar)
