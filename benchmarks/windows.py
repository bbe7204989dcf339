"""How fast windows are, as ratios to PyFlink and to Spark, measured in one run.

    python benchmarks/windows.py                  all parts
    python benchmarks/windows.py --quick          the same with less of everything
    python benchmarks/windows.py --part 2         one part
    python benchmarks/windows.py --json FILE      the figures as JSON too

Events of 1,000 keys, one a millisecond; their amounts are added up by key and minute. Parts 1 and 2 run
over events in order and over events that are shuffled within 30 seconds.

Part 1: a Python reduce function, against PyFlink in thread mode.
Part 2: a sum over the columns of a DataFrame, against Spark's own `groupBy(window(...), key).sum()` and
        against a Python reduce function over the same DataFrame.
Part 3: windows of an hour that slide by a minute, against tumbling ones of a minute.
Part 4: the memory that a window takes for each key.

All sides' results are compared with what they have to be, before the timed runs.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.kit import peers, script
from benchmarks.kit.measure import Row, Run, alternate
from benchmarks.kit.session import shared_session
from benchmarks.kit.tally import Outcome, Tally, timed
from benchmarks.sides.window_events import (
    KEYS,
    SPREAD,
    WINDOW,
    Events,
    add,
    amount_of,
    as_sql,
    expected,
    key_of,
    time_of,
)
from pyspark.sql import functions as sf

from penstock.common import Duration, WatermarkStrategy
from penstock.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from penstock.datastream.aggregates import Sum
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.runtime.exchange.elements import BLOCK_SIZE, Block
from penstock.runtime.windows.operator.window_call import WindowCall
from penstock.runtime.windows.operator.window_contents import ReducedRecords
from penstock.runtime.windows.operator.window_sets import window_operator
from penstock.runtime.windows.triggers.time_triggers import EventTimeTrigger
from penstock.testing import OneInputOperatorHarness

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.datastream import SinkFunction

PARALLELISM = 2
ORDERS = {"in order": False, "shuffled within 30 s": True}
TUMBLING = TumblingEventTimeWindows.of(WINDOW)
SLIDING = SlidingEventTimeWindows.of(60 * WINDOW, WINDOW)
SUM = "columnar sum"
REDUCE = "Python reduce"
PENSTOCK = "penstock"


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    rounds: int = 5
    records: int = 4_000_000
    sliding_records: int = 1_000_000
    flink_records: int = 50_000
    check_records: int = 20_000
    windows: int = 20


QUICK = Scale(
    rounds=1,
    records=200_000,
    sliding_records=100_000,
    flink_records=5_000,
    check_records=5_000,
    windows=5,
)


def environment(spark: SparkSession) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    env.set_parallelism(PARALLELISM)
    return env.set_runtime_mode(RuntimeExecutionMode.STREAMING)


def late_by(is_shuffled: bool) -> WatermarkStrategy:
    bound = Duration.of_millis(SPREAD if is_shuffled else 0)
    return WatermarkStrategy.for_bounded_out_of_orderness(bound)


def reduced_numbers(
    spark: SparkSession, records: int, is_shuffled: bool, assigner: Any = TUMBLING
) -> DataStream:
    """The job that PyFlink has too."""
    numbers = environment(spark).from_source(
        NumberSequenceSource(1, records), WatermarkStrategy.no_watermarks(), "numbers"
    )
    events = numbers.map(Events(records, is_shuffled)).assign_timestamps_and_watermarks(
        late_by(is_shuffled).with_timestamp_assigner(time_of)
    )
    return events.key_by(key_of).window(assigner).reduce(add).map(amount_of)


def frame(spark: SparkSession, records: int, is_shuffled: bool) -> DataFrame:
    return spark.range(0, records, 1, PARALLELISM).selectExpr(*as_sql(records, is_shuffled))


def rows(spark: SparkSession, records: int, is_shuffled: bool) -> DataStream:
    strategy = late_by(is_shuffled).with_timestamp_column("time")
    events = frame(spark, records, is_shuffled)
    return environment(spark).from_data_frame(events, watermark_strategy=strategy)


def reduced_rows(
    spark: SparkSession, records: int, is_shuffled: bool, assigner: Any = TUMBLING
) -> DataStream:
    windows = rows(spark, records, is_shuffled).key_by("key").window(assigner)
    return windows.reduce(lambda known, new: (known[0], known[1], known[2] + new[2])).map(amount_of)


def summed_rows(
    spark: SparkSession, records: int, is_shuffled: bool, assigner: Any = TUMBLING
) -> DataStream:
    return rows(spark, records, is_shuffled).key_by("key").window(assigner).aggregate(Sum("amount"))


def by_spark(spark: SparkSession, records: int, is_shuffled: bool) -> DataFrame:
    """Spark's own job."""
    window = sf.window("time", f"{WINDOW} milliseconds")
    return frame(spark, records, is_shuffled).groupBy(window, "key").sum("amount")


