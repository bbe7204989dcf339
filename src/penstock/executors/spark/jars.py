"""The jars that a program names, for the session that it runs in."""

from __future__ import annotations

import os
from typing import Final

from pyspark.sql import SparkSession

from penstock.common.configuration.configuration import Configuration
from penstock.common.configuration.files import is_of_flink
from penstock.common.configuration.options import CLASSPATHS, JARS
from penstock.common.configuration.remarks import say_once
from penstock.errors import JarsNotLoadedError

_FILE: Final = "file://"


def jars_of(configuration: Configuration) -> list[str]:
    """Return the jars that a program names, as `spark.jars` wants them, without those of Flink."""
    jars = _without_those_of_flink(configuration.get(JARS))
    everywhere = _without_those_of_flink(configuration.get(CLASSPATHS))
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


def _without_those_of_flink(jars: list[str]) -> list[str]:
    for jar in filter(is_of_flink, jars):
        say_once(
            jar, f"{jar} is Flink's, and left out: Spark reads and writes with jars of its own."
        )
    return [jar for jar in jars if not is_of_flink(jar)]
