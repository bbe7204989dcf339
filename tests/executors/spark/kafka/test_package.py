from __future__ import annotations

import os
import re
from pathlib import Path

import pyspark
import pytest

from penstock.errors import KafkaConnectorNotFoundError
from penstock.executors.spark.kafka.package import connector_package, resolved


def test_the_package_is_of_the_spark_and_the_scala_that_are_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    version = re.escape(pyspark.__version__)
    name = r"org\.apache\.spark:spark-sql-kafka-0-10_"
    assert re.fullmatch(rf"{name}2\.1\d:{version}", connector_package())
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "scala-library-3.8.1.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert re.fullmatch(rf"{name}3\.8:{version}", connector_package())


def start(packages: str, message: str) -> None:
    """Start a Spark that fails."""
    with resolved(packages):
        given = os.environ["SPARK_SUBMIT_OPTS"]
        assert given.startswith(
            "-Done=1 -Dsun.net.client.defaultConnect" if packages else "-Done=1"
        )
        raise RuntimeError(message)


def test_that_spark_does_not_start_with_a_package_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Done=1")
    with pytest.raises(KafkaConnectorNotFoundError, match=r"a:b:1(.|\n)*spark\.jars\.packages"):
        start("a:b:1", "[JAVA_GATEWAY_EXITED] Java gateway process exited")
    assert os.environ["SPARK_SUBMIT_OPTS"] == "-Done=1"
    for packages, message in (("", "JAVA_GATEWAY_EXITED"), ("a:b:1", "other")):
        with pytest.raises(RuntimeError, match=message):
            start(packages, message)