Job = Callable[[], DataStream]


def outcome(job: Job) -> Outcome:
    """Runs a job of penstock's, with what it gives counted and summed."""

    def run(tally: Tally) -> None:
        results = job()
        results.add_sink(cast("SinkFunction", tally))
        results.get_execution_environment().execute()

    return timed(run)


def spark_outcome(job: Callable[[], DataFrame]) -> tuple[int, int]:
    (found,) = job().agg(sf.count("*"), sf.sum("sum(amount)")).collect()
    return found[0], found[1]


def python_windows(spark: SparkSession, scale: Scale) -> list[Row]:
    """Part 1: a Python reduce function."""
    lines: list[Row] = []
    for order, is_shuffled in ORDERS.items():
        wanted = expected(scale.check_records, is_shuffled)
        job = partial(reduced_numbers, spark, scale.records, is_shuffled)
        _check(
            PENSTOCK,
            outcome(partial(reduced_numbers, spark, scale.check_records, is_shuffled)),
            wanted,
        )
        arguments = "thread", "sides.pyflink_windows", "shuffled" if is_shuffled else "ordered"
        with peers.PyFlink(*arguments) as flink:
            _check("PyFlink", flink.check(scale.check_records), wanted)
            flink.rate(scale.check_records)
            peer = f"PyFlink {peers.VERSION}, thread mode"
            sides: dict[str, Run] = {
                PENSTOCK: partial(_rate, job, scale.records),
                peer: partial(flink.rate, scale.flink_records),
            }
            figures = alternate(sides, scale.rounds)
        lines.append(
            Row(
                job=f"a Python reduce over minutes, {scale.records:,} events {order}",
                unit="records/s",
                penstock=figures[PENSTOCK],
                against=peer,
                other=figures[peer],
                target=20,
            )
        )
    return lines


def columnar_windows(spark: SparkSession, scale: Scale) -> list[Row]:
    """Part 2: a sum over the columns of a DataFrame."""
    lines: list[Row] = []
    for order, is_shuffled in ORDERS.items():
        _check_columnar(spark, scale.check_records, is_shuffled)
        sums = partial(summed_rows, spark, scale.records, is_shuffled)
        reduced = partial(reduced_rows, spark, scale.records, is_shuffled)
        its_own = partial(by_spark, spark, scale.records, is_shuffled)
        sides: dict[str, Run] = {
            SUM: partial(_rate, sums, scale.records),
            "Spark's groupBy": partial(_spark_rate, its_own, scale.records),
            REDUCE: partial(_rate, reduced, scale.records),
        }
        for run in sides.values():
            run()
        figures = alternate(sides, scale.rounds)
        what = f"a columnar sum over minutes, {scale.records:,} events {order}"
        lines += [
            Row(
                job=what,
                unit="records/s",
                penstock=figures[SUM],
                against=peer,
                other=figures[peer],
                target=target,
            )
            for peer, target in (("Spark's groupBy", 0.8), (REDUCE, 2))
        ]
    return lines


