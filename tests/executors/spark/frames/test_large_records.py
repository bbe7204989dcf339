"""Large records on a driver with little memory, which Spark by itself has room for."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.spark

SCRIPT = """
from pyspark.sql import functions as sf

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.executors.spark.session import session

configuration = Configuration()
configuration.set_string("spark.master", "local[2, 4]")
configuration.set_string("spark.driver.memory", "1g")
spark = session(None, configuration)
large = sf.concat(sf.col("id").cast("string"), sf.expr("repeat('x', 100000)"))
rows = spark.range(0, 5000, 1, 2).select((sf.col("id") % 2).alias("key"), large.alias("text"))
env = StreamExecutionEnvironment.get_execution_environment(configuration)
lengths = env.from_data_frame(rows).key_by("key").map(lambda row: len(row.text))
print("found", sum(length - 100000 for length in lengths.execute_and_collect()))
"""


def test_a_driver_of_one_gigabyte_lives() -> None:
    job = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=110, check=False
    )

    assert job.returncode == 0, job.stderr[-3000:]
    assert job.stdout.splitlines()[-1] == f"found {10 + 2 * 90 + 3 * 900 + 4 * 4000}"
