"""Windows that Spark aggregates for give what workers give."""

from __future__ import annotations

import datetime
import random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType
from tests.semantics.running import operators

from penstock.common import Configuration, Duration, Time, WatermarkStrategy
from penstock.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from penstock.datastream.aggregates import Aggregates, Count, Max, Mean, Min, Sum
from penstock.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.errors import InvalidTimestampError
from penstock.executors.spark.frames.aggregation import aggregated
from penstock.graph.source_descriptions import AggregatedFrameSource
from penstock.runtime.columnar.aggregate import ColumnAggregate
from penstock.runtime.columnar.aggregated_rows import KEY, TIME
from penstock.runtime.columnar.plan import ColumnPlan
from penstock.runtime.keys.key_groups import key_group, subtask_of_key_group
from penstock.runtime.windows.operator.window_contents import AggregatedRecords
from penstock.testing import TestingTableSource, local_environment

pytestmark = pytest.mark.spark

IN_SPARK = "Aggregate in Spark (columnar)"
MINUTE = 60_000
COUNT = (ColumnAggregate("count", None),)
NUMBERS = [0, 1, -1, -2, 7, 2**31, -(2**31), 2**61 - 1, 2**61 - 2, -(2**61), 2**63 - 1, -(2**63)]
KEYS: dict[str, list[Any]] = {
    "bigint": NUMBERS + [random.Random(0).randrange(-(2**63), 2**63) for _ in range(200)],
    "int": list(range(-100, 100)),
    "smallint": [-(2**15), -1, 0, 2**15 - 1],
    "tinyint": [-128, -1, 0, 127],
    "string": ["", "a", "tea", "größer", "日本", "🙂", *map(str, range(100))],
    "boolean": [True, False],
    "date": [datetime.date(1, 1, 1) + datetime.timedelta(days=9999 * day) for day in range(100)],
}


def description(frame: Any, *, size: int = MINUTE, offset: int = 0) -> AggregatedFrameSource:
    plan = ColumnPlan("k`ey", (None,), COUNT, AggregatedRecords(Count()), is_single=True)
    return AggregatedFrameSource(frame, "at", size, offset, plan, 5, 120)


@pytest.mark.parametrize("kind", KEYS)
def test_keys_go_to_the_subtasks_that_own_them(spark: SparkSession, kind: str) -> None:
    keys = [None, *KEYS[kind]]
    frame = spark.createDataFrame([(key, 0) for key in keys], f"`k``ey` {kind}, at int")
    rows = aggregated(description(frame), 2).withColumn("carrier", sf.spark_partition_id())
    found = {row.group_key: (row.subtask_number, row.carrier) for row in rows.collect()}
    subtasks = {key: subtask_of_key_group(key_group(key, 120), 5, 120) for key in keys}
    assert found == {key: (subtask, subtask % 2) for key, subtask in subtasks.items()}


@pytest.mark.parametrize(("size", "offset"), [(MINUTE, 0), (7, 3), (10, -4), (1, 0), (1 << 60, 5)])
def test_times_stand_for_their_panes(spark: SparkSession, size: int, offset: int) -> None:
    far = 2**63 - 1
    times = {-far, -far + 1, -size - 1, -size, -1, 0, 1, size - 1, size, far - 1, far}
    frame = spark.createDataFrame([(time, time) for time in times], "`k``ey` long, at long")
    rows = aggregated(description(frame, size=size, offset=offset), 5).collect()
    assert len(rows) == len(times)
    assert [it for it in rows if (it[KEY] - offset) // size != (it[TIME] - offset) // size] == []


ALL = Aggregates(
    records=Count(),
    numbers=Count("number"),
    total=Sum("number"),
    mean=Mean("number"),
    small=Mean("small"),
    reals=Sum("real"),
    least=Min("number"),
    greatest=Max("small"),
)


def table() -> pa.Table:
    numbers = random.Random(1)
    choices = [None, 0, 5, -3, 2**62, -(2**63), 2**63 - 1]
    count = 3_000
    return pa.table(
        {
            "item": [numbers.choice(["tea", "ink", "größer", None]) for _ in range(count)],
            "at": [numbers.randrange(-300_000, 300_000) for _ in range(count)],
            "number": pa.array([numbers.choice(choices) for _ in range(count)], pa.int64()),
            "small": pa.array([numbers.choice([None, 7, -7]) for _ in range(count)], pa.int16()),
            "real": [numbers.choice([None, 0.5, -8.0, float("inf")]) for _ in range(count)],
        }
    )


def table_frame(spark: SparkSession) -> DataFrame:
    rows = [tuple(row.values()) for row in table().to_pylist()]
    return spark.createDataFrame(rows, from_arrow_schema(table().schema))


def strategy() -> WatermarkStrategy:
    bound = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_hours(1))
    return bound.with_timestamp_column("at")


