"""The Spark session that a job runs in."""

from __future__ import annotations

import importlib.resources
import os
import re
import socket
import sys
from typing import Any, Final

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from penstock.common.configuration import Configuration
from penstock.errors import PortInUseError
from penstock.executors.spark.java import ensure_java

_LOG_WRITER: Final = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
"""Writes the logs of a streaming query. Measured: the one that Spark would choose starts a process for
the permissions of each local file, which takes 70 ms of an epoch."""


def session(given: Any, configuration: Configuration) -> SparkSession:
    """Return the session to run in: the one given, the active one, or a new one.

    A new one runs on this machine's cores, keeps its log quiet, starts its workers with the running
    interpreter, and opens no port for Spark's UI unless `rest.port` asks for it.

    Raises:
        PortInUseError: If the port of the UI is taken.
        JavaNotFoundError: If there is no Java to start Spark with.
    """
    found = given or SparkSession.getActiveSession()
    return found if found is not None else _build(configuration)


def _build(configuration: Configuration) -> SparkSession:
    ensure_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    logging = importlib.resources.files("penstock.executors.spark") / "log4j2.properties"
    options = {
        "spark.app.name": "penstock",
        "spark.master": "local[*, 4]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Stack: Spark matches the text of a failed micro-batch with a deeply recursive pattern.
        # Collector: measured, a small epoch takes a tenth less than with Java's usual one.
        "spark.driver.extraJavaOptions": (
            f"-Xss8m -XX:+UseParallelGC -Dlog4j2.configurationFile=file:{logging}"
        ),
        # Measured: planning by stage costs a small epoch more than a better plan could gain it.
        "spark.sql.adaptive.enabled": "false",
        # Measured: over TCP each task with a Python worker waits 40 ms for a delayed acknowledgement.
        "spark.python.unix.domain.socket.enabled": "true",
    }
    port = configuration.get_integer("rest.port", 0)
    if port:
        _check_free(port)
        options |= {"spark.ui.enabled": "true", "spark.ui.port": str(port)}
    options |= {
        key: str(value)
        for key, value in configuration.to_dict().items()
        if key.startswith("spark.")
    }
    if options["spark.master"].startswith("local") and pyspark.__version__.startswith("4.3."):
        options.setdefault("spark.sql.streaming.checkpointFileManagerClass", _LOG_WRITER)
    builder = SparkSession.builder
    for key, value in options.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _check_free(port: int) -> None:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise PortInUseError(
                f"Port {port}, which rest.port asks for, is in use: {error}.",
                hint="Choose another port, or leave rest.port out to open none.",
            ) from error


def cores_of(spark: SparkSession) -> int:
    """Return how many tasks a session runs at once."""
    master = spark.conf.get("spark.master", "") or ""
    local = re.fullmatch(r"local(?:\[\s*(\*|\d+)\s*(?:,.*)?\])?", master)
    if local is None:
        partition = sf.spark_partition_id()
        return max(spark.range(1 << 12).select(partition).distinct().count(), 1)
    count = local.group(1)
    return (os.cpu_count() or 1) if count == "*" else int(count or 1)


def is_local(spark: SparkSession) -> bool:
    """Whether the session's tasks run in this machine's own process."""
    return (spark.conf.get("spark.master", "") or "").startswith("local")


def time_zone_of(spark: SparkSession) -> str:
    """Return the session's time zone."""
    return spark.conf.get("spark.sql.session.timeZone") or "UTC"
