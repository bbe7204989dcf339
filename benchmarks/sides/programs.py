"""The jobs as penstock programs, with default settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from benchmarks.kit.epochs import Stop, rate
from benchmarks.sides.functions import (
    add,
    bucket,
    is_even,
    is_wanted,
    key_of,
    pair,
    spread,
    step_1,
    step_2,
    step_3,
    step_4,
    step_5,
    step_6,
    step_7,
    step_8,
    step_9,
)

from penstock.common import Configuration, Row, WatermarkStrategy
from penstock.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from penstock.datastream.connectors.number_seq import NumberSequenceSource

if TYPE_CHECKING:
    from benchmarks.kit.tally import Tally
    from pyspark.sql import SparkSession

    from penstock.datastream import SinkFunction


def six_functions(spark: SparkSession, records: int, tally: Tally) -> None:
    env = _environment(spark, parallelism=2)
    _sums(_numbers(env, records)).add_sink(cast("SinkFunction", tally))
    env.execute("six functions")


def ten_maps(spark: SparkSession, records: int, tally: Tally) -> None:
    _run_ten_maps(_environment(spark, parallelism=2), records, tally)


def ten_maps_in_process(records: int, tally: Tally) -> None:
    _run_ten_maps(_environment(None, parallelism=1), records, tally)


def start_epochs(spark: SparkSession, rows: int, tally: Tally) -> Stop:
    """Starts the six functions over a stream of that many numbers an epoch."""
    env = _environment(spark, parallelism=2)
    _sums(env.from_data_frame(rate(spark, rows)).map(_value)).add_sink(cast("SinkFunction", tally))
    return _start(env)


def start_empty_epochs(spark: SparkSession, parallelism: int, tally: Tally) -> Stop:
    """Starts the same job over a stream whose epochs hold nothing."""
    env = _environment(spark, parallelism)
    _sums(env.from_data_frame(rate(spark, rows=0)).map(_value)).add_sink(
        cast("SinkFunction", tally)
    )
    return _start(env)


def _environment(spark: SparkSession | None, parallelism: int) -> StreamExecutionEnvironment:
    configuration = Configuration()
    if spark is None:
        configuration.set_string("execution.target", "local")
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    env.set_parallelism(parallelism)
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    return env


def _numbers(env: StreamExecutionEnvironment, records: int) -> DataStream:
    source = NumberSequenceSource(1, records)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")


def _sums(numbers: DataStream) -> DataStream:
    wanted = numbers.map(spread).map(bucket).filter(is_wanted)
    return wanted.key_by(key_of).reduce(add).filter(is_even)


def _run_ten_maps(env: StreamExecutionEnvironment, records: int, tally: Tally) -> None:
    stream = _numbers(env, records).map(pair)
    for step in (step_1, step_2, step_3, step_4, step_5, step_6, step_7, step_8, step_9):
        stream = stream.map(step)
    stream.add_sink(cast("SinkFunction", tally))
    env.execute("ten maps")


def _start(env: StreamExecutionEnvironment) -> Stop:
    job = env.execute_async("epochs")

    def stop() -> None:
        job.cancel().result()

    return stop


def _value(row: Row) -> int:
    value: int = row[0]
    return value
