"""Topics of Kafka read and written by hand in PySpark, with Spark's own connector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from benchmarks.sides.kafka_programs import message, number_of

if TYPE_CHECKING:
    from benchmarks.kit.tally import Tally
    from pyspark.sql import SparkSession

PARALLELISM = 2
BLOCK = 4_096

Batches = Iterator[pa.RecordBatch]


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
