"""A server of Spark Connect on loopback, a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.servers.processes import Session
from tests.servers.spark_cluster import SPARK_HOME, wait_for_line

from penstock.executors.spark.java import ensure_java
from penstock.executors.spark.versions.features import Feature, has

NEEDS_CONNECT = pytest.mark.skipif(
    not has(Feature.CONNECT), reason="this Spark has no Spark Connect that penstock runs on"
)

_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_SETTINGS = {
    "spark.master": "local[2, 4]",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-Xss8m",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


class ConnectServer:
    """A server, until it is closed; it ends with this process.

    Args:
        folder: Where it works.
        python: The interpreter of its workers.
        settings: What it is started with beside.

    Attributes:
        url: Where clients find it, as `sc://...`.
        session: The session of the operating system that all its processes are in.
    """

    def __init__(
        self, folder: Path, python: str = sys.executable, settings: Mapping[str, str] | None = None
    ) -> None:
        ensure_java()
        folder.mkdir(parents=True, exist_ok=True)
        hidden = {"SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"}
        environment = {key: value for key, value in os.environ.items() if key not in hidden}
        environment |= {
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": python,
        }
        given = {
            **_SETTINGS,
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            **(settings or {}),
        }
        options = [part for pair in given.items() for part in ("--conf", "=".join(pair))]
        command = [str(SPARK_HOME / "bin" / "spark-submit"), "--class", _SERVER, *options]
        self._session = Session([*command, "spark-internal"], environment, stderr=subprocess.PIPE)
        try:
            address = wait_for_line(self._session, r"Spark Connect server started at: (\S+)")
        except BaseException:
            self.close()
            raise
        self.session = self._session.id
        self.url = f"sc://127.0.0.1:{address.rpartition(':')[2]}"

    def kill(self) -> None:
        """Kill it as a power cut would."""
        self._session.kill()

    def close(self) -> None:
        """End it, with everything it started."""
        self._session.end()
