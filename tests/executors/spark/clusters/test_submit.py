"""`spark-submit`: a program that makes no session runs where it was submitted to."""

from __future__ import annotations

import json
import os
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

from penstock.datastream import StreamExecutionEnvironment


def folder_of_task(number):
    return number, os.getcwd()


env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
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
