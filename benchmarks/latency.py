"""How long a result takes from the record that brings it about to the hands of the consumer.

    python benchmarks/latency.py                  both programs
    python benchmarks/latency.py --quick          the same for a shorter time
    python benchmarks/latency.py --part 1         one program
    python benchmarks/latency.py --json FILE      the figures as JSON too

Part 1: counts of 100 keys in tumbling windows of one second in event time, at 1,000 records/s. Event time
        is when a record was due, in order (`for_monotonous_timestamps`), so the record that completes a
        window is the first one that is due at the window's end or after.
Part 2: every record as it is, at the same rate.

The consumer iterates over `execute_and_collect()`: it has a result once the epoch's commit is done. The
latency is by the clock of the driver, from when the record was due to be read, not from when it was read:
what waits for an epoch to end is counted. Each round is a job of its own, whose first seconds do not
count; what the windows hold is checked in every round.

Other programs are measured by the same means:

    rows = env.from_data_frame(paced(spark, 1_000))     # Row(value, created); from benchmarks.kit.paced
    found = measure_latency(stream, due, seconds=10)    # stream: what comes of the rows, a DataStream
    found.quantile(0.5), found.quantile(0.99), max(found.milliseconds), found.results

where `due(result)` says when the record that brought the result about was due, in milliseconds since 1970:
its `created` if the result carries it, the end of the window plus the out-of-orderness if it is one of a
window. With two subtasks at the source each has every other record, so the watermark goes with both.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.kit import script
from benchmarks.kit.measure import Row
from benchmarks.kit.session import shared_session

from penstock.common import Row as Record
from penstock.common import Time, WatermarkStrategy
from penstock.datastream import (
    AggregateFunction,
    DataStream,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.window import TimeWindow, TumblingEventTimeWindows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RATE = 1_000
KEYS = 100
WINDOW = 1_000
PARALLELISM = 2

Count = tuple[int, int, int]
"""A key, the end of a window, and how many records of the key were in it."""


@dataclass(frozen=True)
class Scale:
    """How much of everything: rounds, and the seconds of each that count."""

    rounds: int = 5
    seconds: float = 10


QUICK = Scale(rounds=1, seconds=5)


@dataclass(frozen=True)
class Latencies:
    """What one run of a stream came to.

    Attributes:
        milliseconds: The latency of each result that counts, as they arrived.
        results: All results in the order of their arrival, those before and after too.
    """

    milliseconds: list[float]
    results: list[Any]

    def quantile(self, share: float) -> float:
        """The latency that this share of the results does not exceed."""
        return quantile(self.milliseconds, share)


def quantile(figures: Iterable[float], share: float) -> float:
    """The smallest figure that this share of all does not exceed."""
    known = sorted(figures)
    return known[max(0, -int(-share * len(known) // 1) - 1)]


def measure_latency(
    stream: DataStream,
    due: Callable[[Any], int],
    *,
    seconds: float,
    warm_up: float = 5.0,
    patience: float = 60.0,
) -> Latencies:
    """Runs a stream and takes down how late each of its results is in the client.

    Args:
        stream: What is to be measured; its job must have no other streaming query beside it.
        due: Says of a result when the record that brought it about was due, in milliseconds since 1970.
        seconds: The results that were due in as many seconds count.
        warm_up: Counting begins that many seconds after the arrival of the first result.
        patience: How many seconds longer than that the stream may take, until its first result too.

    Raises:
        RuntimeError: If no result arrived that counts.
    """
    collected = stream.execute_and_collect()
    guard = threading.Timer(patience + warm_up + seconds, collected.close)
    guard.start()
    try:
        found = _taken(((time.time() * 1_000, it) for it in collected), due, seconds, warm_up)
    finally:
        guard.cancel()
        collected.close()
    if not found.milliseconds:
        raise RuntimeError(f"None of {len(found.results)} results arrived in the time that counts.")
    return found


def _taken(
    arrivals: Iterator[tuple[float, Any]], due: Callable[[Any], int], seconds: float, warm_up: float
) -> Latencies:
    """Takes results, each with the time of its arrival, until one is due after those that count."""
    found = Latencies([], [])
    begin: float | None = None
    for arrived, result in arrivals:
        begin = begin if begin is not None else arrived + warm_up * 1_000
        created = due(result)
        found.results.append(result)
        if created >= begin + seconds * 1_000:
            break
        if created >= begin:
            found.milliseconds.append(arrived - created)
    return found


class CountRecords(AggregateFunction):
    """Counts."""

    def create_accumulator(self) -> int:  # noqa: D102
        return 0

    def add(self, value: Record, accumulator: int) -> int:  # noqa: D102
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:  # noqa: D102
        return accumulator

    def merge(self, a: int, b: int) -> int:  # noqa: D102
        return a + b


class WithWindow(ProcessWindowFunction[int, Count, int, TimeWindow]):
    """Says with a count which key and window it is of."""

    def process(  # noqa: D102
        self, key: int, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[int]
    ) -> Iterator[Count]:
        for count in elements:
            yield key, context.window().end, count


def windowed_counts(rows: DataStream) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda row, _: row[1]
    )
    return (
        rows.assign_timestamps_and_watermarks(strategy)
        .key_by(lambda row: row[0] % KEYS)
        .window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW)))
        .aggregate(CountRecords(), window_function=WithWindow())
    )


def window_end(count: Count) -> int:
    return count[1]


def created(record: tuple[int, int]) -> int:
    return record[1]


def check_counts(counts: Iterable[Count]) -> None:
    """Checks whole windows, which are all but the first and the last that arrived: none is missing."""
    windows: dict[int, Counter[int]] = {}
    for key, end, count in counts:
        windows.setdefault(end, Counter())[key] += count
    ends = sorted(windows)
    wanted = Counter(dict.fromkeys(range(KEYS), RATE * WINDOW // 1_000 // KEYS))
    if ends != list(range(ends[0], ends[-1] + 1, WINDOW)) or len(ends) < 3:
        sys.exit(f"Wrong results: the windows that arrived end at {ends}.")
    for end in ends[1:-1]:
        if windows[end] != wanted:
            sys.exit(f"Wrong results: the window that ends at {end} holds {windows[end]}.")


def check_records(records: Iterable[tuple[int, int]]) -> None:
    """Checks that every record has arrived once, apart from those of the last epoch."""
    values = sorted(value for value, _ in records)
    whole = values[: -2 * RATE]
    if not whole or whole != list(range(len(whole))):
        sys.exit("Wrong results: records are missing, or are there twice.")


def windows(spark: SparkSession, scale: Scale) -> list[Row]:
    """Part 1: counts in windows."""

    def run() -> Latencies:
        found = measure_latency(windowed_counts(_rows(spark)), window_end, seconds=scale.seconds)
        check_counts(found.results)
        return found

    return _measured(
        f"counts of {KEYS} keys in windows of {WINDOW / 1_000:g} s at {RATE:,} records/s",
        run,
        scale.rounds,
        {0.5: 500, 0.99: 1_000},
    )


def as_they_are(spark: SparkSession, scale: Scale) -> list[Row]:
    """Part 2: every record as it is."""

    def run() -> Latencies:
        rows = _rows(spark).map(lambda row: (row[0], row[1]))
        found = measure_latency(rows, created, seconds=scale.seconds)
        check_records(found.results)
        return found

    return _measured(f"records as they are at {RATE:,} records/s", run, scale.rounds, {})


PARTS = (windows, as_they_are)
SHARES = {0.5: "p50", 0.99: "p99", 1.0: "max"}


def _rows(spark: SparkSession) -> DataStream:
    from benchmarks.kit.paced import paced

    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    return env.set_parallelism(PARALLELISM).from_data_frame(paced(spark, RATE, PARALLELISM))


def _measured(
    job: str, run: Callable[[], Latencies], rounds: int, targets: dict[float, float]
) -> list[Row]:
    figures: dict[float, list[float]] = {share: [] for share in SHARES}
    every: list[float] = []
    for number in range(rounds):
        found = run()
        every += found.milliseconds
        for share in SHARES:
            figures[share].append(found.quantile(share))
        said = ", ".join(f"{SHARES[share]} {figures[share][-1]:,.0f} ms" for share in SHARES)
        print(f"  round {number + 1} of {rounds}: {said}", flush=True)
    said = ", ".join(f"{SHARES[share]} {quantile(every, share):,.0f} ms" for share in SHARES)
    print(f"  all {len(every):,} results: {said}", flush=True)
    return [
        Row(
            job=f"{job}, {name}",
            unit="ms",
            penstock=figures[share],
            target=targets.get(share),
            lower_is_better=True,
        )
        for share, name in SHARES.items()
    ]


def main() -> None:
    arguments = parser().parse_args()
    scale = QUICK if arguments.quick else Scale()
    spark = shared_session()
    script.run(__file__, arguments, [partial(part, spark, scale) for part in PARTS])
    spark.stop()


def parser() -> argparse.ArgumentParser:
    return script.parser(__doc__, len(PARTS))


if __name__ == "__main__":
    main()
