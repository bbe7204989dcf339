from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.datastream import StreamExecutionEnvironment
from penstock.spark import get_session

pytestmark = pytest.mark.spark

PROGRAM = """
import json
import os
import sys

from pyspark.sql import SparkSession

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import JarsNotLoadedError
from penstock.executors.driver.observation.running_jobs import JOBS

configuration = Configuration().set_string("spark.master", "local[1]")
configuration.set_string("spark.ui.enabled", "true").set_string("spark.ui.port", "0")
env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
env.add_python_archive(sys.argv[1], "other")
env.set_python_executable("other/bin/python")
env.add_jars(sys.argv[2])
names = env.from_collection([1]).map(lambda _: os.environ.get("NAME_OF_INTERPRETER"))
found = list(names.execute_and_collect())
spark = SparkSession.active()
jars = [row[0] for row in spark.sql("LIST JARS").collect()]
env.add_jars(sys.argv[3])
env.from_collection([1]).print()
try:
    env.execute()
except JarsNotLoadedError as error:
    jars.append(error.message)
print(json.dumps([found, spark.sparkContext.uiWebUrl, jars, JOBS.jobs()[0].view().spark_url]))
"""


def test_a_session_keeps_its_settings_when_another_thread_runs_a_job(spark: SparkSession) -> None:
    settings = ("spark.app.name", "spark.sql.adaptive.enabled")
    before = [spark.conf.get(key) for key in settings]
    found: list[object] = []

    def work() -> None:
        assert SparkSession.getActiveSession() is None
        found.append(get_session())
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
        found.extend(env.from_collection([1]).map(str).execute_and_collect())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert found == [spark, "1"]
    assert [spark.conf.get(key) for key in settings] == before


@pytest.mark.timeout(180)
def test_the_configuration_says_who_works_and_where_the_page_is(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    interpreter = tmp_path / "interpreter"
    interpreter.write_text(f'#!/bin/sh\nNAME_OF_INTERPRETER=other exec "{sys.executable}" "$@"\n')
    interpreter.chmod(0o700)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.write(interpreter, "bin/python")
    jars = [tmp_path / "one.jar", tmp_path / "other.jar"]
    for jar in jars:
        with zipfile.ZipFile(jar, "w") as file:
            file.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
    environment = {key: value for key, value in os.environ.items() if key != "SPARK_LOCAL_IP"}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", script, tmp_path / "other.zip", *jars],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    found, page, (loaded, missing), seen = json.loads(run.stdout.splitlines()[-1])
    assert found == ["other"]
    assert page.startswith("http://127.0.0.1:")
    assert seen == page
    assert loaded.endswith("/one.jar")
    assert str(jars[1]) in missing
    assert str(jars[0]) not in missing
