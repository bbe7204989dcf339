"""A bounded job that is cancelled ends at once, whatever its functions are waiting for."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.common import JobStatus
from penstock.datastream import StreamExecutionEnvironment
from penstock.executors.spark.interruption import write_note


def wait_for_ever(folder: Path) -> None:
    (folder / "begun").touch()
    threading.Event().wait()


@pytest.mark.spark
@pytest.mark.timeout(120)
def test_a_job_whose_function_waits_for_ever_is_cancelled(
    spark: SparkSession, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    env.from_collection([tmp_path]).map(wait_for_ever).print()
    client = env.execute_async("for ever")
    while not (tmp_path / "begun").exists():
        assert client.get_job_status().result() is JobStatus.RUNNING

    client.cancel().result()

    assert client.get_job_status().result() is JobStatus.CANCELED
    other = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    assert list(other.from_collection([1, 2]).execute_and_collect()) == [1, 2]


def test_a_note_goes_nowhere_where_there_is_no_such_place(tmp_path: Path) -> None:
    write_note(str(tmp_path / "query"), "7")
    write_note(str(tmp_path / "query"), None)
    write_note(str(tmp_path / "elsewhere" / "query"), "8")
    assert (tmp_path / "query").read_text() == "7"
