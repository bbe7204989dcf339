"""DataFrames become streams, and streams become DataFrames."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql.types import LongType, StringType, StructType
from tests.executors.spark.conftest import StreamOf

from penstock.common import Row, Types
from penstock.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from penstock.errors import (
    ColumnNotFoundError,
    InvalidArgumentError,
    SourceNotReadableError,
    UnsupportedOperationError,
)
from penstock.runtime.timestamp import MAX_TIMESTAMP

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

COLUMNS = """
    byte tinyint, small short, whole int, long bigint, single float, real double, text string,
    raw binary, flag boolean, day date, at timestamp, local timestamp_ntz, price decimal(10, 2),
    tags array<string>, spot struct<x: int, at: timestamp>, counts map<string, int>,
    deep array<struct<name: string, days: map<string, timestamp>>>, `odd name` int
"""
NOON = datetime.datetime.fromisoformat("2024-07-01 12:30:00.000250")
VALUES: dict[str, Any] = {
    "byte": 1,
    "small": 2,
    "whole": 3,
    "long": 1 << 40,
    "single": 0.5,
    "real": 0.1,
    "text": "grün",
    "raw": b"\x00\xff",
    "flag": True,
    "day": datetime.date(1969, 12, 31),
    "at": NOON,
    "local": datetime.datetime.fromisoformat("1900-01-01 00:00:01"),
    "price": Decimal("-12.50"),
    "tags": ["a", None],
    "spot": {"x": 1, "at": NOON},
    "counts": {"a": 1, "b": None},
    "deep": [{"name": "n", "days": {"d": NOON}}, {"name": None, "days": None}],
    "odd name": 7,
}
EMPTY: dict[str, Any] = {"tags": [], "counts": {}, "deep": [], "spot": {"x": None, "at": None}}


@pytest.fixture(params=["America/New_York", "Asia/Kolkata"])
def zone(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    key = "spark.sql.session.timeZone"
    before = spark.conf.get(key) or "UTC"
    spark.conf.set(key, request.param)
    yield request.param
    spark.conf.set(key, before)


@pytest.fixture
def everything(spark: SparkSession, zone: str) -> DataFrame:
    """A frame with columns of all types: values, nothing, and what is empty.

    Times are written as text, which Spark reads in the session's time zone.
    """
    nothing = dict.fromkeys(VALUES)
    names = list(VALUES)
    texts = COLUMNS.replace("timestamp_ntz", "string").replace("timestamp", "string")
    rows = [VALUES, nothing, nothing | EMPTY]
    tuples = [tuple(as_text(row[name]) for name in names) for row in rows]
    frame = spark.createDataFrame(tuples, texts)
    struct = spark.createDataFrame([], COLUMNS).schema
    return frame.selectExpr(
        *[f"cast(`{field.name}` as {field.dataType.simpleString()})" for field in struct.fields]
    )


def as_text(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return str(value)
    if isinstance(value, list):
        return [as_text(item) for item in value]
    if isinstance(value, dict):
        return {key: as_text(item) for key, item in value.items()}
    return value


def row_of(fields: dict[str, Any]) -> Row:
    return Row(*fields)(*fields.values())  # Row(**fields) would sort the names


def by_name(row: Row) -> Any:
    spot = row.spot
    deep = row["deep"]
    return (
        [row[name] for name in VALUES],
        spot and (spot.x, spot["at"]),
        deep and [(item.name, item.days) for item in deep],
        row.text == row[6],
        isinstance(row, Row),
    )


def test_columns_of_all_types(env: StreamExecutionEnvironment, everything: DataFrame) -> None:
    rows = env.from_data_frame(everything)

    full, nothing, empty = list(
        rows.rebalance().map(by_name).force_non_parallel().execute_and_collect()
    )

    values = VALUES | {"spot": row_of(VALUES["spot"]), "deep": list(map(row_of, VALUES["deep"]))}
    assert full == (
        list(values.values()),
        (1, NOON),
        [("n", {"d": NOON}), (None, None)],
        True,
        True,
    )
    assert nothing == ([None] * len(VALUES), None, None, True, True)
    assert empty[0][names_of("tags")] == []
    assert empty[0][names_of("counts")] == {}
    assert empty[1:3] == ((None, None), [])


def names_of(name: str) -> int:
    return list(VALUES).index(name)


def test_round_trip(env: StreamExecutionEnvironment, everything: DataFrame) -> None:
    rows = env.from_data_frame(everything).rebalance().map(lambda row: row)

    frame = rows.to_data_frame(COLUMNS)

    assert frame.schema == everything.schema
    assert sorted(frame.collect(), key=repr) == sorted(everything.collect(), key=repr)


def test_rows_in_all_forms(env: StreamExecutionEnvironment) -> None:
    records = [("a", 1), ["b", 2], {"count": 3, "word": "c"}, Row(count=4, word="d"), Row("e", 5)]
    stream = env.from_collection(records).rebalance().map(lambda record: record)

    frame = stream.to_data_frame("word string, count bigint")

    assert sorted(map(tuple, frame.collect())) == [("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5)]
    assert frame.where("count > 3").count() == 2  # the program runs again
    for schema in (
        StructType().add("word", StringType()).add("count", LongType()),
        pa.schema([("word", pa.string()), ("count", pa.int64())]),
        Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.LONG()]),
    ):
        assert stream.to_data_frame(schema).schema == frame.schema


def test_a_frame_of_plain_values(env: StreamExecutionEnvironment) -> None:
    frame = env.from_collection([1, 2, None]).to_data_frame("number int")

    assert {row.number for row in frame.collect()} == {1, 2, None}


def test_values_that_are_not_of_the_schema(env: StreamExecutionEnvironment) -> None:
    frame = env.from_collection(["one"]).to_data_frame("number int")

    with pytest.raises(PythonException) as caught:
        frame.collect()
    message = str(caught.value)
    assert "InvalidArgumentError: to_data_frame() got rows that are not of its schema: " in message
    assert "Hint: Its columns are: number: int32." in message


def test_fields_are_checked_early(env: StreamExecutionEnvironment, spark: SparkSession) -> None:
    rows = env.from_data_frame(spark.range(1))

    with pytest.raises(ColumnNotFoundError, match=r"'name'.*\n\nHint: Their fields are: id"):
        rows.key_by("name")
    with pytest.raises(InvalidArgumentError, match="no Spark DataFrame"):
        env.from_data_frame([1, 2])


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_frames_without_rows(
    env: StreamExecutionEnvironment, spark: SparkSession, tmp_path: Path, mode: str
) -> None:
    env.set_runtime_mode(RuntimeExecutionMode[mode])
    (tmp_path / "empty").mkdir()
    frames = [
        spark.read.schema("id bigint").parquet(str(tmp_path / "empty")),
        spark.range(100).where("false"),
        spark.createDataFrame([], "id bigint"),
        spark.range(3),
    ]
    first, *others = [env.from_data_frame(frame) for frame in frames]
    sums = first.union(*others).key_by(lambda row: 0).reduce(lambda a, b: Row(id=a.id + b.id))
    numbers = sums.map(lambda row: row.id)
    numbers.print("sum")
    first.key_by(lambda row: 0).reduce(lambda a, b: b).print("nothing")

    metrics = env.execute().metrics

    assert metrics["epochs"] == 1
    assert metrics["records_in"] == 3
    for report in metrics["operators"].values():
        assert report["input_watermark"] == report["output_watermark"] == MAX_TIMESTAMP


def test_a_file_that_is_gone(
    env: StreamExecutionEnvironment, spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "rows.json"
    path.write_text('{"a": 1}')
    frame = spark.read.schema("a int").json(str(path))
    path.unlink()

    def run() -> None:
        # Spark Connect looks for the file here, and a classic session has looked before.
        env.from_data_frame(frame).print()
        env.execute()

    with pytest.raises(SourceNotReadableError, match=r"rows\.json(.|\n)*\n\nHint: "):
        run()


def test_a_file_that_is_gone_when_the_job_begins(
    env: StreamExecutionEnvironment, spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "rows.json"
    path.write_text('{"a": 1}')
    env.from_data_frame(spark.read.schema("a int").json(str(path))).print()
    path.unlink()

    with pytest.raises(SourceNotReadableError, match=r"rows\.json(.|\n)*\n\nHint: "):
        env.execute()


def test_a_stream_is_no_frame(env: StreamExecutionEnvironment, stream_of: StreamOf) -> None:
    rows = env.from_data_frame(stream_of("a int"))

    with pytest.raises(UnsupportedOperationError, match="never ends"):
        rows.to_data_frame("a int")


@pytest.mark.parametrize("condition", ["false", "id = 1"])
def test_a_frame_without_partitions_is_an_epoch_too(
    env: StreamExecutionEnvironment, spark: SparkSession, tmp_path: Path, condition: str
) -> None:
    (tmp_path / "empty").mkdir()
    empty = spark.read.schema("id bigint").parquet(str(tmp_path / "empty")).where(condition)
    env.from_data_frame(empty).map(lambda row: row.id).print()

    metrics = env.execute().metrics

    assert (metrics["epochs"], metrics["records_in"]) == (1, 0)
    reports = metrics["operators"].values()
    assert [report["input_watermark"] for report in reports] == [MAX_TIMESTAMP] * 3
