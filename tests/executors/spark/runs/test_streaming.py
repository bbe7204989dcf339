"""Streaming jobs: an epoch for each micro-batch, to the end of the input or until they are stopped."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.executors.spark.conftest import StreamOf
from tests.semantics.test_functions import Diary, diaries

from penstock.common import Configuration, JobStatus, Row, Time
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    StreamExecutionEnvironment,
)
from penstock.errors import UserFunctionError
from penstock.runtime.timestamp import MAX_TIMESTAMP

pytestmark = pytest.mark.spark

EPOCHS = [[1, 2, 3, 4], [5], [6, 7], [8, 9, 10]]


def pair(row: Row) -> tuple[str, int]:
    return row.word, row.number


def rows(numbers: list[int]) -> list[dict[str, Any]]:
    return [{"word": "even" if number % 2 == 0 else "odd", "number": number} for number in numbers]


def run(stream: DataStream) -> tuple[list[Any], dict[str, Any]]:
    """Run a program; return the records of a stream, and the job's metrics."""
    results = stream.execute_and_collect()
    return list(results), results._client.wait().metrics


def test_an_epoch_for_each_file(
    env: StreamExecutionEnvironment, stream_of: StreamOf, tmp_path: Path
) -> None:
    """One source has records in four epochs; two others, one of them bounded, in the first alone."""
    schema = "word string, number int"
    busy = env.from_data_frame(stream_of(schema, *map(rows, EPOCHS)))
    idle = env.from_data_frame(stream_of(schema, rows([100, 201]), name="idle"))
    bounded = env.from_collection([("even", 1000)])
    sums = busy.map(pair).key_by(lambda pair: pair[0]).sum(1)
    sums.add_sink(Diary(tmp_path / "diaries"))
    greatest = sums.union(idle.map(pair), bounded).key_by(lambda pair: pair[0]).max(1)

    found, metrics = run(sums.union(greatest.map(lambda pair: ("all", *pair))))

    # Records come in order, within a file and from file to file.
    assert sorted(record for record in found if len(record) == 2) == sorted(
        [("even", total) for total in (2, 6, 12, 20, 30)]
        + [("odd", total) for total in (1, 4, 9, 16, 25)]
    )
    assert Counter(record[:2] for record in found if len(record) == 3) == {
        ("all", "even"): 7,
        ("all", "odd"): 6,
    }
    assert found.count(("all", "even", 1000)) >= 4
    assert found.count(("all", "odd", 201)) >= 3
    assert metrics["epochs"] == len(EPOCHS) + 1  # the last one is the end of the input
    assert metrics["records_in"] == 13
    for report in metrics["operators"].values():
        assert report["input_watermark"] == report["output_watermark"] == MAX_TIMESTAMP
    check_diaries(tmp_path / "diaries")


def check_diaries(folder: Path) -> None:
    """Each was opened once; those whose worker took the task that closes them were closed."""
    written = diaries(folder)
    assert any(diary[-1] == "close" for diary in written)
    for diary in written:
        assert diary[0] == "open"
        assert diary.count("open") == 1
        assert "close" not in diary[:-1]


def test_an_empty_folder(env: StreamExecutionEnvironment, stream_of: StreamOf) -> None:
    words = env.from_data_frame(stream_of("word string, number int"))
    sums = words.key_by(lambda row: row.word).reduce(lambda a, b: b).map(lambda row: row.number)

    found, metrics = run(sums.union(env.from_collection([1])))

    assert found == [1]
    assert metrics["epochs"] == 1
    for report in metrics["operators"].values():
        assert report["output_watermark"] == MAX_TIMESTAMP


def test_a_function_that_raises_in_a_later_epoch(
    env: StreamExecutionEnvironment, stream_of: StreamOf, capfd: pytest.CaptureFixture[str]
) -> None:
    words = env.from_data_frame(stream_of("word string, number int", *map(rows, EPOCHS)))
    words.map(lambda row: 1 / (5 - row.number)).name("divide").print()

    with pytest.raises(UserFunctionError) as caught:
        env.execute()

    message = str(caught.value)
    assert message.startswith(f'Traceback (most recent call last):\n  File "{__file__}"')
    assert "Operator 'divide' failed on the record Row(word='odd', number=5)" in message
    assert "\n\nHint: " in message
    assert "org.apache.spark" not in message
    assert capfd.readouterr().out.count("\n") == len(EPOCHS[0])  # committed before


