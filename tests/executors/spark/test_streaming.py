"""Streaming jobs: an epoch for each micro-batch, to the end of the input or until they are stopped."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.executors.spark.conftest import StreamOf

from penstock.common import Configuration, JobStatus
from penstock.datastream import RuntimeContext, SinkFunction, StreamExecutionEnvironment
from penstock.errors import UserFunctionError
from penstock.runtime.elements import MAX_TIMESTAMP

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EPOCHS = [[1, 2, 3, 4], [5], [6, 7], [8, 9, 10]]


class Diary(SinkFunction):
    """Writes down what happens to it, in a file for each of its objects that is opened."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, runtime_context: RuntimeContext) -> None:
        self._path = self._folder / f"{os.getpid()}-{id(self)}"
        self._write("open")

    def invoke(self, value: Any) -> None:
        self._write("record")

    def close(self) -> None:
        self._write("close")

    def _write(self, line: str) -> None:
        with self._path.open("a") as file:
            file.write(f"{line}\n")


def rows(numbers: list[int]) -> list[dict[str, Any]]:
    return [{"word": "even" if number % 2 == 0 else "odd", "number": number} for number in numbers]


def test_an_epoch_for_each_file(
    env: StreamExecutionEnvironment, stream_of: StreamOf, tmp_path: Path
) -> None:
    diaries = tmp_path / "diaries"
    diaries.mkdir()
    words = env.from_data_frame(stream_of("word string, number int", *map(rows, EPOCHS)))
    sums = words.map(lambda row: (row.word, row.number)).key_by(lambda pair: pair[0]).sum(1)
    sums.add_sink(Diary(diaries))
    idle = stream_of("word string, number int", rows([100, 101]), name="idle")
    extra = env.from_collection([1000]).map(lambda number: ("even", number))
    late = env.from_data_frame(idle).map(lambda row: (row.word, row.number)).union(extra)
    totals = sums.union(late).key_by(lambda pair: pair[0]).max(1)
    totals.map(lambda pair: None).name("last").add_sink(lambda _: None)

    client_metrics = run_and_collect(env, sums.union(late))

    found, metrics = client_metrics
    assert Counter(found) >= Counter([("even", 100), ("odd", 101), ("even", 1000)])
    assert max(number for word, number in found if word == "odd" and number != 101) == 25
    assert max(number for word, number in found if word == "even" and number < 100) == 30
    assert len(found) == 13
    assert metrics["epochs"] == len(EPOCHS) + 1  # the last one is the end of the input
    assert metrics["records_in"] == 13
    for report in metrics["operators"].values():
        assert report["input_watermark"] == report["output_watermark"] == MAX_TIMESTAMP
    for diary in diaries.iterdir():
        lines = diary.read_text().split()
        assert [lines[0], lines[-1]] == ["open", "close"]
        assert Counter(lines)["open"] == Counter(lines)["close"] == 1


def run_and_collect(env: StreamExecutionEnvironment, stream: Any) -> tuple[list[Any], Any]:
    results = stream.execute_and_collect()
    found = list(results)
    return found, results._client.wait().metrics


def test_an_empty_folder(env: StreamExecutionEnvironment, stream_of: StreamOf) -> None:
    words = env.from_data_frame(stream_of("word string, number int"))
    sums = words.key_by(lambda row: row.word).reduce(lambda a, b: b).map(lambda row: row.number)

    found, metrics = run_and_collect(env, sums.union(env.from_collection([1])))

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
    ).add_sink(Diary(tmp_path))
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
    for diary in tmp_path.iterdir():
        lines = diary.read_text().split()
        assert [lines[0], lines[-1]] == ["open", "close"]


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
    stood = re.search(r"Stopped after (\d+) complete epochs? and (\d+) records", errors)
    assert stood, errors
    epochs, records = map(int, stood.groups())
    assert records == 10 * epochs > 0
    assert output.splitlines()[-1] == f"after {epochs} {records} []"
    assert "Traceback" not in errors
    assert " ERROR " not in errors


def test_a_port_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    from pyspark.sql import SparkSession

    from penstock.errors import PortInUseError

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        env = StreamExecutionEnvironment.get_execution_environment(
            Configuration().set_integer("rest.port", port)
        )
        env.from_collection([1]).print()
        with pytest.raises(PortInUseError, match=f"{port}(.|\n)*\n\nHint: "):
            env.execute_async()
