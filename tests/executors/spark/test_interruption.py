"""A bounded job that is cancelled ends at once, whatever its functions are waiting for."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.common import JobStatus, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.aggregates import Count
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.executors.spark.interruption import Interruption, write_note


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


@pytest.mark.spark
@pytest.mark.timeout(120)
@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_a_job_for_which_spark_aggregates_for_long_is_cancelled(
    spark: SparkSession, tmp_path: Path, adaptive: str
) -> None:
    def wait(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        (tmp_path / "begun").touch()
        threading.Event().wait()
        yield from batches

    rows = spark.range(2).mapInArrow(wait, "id long").selectExpr("id AS key", "id AS at")
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("at")
    stream = env.from_data_frame(rows, watermark_strategy=strategy).key_by("key")
    counts = stream.window(TumblingEventTimeWindows.of(10)).aggregate(Count())
    assert "Aggregate in Spark" in str(counts.explain())
    counts.print()
    usual = str(spark.conf.get("spark.sql.adaptive.enabled"))
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        client = env.execute_async("for ever")
        while not (tmp_path / "begun").exists():
            assert client.get_job_status().result() is JobStatus.RUNNING

        client.cancel().result()
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", usual)

    assert client.get_job_status().result() is JobStatus.CANCELED


def test_where_the_session_has_ended_there_is_nothing_to_interrupt() -> None:
    asked = []

    def interrupt(query: str) -> None:
        asked.append(query)
        raise ConnectionRefusedError("the Java process is gone")

    session: Any = SimpleNamespace(interruptOperation=interrupt)
    interruption = Interruption(session, uuid.uuid4().hex)
    with closing(SimpleNamespace(close=interruption.end)):
        write_note(interruption.note, "7")
        interruption._interrupt()
    assert asked == ["7"]


def test_a_note_goes_nowhere_where_there_is_no_such_place(tmp_path: Path) -> None:
    write_note(str(tmp_path / "query"), "7")
    write_note(str(tmp_path / "query"), None)
    write_note(str(tmp_path / "elsewhere" / "query"), "8")
    assert (tmp_path / "query").read_text() == "7"


def test_nothing_that_lies_in_the_folder_of_notes_is_written_to(tmp_path: Path) -> None:
    mine, note = tmp_path / "mine", tmp_path / "query"
    mine.write_text("mine")
    for name in (f"query.{os.getpid()}", "query"):
        (tmp_path / name).symlink_to(mine)

    write_note(str(note), "7")

    assert mine.read_text() == "mine"
    assert not note.is_symlink()
    assert note.read_text() == "7"