def _check_columnar(spark: SparkSession, records: int, is_shuffled: bool) -> None:
    wanted = expected(records, is_shuffled)
    sums = partial(summed_rows, spark, records, is_shuffled)
    if "Aggregate in Spark (columnar)" not in str(sums().explain()):
        sys.exit("The sum is not computed on columns.")
    _check(SUM, outcome(sums), wanted)
    _check(REDUCE, outcome(partial(reduced_rows, spark, records, is_shuffled)), wanted)
    found = spark_outcome(partial(by_spark, spark, records, is_shuffled))
    _check("Spark's groupBy", Outcome(0, *found), wanted)


def sliding_windows(spark: SparkSession, scale: Scale) -> list[Row]:
    """Part 3: windows that slide."""
    lines: list[Row] = []
    for name, job in ((REDUCE, reduced_rows), (SUM, summed_rows)):
        sides: dict[str, Run] = {
            "sliding": lambda job=job: _seconds(
                partial(job, spark, scale.sliding_records, is_shuffled=False, assigner=SLIDING)
            ),  # type: ignore[misc]
            "tumbling": lambda job=job: _seconds(
                partial(job, spark, scale.sliding_records, is_shuffled=False)
            ),  # type: ignore[misc]
        }
        for run in sides.values():
            run()
        figures = alternate(sides, scale.rounds)
        lines.append(
            Row(
                job=f"{name} over hours that slide by a minute, {scale.sliding_records:,} events",
                unit="seconds",
                penstock=figures["sliding"],
                against="minutes",
                other=figures["tumbling"],
                target=60,
                lower_is_better=True,
            )
        )
    return lines


def window_state(spark: SparkSession, scale: Scale) -> list[Row]:  # noqa: ARG001
    """Part 4: the memory that a window takes for each key."""
    figures = alternate({PENSTOCK: partial(_bytes_of_a_key, scale.windows)}, scale.rounds)
    return [
        Row(
            job="what a window keeps for a key, its timer and the record of three numbers included",
            unit="bytes",
            penstock=figures[PENSTOCK],
            target=500,
            lower_is_better=True,
        )
    ]


def _bytes_of_a_key(windows: int) -> float:
    contents = ReducedRecords(add)
    operator = window_operator(TUMBLING, EventTimeTrigger(), contents, WindowCall())
    gc.collect()
    with OneInputOperatorHarness(operator, key_selector=0) as harness:
        tracemalloc.start()
        for window in range(windows):
            for start in range(0, KEYS, BLOCK_SIZE):
                keys = list(range(start, min(start + BLOCK_SIZE, KEYS)))
                times: list[int | None] = [window * WINDOW + key for key in keys]
                values = [(key, time, key) for key, time in zip(keys, times, strict=True)]
                harness.operator.process_block(Block(values, times, keys))
        del keys, times, values
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return taken / (windows * KEYS)


def _seconds(job: Job) -> float:
    return outcome(job).seconds


def _rate(job: Job, records: int) -> float:
    return records / outcome(job).seconds


def _spark_rate(job: Callable[[], DataFrame], records: int) -> float:
    start = perf_counter()
    spark_outcome(job)
    return records / (perf_counter() - start)


def _check(side: str, found: Outcome, wanted: tuple[int, int]) -> None:
    if (found.count, found.total) != wanted:
        sys.exit(f"Wrong results of {side}: {found.count, found.total} instead of {wanted}.")


PARTS = (python_windows, columnar_windows, sliding_windows, window_state)


def main() -> None:
    arguments = parser().parse_args()
    scale = QUICK if arguments.quick else Scale()
    spark = shared_session()
    spark.conf.set("spark.sql.shuffle.partitions", str(PARALLELISM))
    script.run(__file__, arguments, [partial(part, spark, scale) for part in PARTS])
    spark.stop()


def parser() -> argparse.ArgumentParser:
    return script.parser(__doc__, len(PARTS))


if __name__ == "__main__":
    main()
