"""The package of Spark's connector for Kafka, in the version of the Spark that is here."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyspark

from penstock.errors import KafkaConnectorNotFoundError

_MODULE: Final = "spark-sql-kafka-0-10"
_OPTIONS: Final = "SPARK_SUBMIT_OPTS"
_TIMEOUTS: Final = (
    "-Dsun.net.client.defaultConnectTimeout=20000 -Dsun.net.client.defaultReadTimeout=60000"
)
_LIBRARY: Final = re.compile(r"scala-library-(\d+\.\d+)\.\d+\.jar")
_SCALA: Final = "2.13"
"""The Scala of Spark 4, for where Spark's jars cannot be seen."""


def connector_package() -> str:
    """Return the package as `spark.jars.packages` wants it, of the Spark and the Scala that are here."""
    return f"org.apache.spark:{_MODULE}_{_scala_version()}:{pyspark.__version__}"


def _scala_version() -> str:
    found = importlib.util.find_spec("pyspark")
    homes = list(found.submodule_search_locations or ()) if found is not None else []
    for home in (os.environ.get("SPARK_HOME"), *homes):
        for jar in Path(home, "jars").glob("scala-library-*.jar") if home else ():
            if match := _LIBRARY.fullmatch(jar.name):
                return match[1]
    return _SCALA


@contextmanager
def resolved(packages: str) -> Iterator[None]:
    """Start Spark inside, which fetches packages; a server that is silent is given up.

    Args:
        packages: The packages, separated by commas; empty for none.

    Raises:
        KafkaConnectorNotFoundError: If there are some, and Spark does not start.
    """
    if not packages:
        yield
        return
    before = os.environ.get(_OPTIONS)
    os.environ[_OPTIONS] = " ".join(filter(None, [before, _TIMEOUTS]))
    try:
        yield
    except Exception as error:
        if "JAVA_GATEWAY_EXITED" not in str(error):
            raise
        raise KafkaConnectorNotFoundError(
            f"Spark did not start with {packages}, which is to read topics of Kafka: what it printed above "
            "says whether Maven Central has no such version, or cannot be reached.",
            hint="Set spark.jars.packages to the version that is nearest to Spark's own, or spark.jars to its jars. "
            'Without Java, `pip install "penstock[kafka]"` and kafka.reader: python read topics as well.',
        ) from error
    finally:
        if before is None:
            os.environ.pop(_OPTIONS, None)
        else:
            os.environ[_OPTIONS] = before
