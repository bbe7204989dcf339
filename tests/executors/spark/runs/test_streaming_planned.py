from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.executors.scripted import Script, ScriptedSource
from tests.executors.spark.conftest import StreamOf

from penstock.common import Configuration, Duration, RestartStrategies, WatermarkStrategy
from penstock.datastream import (
    DataStream,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.file_system import FileSource, StreamFormat
from penstock.errors import SourceNotReadableError

pytestmark = [pytest.mark.spark, pytest.mark.timeout(120)]

NONE = WatermarkStrategy.no_watermarks()


def environment(
    spark: SparkSession, location: Path | None = None, **settings: str
) -> StreamExecutionEnvironment:
    configuration = Configuration()
    if location is not None:
        configuration.set_string("execution.checkpointing.dir", str(location))
    for key, value in settings.items():
        configuration.set_string(f"execution.epoch.{key.replace('_', '-')}", value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    return env.set_parallelism(2)


def test_what_a_planned_source_has_begins_an_epoch_of_a_spark_stream_also_after_it_failed(
    spark: SparkSession, stream_of: StreamOf
) -> None:
    env = environment(spark)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
    script = Script([[1], [2], [3]], ends=False)
    numbers = env.from_source(ScriptedSource("ticks", script), NONE, "scripted")
    rows = env.from_data_frame(stream_of("number int", [{"number": 10}]))
    total = numbers.union(rows.map(lambda row: int(row.number))).key_by(lambda number: 0).sum()
    results = total.execute_and_collect()
    first = [next(results) for _ in range(4)]
    script.error = SourceNotReadableError("It is gone for a while.")
    pause = threading.Event()
    while script.error is not None:
        pause.wait(0.01)
    script.epochs.append([[20]])
    last = next(results)
    results.close()

    assert (first[-1], last) == (16, 36)


def test_files_beside_a_spark_stream_are_read_once_from_start_to_start(
    spark: SparkSession, stream_of: StreamOf, tmp_path: Path
) -> None:
    frame = stream_of("number int", [{"number": 10}], [{"number": 20}])
    folder = tmp_path / "in"
    folder.mkdir()

    def run(path: Path, **settings: str) -> list[int]:
        env = environment(spark, tmp_path / "job", available_now="true", **settings)
        text = FileSource.for_record_stream_format(StreamFormat.text_line_format(), path)
        files = text.monitor_continuously(Duration.of_days(1)).build()
        lines: DataStream = env.from_source(files, NONE, "files").uid("files").map(int)
        rows = env.from_data_frame(frame).uid("rows").map(lambda row: int(row.number))
        total = lines.union(rows).key_by(lambda number: 0).sum().uid("sum")
        return sorted(total.execute_and_collect())

    (folder / "a").write_text("1\n2\n")
    first = run(folder, end_of_input="false")
    (folder / "b").write_text("3\n")
    second = run(tmp_path / "job" / ".." / "in", end_of_input="false")
    third = run(folder)

    assert (len(first), first[-1]) == (4, 33)
    assert (second, third) == ([36], [])
