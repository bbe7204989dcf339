from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

StreamOf = Callable[..., "DataFrame"]


@pytest.fixture
def env(spark: SparkSession) -> StreamExecutionEnvironment:
    """An environment of parallelism 2, whose streaming jobs end with the input that is there."""
    configuration = Configuration().set_string("execution.epoch.available-now", "true")
    return StreamExecutionEnvironment.get_execution_environment(
        configuration, spark=spark
    ).set_parallelism(2)


@pytest.fixture
def stream_of(spark: SparkSession, tmp_path: Path) -> StreamOf:
    """Make a streaming frame that reads one file of a folder in each micro-batch."""

    def make(schema: str, *epochs: list[dict[str, Any]], name: str = "rows") -> DataFrame:
        folder = tmp_path / name
        folder.mkdir()
        for number, rows in enumerate(epochs):
            path = folder / f"{number}.json"
            path.write_text("\n".join(map(json.dumps, rows)))
            os.utime(path, (number, number))  # Spark reads the oldest file first
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        return reader.json(str(folder))

    return make