def rows_in_spark(spark: SparkSession, parallelism: int, **settings: str) -> DataStream:
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key.replace("_", "."), value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    env.set_parallelism(parallelism)
    frame = table_frame(spark).repartition(3)
    return env.from_data_frame(frame, watermark_strategy=strategy())


def with_bounds(key: Any, window: Any, found: Any) -> Any:
    return [(key, window.start, repr(*found))]


PROGRAMS: dict[str, Any] = {
    "plain": lambda windows: windows.aggregate(ALL).map(repr),
    "a function of the window": lambda windows: windows.aggregate(ALL, with_bounds).map(repr),
    "late records allowed": lambda windows: (
        windows.allowed_lateness(MINUTE).aggregate(Sum("number")).map(repr)
    ),
    "nothing where all is null": lambda windows: windows.aggregate(Max("small")).map(repr),
}
WINDOWS = {
    "tumbling": TumblingEventTimeWindows.of(Time.seconds(60), Time.seconds(7)),
    "sliding": SlidingEventTimeWindows.of(Time.seconds(60), Time.seconds(20)),
}


@pytest.mark.parametrize("assigner", WINDOWS)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_gives_what_workers_give(
    spark: SparkSession, assigner: str, program: str, parallelism: int
) -> None:
    source = TestingTableSource([table()])
    local = local_environment().from_source(source, strategy(), "rows")
    expected, found = (
        PROGRAMS[program](rows.key_by("item").window(WINDOWS[assigner]))
        for rows in (local, rows_in_spark(spark, parallelism))
    )
    assert IN_SPARK in str(found.explain())
    assert sorted(found.execute_and_collect()) == sorted(expected.execute_and_collect())


def sums(rows: DataStream) -> DataStream:
    return rows.key_by("item").window(WINDOWS["tumbling"]).aggregate(Sum("small"))


class TestModes:
    @pytest.fixture
    def expected(self, spark: SparkSession) -> list[int]:
        env = StreamExecutionEnvironment.get_execution_environment(
            Configuration().set_string("execution.columnar.in-spark", "false"), spark=spark
        )
        frame = table_frame(spark)
        results = sums(env.from_data_frame(frame, watermark_strategy=strategy()))
        assert IN_SPARK not in str(results.explain())
        return sorted(results.execute_and_collect())

    def test_batch(self, spark: SparkSession, expected: list[int]) -> None:
        rows = rows_in_spark(spark, 2)
        rows.get_execution_environment().set_runtime_mode(RuntimeExecutionMode.BATCH)
        assert sorted(sums(rows).execute_and_collect()) == expected

    def test_rocksdb(self, spark: SparkSession, expected: list[int]) -> None:
        rows = rows_in_spark(spark, 2, state_backend_type="rocksdb")
        windows = rows.key_by("item").window(WINDOWS["tumbling"])
        results = windows.aggregate(Sum("small"), lambda key, window, found: found)
        assert sorted(results.execute_and_collect()) == expected

    def test_profiled(self, spark: SparkSession, expected: list[int]) -> None:
        results = sums(rows_in_spark(spark, 2, execution_profile="true"))
        assert sorted(results.execute_and_collect()) == expected

    def test_without_periodic_watermarks(self, spark: SparkSession, expected: list[int]) -> None:
        rows = rows_in_spark(spark, 2)
        rows.get_execution_environment().get_config().set_auto_watermark_interval(0)
        assert sorted(sums(rows).execute_and_collect()) == expected

    def test_as_a_data_frame(self, spark: SparkSession, expected: list[int]) -> None:
        frame = sums(rows_in_spark(spark, 2)).to_data_frame("total long")
        assert sorted(row.total for row in frame.collect()) == expected

    def test_with_another_exchange_behind(self, spark: SparkSession, expected: list[int]) -> None:
        results = sums(rows_in_spark(spark, 5)).key_by(lambda total: total % 3).map(lambda it: it)
        assert sorted(results.execute_and_collect()) == expected


