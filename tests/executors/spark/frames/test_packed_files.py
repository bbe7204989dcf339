"""A bounded DataFrame of many files gives in STREAMING mode what it gives in BATCH mode.

Spark packs files into partitions by their size: time goes back wherever one file ends and the next begins.
"""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.executors.spark.conftest import StreamOf

from penstock.common import Duration, WatermarkStrategy
from penstock.datastream import (
    DataStream,
    ProcessWindowFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import LateRecordsDroppedWarning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

FILES, MINUTE = 30, 60_000
STREAMING, BATCH = RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A file for each minute, of very different sizes, each with a minute of disorder."""
    chance = random.Random(7)
    folder = tmp_path / "minutes"
    folder.mkdir()
    for minute in range(FILES):
        rows = [
            {"key": chance.randrange(3), "at": minute * MINUTE + chance.randrange(MINUTE)}
            for _ in range(chance.choice([5, 60, 700]))
        ]
        text = "\n".join(json.dumps({**row, "part": minute % 4}) for row in rows)
        (folder / f"{chance.random()}.json").write_text(text)
    return str(folder)


class Count(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield key, context.window().start, len(list(elements))


def strategy() -> WatermarkStrategy:
    return WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(MINUTE))


def by_function() -> WatermarkStrategy:
    return strategy().with_timestamp_assigner(lambda row, _: row["at"])


def by_column() -> WatermarkStrategy:
    return strategy().with_timestamp_column("at")


def of_the_source(env: StreamExecutionEnvironment, frame: DataFrame, _: str) -> DataStream:
    return env.from_data_frame(frame, watermark_strategy=by_function())


def of_a_column(env: StreamExecutionEnvironment, frame: DataFrame, _: str) -> DataStream:
    return env.from_data_frame(frame, watermark_strategy=by_column())


def of_splits(env: StreamExecutionEnvironment, frame: DataFrame, _: str) -> DataStream:
    one_file = frame.coalesce(1)
    return env.from_data_frame(one_file, watermark_strategy=by_function(), split_column="part")


def assigned_later(env: StreamExecutionEnvironment, frame: DataFrame, _: str) -> DataStream:
    rows = env.from_data_frame(frame).map(lambda row: row.as_dict())
    return rows.assign_timestamps_and_watermarks(by_function())


def behind_a_shuffle(env: StreamExecutionEnvironment, frame: DataFrame, _: str) -> DataStream:
    rows = env.from_data_frame(frame).key_by(lambda row: row["key"]).map(lambda row: row.as_dict())
    return rows.assign_timestamps_and_watermarks(by_function())


def of_text(env: StreamExecutionEnvironment, frame: DataFrame, folder: str) -> DataStream:
    lines = env.read_text_file(folder).map(json.loads)
    return lines.assign_timestamps_and_watermarks(by_function())


def results(
    spark: SparkSession, make: Any, folder: str, mode: RuntimeExecutionMode, parallelism: int
) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    env.set_runtime_mode(mode).set_parallelism(parallelism)
    frame = spark.read.schema("key long, at long, part long").json(folder)
    keyed = make(env, frame, folder).key_by(lambda row: row["key"])
    counted = keyed.window(TumblingEventTimeWindows.of(5 * MINUTE)).process(Count())
    return sorted(counted.execute_and_collect())


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize(
    "make", [of_the_source, of_a_column, of_splits, assigned_later, behind_a_shuffle, of_text]
)
def test_nothing_is_late(spark: SparkSession, folder: str, make: Any, parallelism: int) -> None:
    expected = results(spark, make, folder, BATCH, parallelism)
    assert results(spark, make, folder, STREAMING, parallelism) == expected


def counts_of(env: StreamExecutionEnvironment, frame: DataFrame, **settings: Any) -> list[Any]:
    rows = env.from_data_frame(frame, watermark_strategy=by_function(), **settings)
    keyed = rows.key_by(lambda row: row["key"])
    return list(
        keyed.window(TumblingEventTimeWindows.of(5 * MINUTE)).process(Count()).execute_and_collect()
    )


def test_a_frame_that_is_sorted_is_not_waited_for(
    spark: SparkSession, env: StreamExecutionEnvironment, folder: str
) -> None:
    env.set_parallelism(1)
    frame = spark.read.schema("key long, at long").json(folder)
    ordered = frame.orderBy("at").coalesce(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = counts_of(env, ordered, is_sorted=True)
    assert [start for _, start, _ in found] == sorted(start for _, start, _ in found)
    assert sum(count for *_, count in found) == frame.count()


def test_what_is_not_sorted_though_it_is_said_to_be_is_late_and_told(
    spark: SparkSession, env: StreamExecutionEnvironment, folder: str
) -> None:
    frame = spark.read.schema("key long, at long").json(folder)
    # At the usual interval a fast machine reads all of it before the first watermark.
    env.get_config().set_auto_watermark_interval(1)
    with pytest.warns(LateRecordsDroppedWarning, match="TumblingEventTimeWindows") as caught:
        found = counts_of(env, frame.orderBy(-frame["at"]), is_sorted=True)
    dropped = frame.count() - sum(count for *_, count in found)
    assert dropped > 0
    assert f" {dropped} at " in str(caught[0].message)


def test_one_file_is_read_as_it_is(
    spark: SparkSession, env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    times = [*range(0, 60 * MINUTE, 100), 0]
    file = tmp_path / "one.json"
    file.write_text("\n".join(json.dumps({"key": 1, "at": at}) for at in times))
    frame = spark.read.schema("key long, at long").json(str(file))
    with pytest.warns(LateRecordsDroppedWarning, match="1 at 'TumblingEventTimeWindows'"):
        found = counts_of(env.set_parallelism(1), frame)
    assert sum(count for *_, count in found) == len(times) - 1


def test_files_beside_a_stream(
    spark: SparkSession, env: StreamExecutionEnvironment, folder: str, stream_of: StreamOf
) -> None:
    schema = "key long, at long"
    frame = spark.read.schema(schema).json(folder)
    newer = [{"key": 9, "at": FILES * MINUTE + number} for number in range(3)]
    stream = stream_of(schema, [newer[0]], newer[1:])
    rows = env.from_data_frame(stream).union(env.from_data_frame(frame))
    timed = rows.map(lambda row: row.as_dict()).assign_timestamps_and_watermarks(by_function())
    windows = timed.key_by(lambda row: row["key"]).window(TumblingEventTimeWindows.of(5 * MINUTE))
    counted = windows.process(Count()).execute_and_collect()
    assert sum(count for *_, count in counted) == frame.count() + len(newer)
