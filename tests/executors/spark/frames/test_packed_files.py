"""No row of a DataFrame is late because of others that Spark reads together with it.

Spark packs files into partitions by their size: time goes back wherever one file ends and the next begins. What is
cached or joined comes in yet another order.
"""

from __future__ import annotations

import json
import os
import random
import warnings
from collections.abc import Callable, Iterable, Iterator
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
        warnings.simplefilter("error", LateRecordsDroppedWarning)
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
    told = [one.message for one in caught if isinstance(one.message, LateRecordsDroppedWarning)]
    assert f" {dropped:,} at " in str(told[0])


def by_format(spark: SparkSession, folder: str, file_format: str) -> DataFrame:
    copies = f"{folder}.{file_format}"
    frame = spark.read.schema("key long, at long").json(folder)
    minutes = frame.repartition(FILES, (frame["at"] / MINUTE).cast("long"))
    minutes.write.mode("overwrite").format(file_format).save(copies)
    return spark.read.schema(frame.schema).format(file_format).load(copies)


def in_memory(spark: SparkSession, frame: DataFrame) -> DataFrame:
    return spark.createDataFrame(frame.collect(), frame.schema)


def with_names(spark: SparkSession, frame: DataFrame) -> DataFrame:
    names = spark.createDataFrame(
        [(key, f"name {key}") for key in range(3)], "key long, name string"
    )
    return frame.join(names, "key")


FRAMES: dict[str, Callable[[SparkSession, str], DataFrame]] = {
    "json": lambda spark, folder: by_format(spark, folder, "json"),
    "csv": lambda spark, folder: by_format(spark, folder, "csv"),
    "parquet": lambda spark, folder: by_format(spark, folder, "parquet"),
    "one file": lambda spark, folder: by_format(spark, folder, "json").coalesce(1),
    "cached": lambda spark, folder: by_format(spark, folder, "json").cache(),
    "written down": lambda spark, folder: by_format(spark, folder, "json").localCheckpoint(),
    "joined": lambda spark, folder: with_names(spark, by_format(spark, folder, "json")),
    "joined in memory": lambda spark, folder: with_names(
        spark, in_memory(spark, by_format(spark, folder, "json"))
    ),
}


@pytest.fixture
def small_splits(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    """Have Spark cut each file into many pieces, if the test asks for it."""
    settings = {"spark.sql.files.maxPartitionBytes": "4096", "spark.sql.files.openCostInBytes": "0"}
    for key, value in settings.items() if request.param else ():
        spark.conf.set(key, value)
    yield
    for key in settings:
        spark.conf.unset(key)


def counted_in(env: StreamExecutionEnvironment, frame: DataFrame, **settings: Any) -> int:
    """Return how many rows are in windows, where watermarks follow close behind the rows, and as often as can be."""
    env.get_config().set_auto_watermark_interval(1)
    close = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
    close = close.with_timestamp_assigner(lambda row, _: row["at"])
    rows = env.from_data_frame(frame, watermark_strategy=close, **settings)
    windows = rows.key_by(lambda row: row["key"]).window(TumblingEventTimeWindows.of(MINUTE))
    return sum(count for *_, count in windows.process(Count()).execute_and_collect())


@pytest.mark.parametrize("small_splits", [False, True], indirect=True, ids=["packed", "cut"])
@pytest.mark.parametrize(
    ("kind", "parallelism"),
    [(kind, 1 + 7 * (number % 2)) for number, kind in enumerate(FRAMES)],
)
@pytest.mark.usefixtures("small_splits")
def test_no_frame_is_taken_for_sorted(
    spark: SparkSession, env: StreamExecutionEnvironment, folder: str, kind: str, parallelism: int
) -> None:
    frame = FRAMES[kind](spark, folder)
    expected = frame.count()
    assert counted_in(env.set_parallelism(parallelism), frame) == expected
    frame.unpersist()


def test_a_frame_that_spark_has_cached_for_another(
    spark: SparkSession, env: StreamExecutionEnvironment, folder: str
) -> None:
    schema = "key long, at long"
    other = spark.read.schema(schema).json(folder).cache()
    expected = other.count()
    assert counted_in(env, spark.read.schema(schema).json(folder)) == expected
    other.unpersist()


@pytest.mark.parametrize(("parallelism", "files"), [(1, 7), (2, 100), (8, 100)])
def test_files_that_are_read_in_one_epoch_of_a_stream(
    spark: SparkSession, env: StreamExecutionEnvironment, folder: str, parallelism: int, files: int
) -> None:
    whole = spark.read.schema("key long, at long").json(folder)
    for number, file in enumerate(sorted(Path(folder).iterdir(), key=_first_time)):
        os.utime(file, (number, number))
    reader = spark.readStream.schema(whole.schema).option("maxFilesPerTrigger", files)
    assert counted_in(env.set_parallelism(parallelism), reader.json(folder)) == whole.count()


def test_a_stream_that_is_said_to_be_sorted(
    env: StreamExecutionEnvironment, stream_of: StreamOf
) -> None:
    rows = [{"key": 1, "at": at} for at in range(0, 60 * MINUTE, 100)]
    stream = stream_of("key long, at long", [*rows, rows[0]])
    env.set_parallelism(1)
    assert counted_in(env, stream, is_sorted=True) == len(rows)


def _first_time(file: Path) -> int:
    first: int = json.loads(file.read_text().partition("\n")[0])["at"]
    return first


@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_union_with_rows_that_are_sorted(
    spark: SparkSession, env: StreamExecutionEnvironment, folder: str, parallelism: int
) -> None:
    frame = spark.read.schema("key long, at long").json(folder)
    env.set_parallelism(parallelism).get_config().set_auto_watermark_interval(1)
    packed = env.from_data_frame(frame, watermark_strategy=by_function())
    ordered = env.from_data_frame(
        frame.orderBy("at"), watermark_strategy=by_function(), is_sorted=True
    )
    windows = packed.union(ordered).key_by(lambda row: row["key"])
    counted = windows.window(TumblingEventTimeWindows.of(MINUTE)).process(Count())
    assert sum(count for *_, count in counted.execute_and_collect()) == 2 * frame.count()


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