def test_counts_the_records_that_spark_read(spark: SparkSession) -> None:
    results = sums(rows_in_spark(spark, 2)).execute_and_collect()
    windows = len(list(results))
    reports = operators(results._client.wait().metrics)
    found = {name: (it["records_in"], it["records_out"]) for name, it in reports.items()}
    rows = found["Aggregate in Spark"][1]
    assert rows >= windows
    assert found == {
        "Source: DataFrame": (3_000, 3_000),
        "Aggregate in Spark": (3_000, rows),
        "TumblingEventTimeWindows": (rows, windows),
        "Sink: Data stream collect sink": (windows, 0),
    }
    assert reports["TumblingEventTimeWindows"]["user"] == {"num_late_records_dropped": 0}


def test_a_frame_without_rows(spark: SparkSession) -> None:
    for frame in (
        spark.createDataFrame([], "item string, at long, small int"),
        table_frame(spark).where("item = 'nothing'"),
    ):
        env = StreamExecutionEnvironment.get_execution_environment(spark=spark).set_parallelism(3)
        rows = env.from_data_frame(frame, watermark_strategy=strategy())
        assert list(sums(rows).execute_and_collect()) == []


@pytest.mark.parametrize(
    "setting",
    [
        ("spark.sql.retainGroupColumns", "false"),
        ("spark.sql.ansi.enforceReservedKeywords", "true"),
        ("spark.sql.ansi.enabled", "false"),
        ("spark.sql.adaptive.enabled", "true"),
    ],
)
@pytest.mark.parametrize("parallelism", [2, 3])
def test_whatever_the_session_is_set_to(
    spark: SparkSession, setting: tuple[str, str], parallelism: int
) -> None:
    names = {"${key}": "string", "a.t": "long", "a`m": "long", "A.T": "integer"}
    schema = StructType()
    for name, kind in names.items():
        schema.add(name, kind)
    frame = spark.createDataFrame([("tea", 7, 2**63 - 1, 1)] * 3, schema)
    usual = str(spark.conf.get(setting[0]))
    spark.conf.set(*setting)
    try:
        env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
        bound = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("a.t")
        rows = env.set_parallelism(parallelism).from_data_frame(frame, watermark_strategy=bound)
        sums = rows.key_by("${key}").window(WINDOWS["tumbling"]).aggregate(Sum("a`m"))
        assert IN_SPARK in str(sums.explain())
        assert list(sums.execute_and_collect()) == [3 * (2**63 - 1)]
    finally:
        spark.conf.set(setting[0], usual)


@pytest.mark.parametrize("time", [None, -(2**63)])
def test_a_record_without_a_timestamp_fails_the_job(spark: SparkSession, time: int | None) -> None:
    frame = spark.createDataFrame(
        [("tea", 5, 1), ("ink", time, 1)], "item string, at long, small int"
    )
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    rows = env.from_data_frame(frame, watermark_strategy=strategy())
    with pytest.raises(
        InvalidTimestampError, match="record with the key 'ink': its column 'at' holds"
    ):
        list(sums(rows).execute_and_collect())
