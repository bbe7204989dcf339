"""Where the time of typical programs goes: prints the profile of each.

    python benchmarks/profiles.py                     all programs
    python benchmarks/profiles.py --quick             the same with fewer records
    python benchmarks/profiles.py --program windows   one program
    python benchmarks/profiles.py --local             in this process, without Spark

Each program runs twice with `env.explain(analyze=True)`; the first run is to warm up.
"""

# ruff: noqa: D102 - what overrides a documented method is documented

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import functions
from benchmarks.session import shared_session
from benchmarks.window_events import WINDOW, Events, time_of

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

RECORDS, FEW_RECORDS = 1_000_000, 100_000
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


def main() -> None:
    """Prints the profiles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer records")
    parser.add_argument("--program", choices=PROGRAMS, help="one program")
    parser.add_argument("--local", action="store_true", help="in this process, without Spark")
    arguments = parser.parse_args()
    records = FEW_RECORDS if arguments.quick else RECORDS
    spark = None if arguments.local else shared_session()
    for name in [arguments.program] if arguments.program else PROGRAMS:
        print(f"## {name}, {records:,} records\n", flush=True)
        _executed(name, records, spark)
        print(_executed(name, records, spark), "\n", flush=True)


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
