"""Where the time of typical programs goes: prints the profile of each.

    python benchmarks/profiles.py                     all programs
    python benchmarks/profiles.py --quick             the same with fewer records
    python benchmarks/profiles.py --program windows   one program
    python benchmarks/profiles.py --local             in this process, without Spark

Each program runs twice with `env.explain(analyze=True)`; the first run is to warm up. The last two need
Spark: a columnar sum over a DataFrame, and the stream of `keyed_state.py` with its first epochs.
"""

# ruff: noqa: D102 - what overrides a documented method is documented

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.keyed_state import Nowhere, keyed_rows, penstock_counts
from benchmarks.kit.session import shared_session
from benchmarks.sides import functions
from benchmarks.sides.window_events import WINDOW, Events, time_of
from benchmarks.windows import summed_rows

from penstock.common import Configuration, Duration, Types, WatermarkStrategy
from penstock.datastream import (
    DataStream,
    EmbeddedRocksDBStateBackend,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.datastream.window import TumblingEventTimeWindows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS, FEW_RECORDS = 1_000_000, 100_000
MORE = 4
"""How many times as many records the programs have that need Spark."""
KEYS = 1_000


def ten_maps(env: StreamExecutionEnvironment, records: int) -> None:
    stream = _numbers(env, records).map(functions.pair)
    for step in range(1, 10):
        stream = stream.map(getattr(functions, f"step_{step}"))
    stream.add_sink(_ignore)


def keyed_reduce(env: StreamExecutionEnvironment, records: int) -> None:
    wanted = _numbers(env, records).map(functions.spread).map(functions.bucket)
    sums = wanted.filter(functions.is_wanted).key_by(functions.key_of).reduce(functions.add)
    sums.filter(functions.is_even).add_sink(_ignore)


def windows(env: StreamExecutionEnvironment, records: int) -> None:
    lateness = Duration.of_millis(WINDOW // 2)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(lateness)
    events = _numbers(env, records).map(Events(records, is_shuffled=True))
    timed = events.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(time_of))
    keyed = timed.map(_key_and_amount).key_by(_first)
    keyed.window(TumblingEventTimeWindows.of(Duration.of_millis(WINDOW))).reduce(_sum).add_sink(
        _ignore
    )


def keyed_state(env: StreamExecutionEnvironment, records: int) -> None:
    env.set_state_backend(EmbeddedRocksDBStateBackend())
    _numbers(env, records).key_by(_key).process(Counting()).add_sink(_ignore)


class Counting(KeyedProcessFunction):
    """Counts the records of each key, in a value state."""

    def open(self, context: RuntimeContext) -> None:
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


PROGRAMS: dict[str, Callable[[StreamExecutionEnvironment, int], None]] = {
    "ten maps": ten_maps,
    "keyed reduce": keyed_reduce,
    "windows": windows,
    "keyed state": keyed_state,
}


def columnar_sum(spark: SparkSession, records: int) -> Any:
    """The sum of `windows.py`."""
    sums = summed_rows(spark, records, is_shuffled=False)
    sums.add_sink(_ignore)
    return sums.get_execution_environment().explain(analyze=True)


def stream_of_counts(spark: SparkSession, records: int) -> Any:
    """The first epochs of the stream of `keyed_state.py`: 100,000 records each, of 1,000 keys."""
    configuration = Configuration().set_string("execution.profile", "true")
    counts = penstock_counts(keyed_rows(spark, KEYS), "hashmap", configuration)
    counts.add_sink(Nowhere())
    job = counts.get_execution_environment().execute_async("stream of counts")
    while job.progress().records_in < records:
        sleep(0.02)
    profile = job.progress().profile
    job.cancel().result()
    return profile


ON_SPARK: dict[str, Callable[[SparkSession, int], Any]] = {
    "columnar sum": columnar_sum,
    "stream of counts": stream_of_counts,
}


def main() -> None:
    """Prints the profiles."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [*PROGRAMS, *ON_SPARK]
    parser.add_argument("--quick", action="store_true", help="fewer records")
    parser.add_argument("--program", choices=names, help="one program")
    parser.add_argument("--local", action="store_true", help="in this process, without Spark")
    arguments = parser.parse_args()
    records = FEW_RECORDS if arguments.quick else RECORDS
    spark = None if arguments.local else shared_session()
    for name in [arguments.program] if arguments.program else names:
        count = records
        if name in PROGRAMS:
            run: Callable[[], Any] = partial(_executed, name, count, spark)
        elif spark is not None:
            count *= MORE
            run = partial(ON_SPARK[name], spark, count)
        else:
            continue
        print(f"## {name}, {count:,} records\n", flush=True)
        run()
        print(run(), "\n", flush=True)


def _executed(name: str, records: int, spark: Any) -> Any:
    target = "local" if spark is None else "spark"
    configuration = Configuration().set_string("execution.target", target)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    env.set_parallelism(2)
    PROGRAMS[name](env, records)
    return env.explain(analyze=True)


def _numbers(env: StreamExecutionEnvironment, records: int) -> DataStream:
    source = NumberSequenceSource(1, records)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")


def _key(number: int) -> int:
    return number * 7919 % KEYS


def _key_and_amount(event: tuple[int, int, int]) -> tuple[int, int]:
    return event[0], event[2]


def _first(pair: tuple[int, int]) -> int:
    return pair[0]


def _sum(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0], one[1] + other[1]


def _ignore(value: object) -> None:
    pass


if __name__ == "__main__":
    main()
