from __future__ import annotations

import threading

import pytest
from pyspark.sql import SparkSession

from penstock.datastream import StreamExecutionEnvironment
from penstock.spark import get_session

pytestmark = pytest.mark.spark


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
