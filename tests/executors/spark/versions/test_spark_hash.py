from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.executors.spark.versions.spark_hash import hash_of, numbers_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_the_hash_is_sparks(spark: SparkSession) -> None:
    rows = spark.range(10_000).selectExpr("hash(CAST(id AS INT)) AS found").collect()

    assert [row.found for row in rows] == [hash_of(number) for number in range(10_000)]


@pytest.mark.parametrize("partitions", [1, 2, 3, 8, 200])
def test_each_partition_has_a_number(partitions: int) -> None:
    numbers = numbers_for(partitions)

    assert [hash_of(number) % partitions for number in numbers] == list(range(partitions))
