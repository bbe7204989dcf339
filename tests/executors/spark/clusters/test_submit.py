"""`spark-submit`: a program that makes no session runs where it was submitted to."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.servers.spark_cluster import SOON_READY, SPARK_HOME, SparkCluster

pytestmark = pytest.mark.spark

SCRIPT = """
import json
import os

from pyspark.sql import SparkSession

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment


def folder_of_task(number):
    return number, os.getcwd()


interval = Configuration().set_string("execution.progress.interval", "200 ms")
env = StreamExecutionEnvironment.get_execution_environment(interval).set_parallelism(1)
found = list(env.from_collection([1, 2, 3]).map(folder_of_task).execute_and_collect())
conf = SparkSession.getActiveSession().conf
said = [conf.get(key) for key in ("spark.master", "spark.app.name", "spark.sql.adaptive.enabled")]
print(json.dumps([found, said]))
"""


@pytest.mark.timeout(180)
def test_a_submitted_program_runs_where_it_was_submitted_to(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with closing(SparkCluster(tmp_path, workers=1)) as cluster:
        run = subprocess.run(
            [
                *(str(SPARK_HOME / "bin" / "spark-submit"), "--master", cluster.master),
                *("--name", "submitted", "--conf", "spark.sql.adaptive.enabled=true"),
                *("--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1"),
                *("--conf", f"spark.executor.extraJavaOptions={SOON_READY}"),
                *("--conf", "spark.executor.memory=512m", "--conf", "spark.log.level=ERROR"),
                str(script),
            ],
            env=os.environ | {"PYSPARK_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert run.returncode == 0, run.stderr
    found, said = json.loads(run.stdout.splitlines()[-1])
    assert [number for number, _ in found] == [1, 2, 3]
    # An executor of the cluster works in a folder of its own below that of its worker.
    assert all(folder.startswith(str(tmp_path / "work")) for _, folder in found), found
    assert said == [cluster.master, "submitted", "true"]
    # To this spark-submit adds what the program writes to its standard error.
    check_progress(run.stdout)


def check_progress(log: str) -> None:
    """Check that a log without a terminal says how a job is doing, and how it ended."""
    told = re.findall(r"^\S+ \S+ INFO penstock: (DataStream Collect: .*)", log, re.MULTILINE)
    assert any("starting Spark" in line for line in told), log
    assert any(re.search(r"first epoch, \d+ s", line) for line in told), log
    assert re.match(r".*: finished after [\d.]+ s · 3 records · 1 epoch", told[-1]), log
    assert len([line for line in told if "finished" in line]) == 1


OWN_SESSION = """
from pyspark.sql import SparkSession

from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.testing import TestingSource

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.log.level", "ERROR")
    .getOrCreate()
)
interval = Configuration().set_string("execution.progress.interval", "50 ms")
env = StreamExecutionEnvironment.get_execution_environment(interval, spark=spark).set_parallelism(1)
source = TestingSource([[1], [2]])
env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").print()
env.execute("in a session of my own")
"""


@pytest.mark.timeout(180)
def test_in_a_session_of_ones_own_the_log_says_how_the_job_is_doing(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(OWN_SESSION)
    with (tmp_path / "log").open("w") as log:
        run = subprocess.run(
            [sys.executable, str(script)],
            stdout=subprocess.PIPE,
            stderr=log,
            timeout=120,
            check=False,
        )

    text = (tmp_path / "log").read_text()
    assert (run.returncode, run.stdout) == (0, b"1\n2\n"), text
    told = re.findall(r"INFO penstock: in a session of my own: (.*)", text)
    assert any(re.search(r"first epoch, \d+ s", line) for line in told), text
    assert re.match(r"finished after [\d.]+ s · 2 records · 2 epochs", told[-1]), text
