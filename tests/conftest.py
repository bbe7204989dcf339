from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent

# Spark's workers import test modules by name, as this process does.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
os.environ["PYSPARK_PYTHON"] = sys.executable

# A busy machine makes any deadline flaky.
settings.register_profile("dev", deadline=None, max_examples=100)
settings.register_profile(
    "ci",
    deadline=None,
    max_examples=50,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one SparkSession that all tests marked `spark` share."""
    from pyspark.sql import SparkSession

    from penstock.executors.spark.java import ensure_java

    ensure_java()
    session = (
        SparkSession.builder.master("local[2, 4]")
        .appName("penstock tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        # Spark matches the text of a failed micro-batch with a deeply recursive pattern.
        .config("spark.driver.extraJavaOptions", "-Xss8m")
        .getOrCreate()
    )
    yield session
    session.stop()
