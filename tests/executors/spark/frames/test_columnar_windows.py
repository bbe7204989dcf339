"""Windows over DataFrames, column by column, are what Spark computes."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from penstock.common import Duration, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.aggregates import Aggregates, Count, Max, Mean, Min, Sum
from penstock.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows

pytestmark = pytest.mark.spark

ALL = Aggregates(
    total=Sum("amount"), records=Count(), mean=Mean("amount"), least=Min("part"), most=Max("part")
)


def with_start(key: Any, window: Any, found: Any) -> Any:
    return [(key, window.start, *row) for row in found]


@pytest.mark.parametrize(
    ("assigner", "window"),
    [
        (TumblingEventTimeWindows.of(60_000), ("1 minute",)),
        (SlidingEventTimeWindows.of(60_000, 20_000), ("1 minute", "20 seconds")),
    ],
)
def test_gives_what_spark_gives(
    spark: SparkSession, assigner: Any, window: tuple[str, ...]
) -> None:
    frame = spark.range(0, 20_000, 1, 2).selectExpr(
        "concat('key ', id % 7) AS key",
        "timestamp_micros((id * 7919 % 20000) * 31007 - 90000000) AS time",
        "IF(id % 5 = 0, NULL, id % 100) AS amount",
        "id % 50 / 4.0D AS part",
        "id % 2 AS split",
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(20))
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark).set_parallelism(3)
    rows = env.from_data_frame(
        frame, watermark_strategy=strategy.with_timestamp_column("time"), split_column="split"
    )
    found = rows.key_by("key").window(assigner).aggregate(ALL, with_start)
    assert "Pre-Aggregate (columnar)" in str(found.explain())
    expected = (
        frame.groupBy("key", sf.window("time", *window).start.alias("start"))
        .agg(sf.sum("amount"), sf.count("*"), sf.mean("amount"), sf.min("part"), sf.max("part"))
        .withColumn("start", sf.unix_millis("start"))
    )
    size = spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert sorted(found.execute_and_collect()) == sorted(map(tuple, expected.collect()))
    assert spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch") == size


def test_timestamps_of_a_column_reach_other_functions(spark: SparkSession) -> None:
    frame = spark.range(0, 3, 1, 1).selectExpr("timestamp_millis(id - 1) AS time")
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("time")
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark).set_parallelism(1)
    rows = env.from_data_frame(frame, watermark_strategy=strategy)
    times = rows.process(lambda row, ctx: [ctx.timestamp()])
    assert list(times.execute_and_collect()) == [-1, 0, 1]
