"""Topics of Kafka read and written by hand in PySpark, with Spark's own connector."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from benchmarks.sides.kafka_programs import message, number_of
from scripts.kafka_jars import fetched

if TYPE_CHECKING:
    from benchmarks.kit.tally import Tally
    from pyspark.sql import SparkSession

CONNECTOR = "4.2.0"
"""Spark 4.3's is not published yet; this one runs in its sessions."""
PARALLELISM = 2
BLOCK = 4_096

Batches = Iterator[pa.RecordBatch]


def connector() -> list[Path]:
    """The connector's jars, without those that Spark has."""
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.submodule_search_locations
    spark = Path(found.submodule_search_locations[0], "jars")
    there = {_module(jar) for jar in spark.glob("*.jar")}
    jars = fetched("org.apache.spark", "spark-sql-kafka-0-10_2.13", CONNECTOR).glob("*.jar")
    return sorted(jar for jar in jars if _module(jar) not in there)


def read_numbers(spark: SparkSession, servers: str, topic: str, tally: Tally) -> None:
    """Reads all of a topic, and hands the numbers in its messages to the tally."""

    def loop(batches: Batches) -> Batches:
        for batch in batches:
            for text in batch.column(0).to_pylist():
                tally.invoke(number_of(text))
        tally.close()
        yield from ()

    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", servers)
    reader = reader.option("kafka.isolation.level", "read_committed").option("subscribe", topic)
    reader = reader.option("startingOffsets", "earliest").option("endingOffsets", "latest")
    reader.load().selectExpr("CAST(value AS STRING)").mapInArrow(loop, "nothing int").collect()


def write_numbers(spark: SparkSession, servers: str, topic: str, records: int) -> None:
    """Writes messages of the numbers from 1, at least once."""

    def loop(batches: Batches) -> Batches:
        for batch in batches:
            numbers = batch.column(0).to_pylist()
            for start in range(0, len(numbers), BLOCK):
                texts = [message(number) for number in numbers[start : start + BLOCK]]
                yield pa.RecordBatch.from_arrays([pa.array(texts)], names=["value"])

    numbers = spark.range(1, records + 1, 1, PARALLELISM)
    writer = numbers.mapInArrow(loop, "value string").write.format("kafka")
    writer.option("kafka.bootstrap.servers", servers).option("topic", topic).save()


def _module(jar: Path) -> str:
    return jar.name.rpartition("-")[0]
