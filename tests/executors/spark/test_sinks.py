"""Spark's formats as sinks: what an epoch wrote is there once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.executors.spark.conftest import StreamOf
from tests.semantics.faults import Once, lose_a_buffer

from penstock.common import Row
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.spark import SparkSink
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = "word string, count int"
COUNTS = [("a", 1), ("b", 2), ("c", None)]


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    yield "counts"
    spark.sql("drop table if exists counts")


def test_formats(
    env: StreamExecutionEnvironment, spark: SparkSession, tmp_path: Path, table: str
) -> None:
    rows = (
        env.from_collection(COUNTS).rebalance().map(lambda pair: Row(count=pair[1], word=pair[0]))
    )
    path = str(tmp_path)
    rows.sink_to(SparkSink("parquet", schema=SCHEMA, path=f"{path}/parquet"))
    rows.sink_to(
        SparkSink("csv", schema=SCHEMA, path=f"{path}/csv", options={"header": "true", "sep": ";"})
    )
    rows.sink_to(SparkSink(schema=SCHEMA, table=table))
    rows.map(tuple).sink_to(
        SparkSink("json", schema="number int, text string", path=f"{path}/json", mode="overwrite")
    )

    env.execute()

    read = spark.read
    csv = read.schema(SCHEMA).option("header", "true").option("sep", ";").csv(f"{path}/csv")
    for frame in (read.parquet(f"{path}/parquet"), csv, spark.table(table)):
        assert sorted(map(tuple, frame.collect())) == COUNTS
    json = read.schema("number int, text string").json(f"{path}/json")
    assert sorted((row.text, row.number) for row in json.collect()) == COUNTS


def test_epochs_are_written_once(
    env: StreamExecutionEnvironment, spark: SparkSession, stream_of: StreamOf, tmp_path: Path
) -> None:
    marker = tmp_path / "lost"
    out = str(tmp_path / "out")
    schema = "number int, text string"
    epochs = [[{"number": number}] * 3 for number in range(3, 6)]
    numbers = env.from_data_frame(stream_of("number int", *epochs)).map(lambda row: row.number)
    # The first attempt at the second epoch has prepared these before it fails.
    numbers.map(lambda number: (number, "early")).sink_to(
        SparkSink("parquet", schema=schema, path=out)
    )
    late = numbers.rebalance().map(Once(lose_a_buffer, marker, lambda number: number == 4))
    late.map(lambda number: (number, "late")).sink_to(SparkSink("parquet", schema=schema, path=out))

    metrics = env.execute().metrics

    assert sorted(map(tuple, spark.read.parquet(out).collect())) == [
        (number, text) for number in (3, 4, 5) for text in ["early"] * 3 + ["late"] * 3
    ]
    assert metrics["epochs"] == 4
    assert marker.exists()


def test_rows_that_are_not_of_the_schema(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    env.from_collection([("a", "many")]).sink_to(
        SparkSink("parquet", schema=SCHEMA, path=str(tmp_path / "out"))
    ).name("counts")

    with pytest.raises(InvalidArgumentError, match=r"'Sink: counts'(.|\n)*count: int32") as caught:
        env.execute()
    assert "\n\nHint: " in str(caught.value)
    assert not (tmp_path / "out").exists()
