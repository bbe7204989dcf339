"""Both ways on the Spark that is here: what newer versions have, and what stands in for it, if both are there."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING

import pyarrow as pa
import pyspark
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from penstock.executors.spark.versions import frames
from penstock.executors.spark.versions.features import OLDEST, Feature, has
from penstock.executors.spark.versions.frames import (
    arrow_schema,
    collected,
    partitioned,
    place,
    schema_of,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("carrier", pa.int32()), ("payload", pa.binary())])


@pytest.fixture(autouse=True, params=["here", "oldest"])
def _version(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "oldest":
        monkeypatch.setattr(pyspark, "__version__", ".".join(map(str, OLDEST)))


@pytest.mark.parametrize("partitions", [1, 2, 5])
def test_rows_lie_in_the_partitions_that_they_name(spark: SparkSession, partitions: int) -> None:
    rows = spark.range(100).selectExpr(f"CAST(id % {partitions} AS INT) AS carrier")
    moved = partitioned(rows, partitions, place(partitions, "carrier"))

    found = moved.selectExpr("carrier", "spark_partition_id() AS partition").distinct().collect()

    assert sorted(map(tuple, found)) == [(number, number) for number in range(partitions)]


@pytest.mark.parametrize("count", [0, 3])
def test_rows_are_collected(spark: SparkSession, count: int) -> None:
    rows = spark.range(count).selectExpr(
        "CAST(id AS INT) AS carrier", "CAST('x' AS BINARY) AS payload"
    )

    batches = collected(rows, SCHEMA)

    assert [row for batch in batches for row in batch.to_pylist()] == [
        {"carrier": number, "payload": b"x"} for number in range(count)
    ]


def test_points_in_time_are_in_the_zone(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has(Feature.ARROW_TIME_ZONES) and "timezone" in signature(to_arrow_schema).parameters:
        # An older Spark takes this zone, and a newer one that is told none refuses.
        monkeypatch.setattr(frames, "to_arrow_schema", partial(to_arrow_schema, timezone="UTC"))
    text = "at timestamp, local timestamp_ntz, many array<timestamp>, more struct<at: timestamp>, by map<string, timestamp>"

    found = arrow_schema(schema_of(text), "Europe/Berlin")

    zoned = pa.timestamp("us", "Europe/Berlin")
    assert found.field("at").type == zoned
    assert found.field("local").type == pa.timestamp("us")
    assert found.field("many").type.value_type == zoned
    assert found.field("more").type.field("at").type == zoned
    assert found.field("by").type.item_type == zoned
    value = datetime(2026, 3, 1, tzinfo=UTC)
    assert pa.array([value], found.field("at").type).to_pylist() == [value]