def endless(spark: SparkSession) -> Any:
    reader = spark.readStream.format("rate-micro-batch")
    return reader.option("rowsPerBatch", 10).option("advanceMillisPerBatch", 1000).load()


def test_a_job_that_is_cancelled(spark: SparkSession, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark).set_parallelism(2)
    env.from_data_frame(endless(spark)).key_by(lambda row: row.value % 2).process(
        lambda row, ctx: [row.value]
    ).add_sink(Diary(tmp_path / "diaries"))
    client = env.execute_async("endless")
    deadline = time.monotonic() + 60
    while client.progress().epochs < 2:
        assert time.monotonic() < deadline
        assert client.get_job_status().result() is JobStatus.RUNNING

    client.cancel().result()

    assert client.get_job_status().result() is JobStatus.CANCELED
    progress = client.progress()
    assert progress.records_in == 10 * progress.epochs >= 20
    assert not any(query.isActive for query in spark.streams.active)
    check_diaries(tmp_path / "diaries")


ENDLESS = """
import sys

from pyspark.sql import SparkSession

from penstock.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
spark = SparkSession.builder.master("local[2, 4]").config("spark.ui.enabled", "false").config(
    "spark.log.level", "ERROR").getOrCreate()
rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
env.from_data_frame(rows).key_by(lambda row: row.value % 3).process(
    lambda row, ctx: [row.value]).print("value")
result = env.execute("endless")
active = [query for query in spark.streams.active if query.isActive]
print("after", result.metrics["epochs"], result.metrics["records_in"], active)
sys.exit(7)
"""


def test_ctrl_c(tmp_path: Path) -> None:
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS)
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as run:
        try:
            assert run.stdout is not None
            for line in run.stdout:
                if line.startswith("value"):
                    break
            os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to every process
            output, errors = run.communicate(timeout=60)
        finally:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)

    assert run.returncode == 7, errors
    stood = re.search(r": cancelled after [^·]+ · (\d+) records · (\d+) epochs?", errors)
    assert stood, errors
    records, epochs = map(int, stood.groups())
    assert records == 10 * epochs > 0
    assert output.splitlines()[-1] == f"after {epochs} {records} []"
    assert "Traceback" not in errors
    assert " ERROR " not in errors


class Hangs(AsyncFunction[Row, Any]):
    """Takes long for the number 2, and no time for others."""

    async def async_invoke(self, value: Row) -> list[Any]:
        if value.number == 2:
            await asyncio.sleep(2)
        return [(value.word, value.number)]


@pytest.mark.parametrize("ordered", [True, False])
def test_a_call_that_hangs_goes_on_from_epoch_to_epoch(
    env: StreamExecutionEnvironment, stream_of: StreamOf, *, ordered: bool
) -> None:
    env.configure(Configuration().set_string("async.drain-timeout", "100 ms"))
    stream = env.from_data_frame(stream_of("word string, number int", *map(rows, EPOCHS)))
    wait = AsyncDataStream.ordered_wait if ordered else AsyncDataStream.unordered_wait
    asked = wait(stream, Hangs(), Time.seconds(30)).name("ask")
    found, metrics = run(asked.map(lambda pair: pair))
    numbers = [number for epoch in EPOCHS for number in epoch]
    assert sorted(found, key=lambda pair: pair[1]) == [
        ("even" if number % 2 == 0 else "odd", number) for number in numbers
    ]
    if not ordered:
        assert found.index(("even", 2)) > found.index(("odd", 5))
    (user,) = [
        report["user"] for report in metrics["operators"].values() if report["name"] == "ask"
    ]
    assert user["async.in_flight"] == 0
