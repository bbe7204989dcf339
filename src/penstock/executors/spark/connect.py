"""What is different where a session is one of Spark Connect: a client of a Spark that runs elsewhere.

This process has no Java, and may have no more of pyspark than the client. Whatever it could learn of workers from its
own environment says nothing about those of the server.
"""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Any, Final

import pyspark
from pyspark.sql import DataFrame, SparkSession

from penstock.common.configuration.configuration import Configuration
from penstock.common.configuration.remarks import say_once
from penstock.errors import (
    InvalidArgumentError,
    SparkPackageError,
    SparkServerNotNamedError,
    SparkTooOldError,
    StreamingOnConnectError,
)
from penstock.executors.spark.versions.features import Feature, Version, has, version_of

_REMOTE: Final = "spark.remote"
_CONNECT: Final = "pyspark.sql.connect."
_ENDING: Final[weakref.WeakSet[SparkSession]] = weakref.WeakSet()


def is_client_alone() -> bool:
    """Whether the client of Spark Connect is all there is of pyspark here: no Spark, no Java, and no py4j."""
    return not hasattr(pyspark, "SparkContext")


def is_connect(spark: SparkSession) -> bool:
    """Whether a session is a client of a Spark that runs elsewhere."""
    # What its class is in cannot be imported where the packages of the client are not installed.
    return any(kind.__module__.startswith(_CONNECT) for kind in type(spark).__mro__)


def is_elsewhere(spark: SparkSession) -> bool:
    """Whether a session is a client of a Spark that this process did not start, as `remote("local")` does."""
    return is_connect(spark) and "SPARK_LOCAL_REMOTE" not in os.environ


def refuse_connector(spark: SparkSession, what: str) -> None:
    """Refuse a stream of Spark's connector for Kafka, if the session is one of Spark Connect: it is for the server.

    Args:
        spark: The session.
        what: What is to run, as in "Job 'x'".

    Raises:
        StreamingOnConnectError: If it is.
    """
    if is_connect(spark):
        raise StreamingOnConnectError(
            f"{what} reads topics of Kafka by Spark's connector, as Python cannot here, and its SparkSession is one of Spark "
            "Connect, where the driver's side of such a job runs on the server.",
            hint="Set kafka.reader to 'spark', and execution.checkpointing.dir to a place that the server and its workers "
            "reach. Or let Python read: pip install 'penstock[kafka]'. See docs/spark-connect.md.",
        )


def refuse_other_session(spark: SparkSession, frame: DataFrame, name: str) -> None:
    """Refuse a DataFrame of another session of Spark Connect, whose workers do not get what the job's get.

    Args:
        spark: The session that the job runs in.
        frame: The DataFrame.
        name: What reads it.

    Raises:
        InvalidArgumentError: If it is of another.
    """
    if is_connect(spark) and frame.sparkSession.session_id != spark.session_id:  # type: ignore[attr-defined]
        raise InvalidArgumentError(
            f"{name!r} reads a DataFrame of another SparkSession than the one that the job runs in.",
            hint="Have the job run in that one: StreamExecutionEnvironment.get_execution_environment("
            "spark=frame.sparkSession).",
        )


def client_lacks(error: ImportError) -> SparkPackageError:
    """Return the error for a session that is not built, as the client of Spark Connect lacks a package."""
    return SparkPackageError(
        f"The client of Spark Connect lacks a package: {error}",
        hint="Run: pip install 'penstock[connect]'. With the whole of Spark: pip install 'pyspark[connect]'.",
    )


def check_server(spark: SparkSession) -> None:
    """Make sure that a client of Spark Connect can do what penstock asks, and its server what the client will ask.

    Raises:
        SparkTooOldError: If it does not.
    """
    if not is_connect(spark):
        return
    if not has(Feature.CONNECT):
        raise SparkTooOldError(
            f"penstock runs on Spark Connect from Spark 4.0 on, and pyspark {pyspark.__version__} is installed.",
            hint="Run the program in a classic session: SparkSession.builder.master(...), or spark-submit. Or install a newer "
            "pyspark, of the version of the server. See docs/spark-connect.md.",
        )
    text = spark.version
    _refuse_older_server(text, Feature.CONNECT)
    _refuse_older_server(text, Feature.PARTITIONS_BY_ID)
    client, server = version_of(pyspark.__version__), version_of(text)
    if client is not None and server is not None and client > server:
        say_once(
            f"{client} {server}",
            f"The server of Spark Connect runs Spark {text}, and its client here is {pyspark.__version__}: Spark lets older "
            f"clients work with newer servers, not the reverse. {_client_of(server)}",
        )


def _refuse_older_server(text: str, feature: Feature) -> None:
    """Refuse a server that lacks what its client, of a newer version, asks for."""
    server = version_of(text)
    if not has(feature) or server is None or server >= feature.since:
        return
    since = ".".join(map(str, feature.since))
    raise SparkTooOldError(
        f"The server of Spark Connect runs Spark {text}, and its client here, which is {pyspark.__version__}, asks for what "
        f"Spark has from {since} on.",
        hint="Connect to a newer server, or run the program in a classic session."
        if feature is Feature.CONNECT
        else f"{_client_of(server)} Or connect to a newer server, or run the program in a classic session.",
    )


def _client_of(server: Version) -> str:
    number = ".".join(map(str, server))
    return f"Install a client of the server's version: pip install 'pyspark-client=={number}.*', or pyspark of that version."


def ends_at_once(spark: SparkSession) -> None:
    """Have this process, when it ends, not wait for a server that is gone: Spark's client would ask that for ten minutes."""
    if is_connect(spark) and spark not in _ENDING:
        _ENDING.add(spark)
        client: Any = spark.client
        # What is registered last is called first: before Spark's own.
        atexit.register(client.set_retry_policies, [])


def server_of(configuration: Configuration) -> str | None:
    """Return the server that a session which is built is to be a client of, as "sc://host"; None if nothing names one.

    Raises:
        SparkServerNotNamedError: If it has to be one, as the client is all there is of pyspark here.
    """
    given = configuration.to_dict().get(_REMOTE) or os.environ.get("SPARK_REMOTE")
    if is_client_alone() and not (given or "").startswith("sc://"):
        raise SparkServerNotNamedError(
            "The program is to run on Spark, and of that only the client is installed here, which needs a server"
            f"{'' if given is None else f' that runs already, and starts none for {given!r}'}.",
            hint="Name the server: SPARK_REMOTE=sc://host:15002, or SparkSession.builder.remote(...) in the program. "
            "Without a server, pip install 'penstock[spark]' in place of pyspark-client, or set execution.target to "
            "'local'.",
        )
    return given
