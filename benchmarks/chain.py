"""How fast penstock is, as ratios to the same work done otherwise, measured in one run.

    python benchmarks/chain.py                  all parts
    python benchmarks/chain.py --quick          the same with less of everything
    python benchmarks/chain.py --part 2         one part
    python benchmarks/chain.py --json FILE      the figures as JSON too

Part 1: map, map, filter, key_by, reduce, filter on Spark, against a pipeline written by hand and
        against PyFlink in thread and process mode.
Part 2: a chain of ten one-line maps, against one loop that calls the ten functions.
Part 3: an epoch of 1,000 records, against a bare micro-batch of two stages.
Part 4: an empty epoch at parallelism 200.

Every run's results are compared with what they have to be; PyFlink's before its timed runs.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import by_hand, epochs, peers, programs
from benchmarks.functions import expected, ten_steps
from benchmarks.measure import Row, Run, alternate, table
from benchmarks.session import shared_session
from benchmarks.tally import Outcome, Tally, timed

from penstock.executors.spark.java import ensure_java

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

BY_HAND = "by hand on Spark"
PENSTOCK = "penstock"


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    rounds: int = 5
    records: int = 4_000_000
    thread_records: int = 500_000
    process_records: int = 100_000
    epochs: int = 30
    check_records: int = 20_000


QUICK = Scale(
    rounds=2,
    records=400_000,
    thread_records=100_000,
    process_records=20_000,
    epochs=10,
    check_records=5_000,
)


def six_functions(spark: SparkSession, scale: Scale) -> list[Row]:
    """Part 1."""
    wanted = {records: expected(records) for records in (scale.check_records, scale.records)}

    def rate(job: Callable[[SparkSession, int, Tally], None], records: int) -> float:
        outcome = timed(lambda tally: job(spark, records, tally))
        _check(outcome, wanted[records])
        return records / outcome.seconds

    sides: dict[str, Run] = {
        PENSTOCK: lambda: rate(programs.six_functions, scale.records),
        BY_HAND: lambda: rate(by_hand.six_functions, scale.records),
    }
    _warm_up(sides)
    with ExitStack() as stack:
        for mode, records in (("thread", scale.thread_records), ("process", scale.process_records)):
            flink = stack.enter_context(peers.PyFlink(mode))
            _check(flink.check(scale.check_records), wanted[scale.check_records])
            sides[f"PyFlink {peers.VERSION}, {mode} mode"] = partial(flink.rate, records)
        figures = alternate(sides, scale.rounds)
    return _rows(
        f"map, map, filter, key_by, reduce, filter over {scale.records:,} numbers",
        "records/s",
        figures,
        ("at least 0.5", "at least 30", ""),
    )


def ten_maps(spark: SparkSession, scale: Scale) -> list[Row]:
    """Part 2."""
    numbers = range(1, scale.records + 1)
    wanted = scale.records, sum(map(ten_steps, numbers))

    def rate(job: Callable[[Tally], None]) -> float:
        outcome = timed(job)
        _check(outcome, wanted)
        return scale.records / outcome.seconds

    rows: list[Row] = []
    for where, mine, theirs in (
        (
            "on Spark",
            lambda tally: programs.ten_maps(spark, scale.records, tally),
            lambda tally: by_hand.ten_maps(spark, scale.records, tally),
        ),
        (
            "in one process",
            lambda tally: programs.ten_maps_in_process(scale.records, tally),
            lambda tally: by_hand.ten_maps_in_process(numbers, tally),
        ),
    ):
        sides = {PENSTOCK: partial(rate, mine), "one loop by hand": partial(rate, theirs)}
        _warm_up(sides)
        figures = alternate(sides, scale.rounds)
        job = f"ten one-line maps over {scale.records:,} tuples, {where}"
        rows += _rows(job, "records/s", figures, ("at least 0.8",))
    return rows


def small_epochs(spark: SparkSession, scale: Scale) -> list[Row]:
    """Part 3."""
    rows = 1_000

    def median(start: Callable[[Tally], epochs.Stop]) -> float:
        with TemporaryDirectory(prefix="tally-") as folder:
            tally = Tally(folder)
            seconds = epochs.epoch_seconds(spark, lambda: start(tally), scale.epochs)
        return statistics.median(seconds)

    def start_bare(tally: Tally) -> epochs.Stop:
        return epochs.start_by_hand(epochs.rate(spark, rows), by_hand.micro_batch(tally))

    sides: dict[str, Run] = {
        PENSTOCK: lambda: median(lambda tally: programs.start_epochs(spark, rows, tally)),
        "a bare micro-batch of two stages": lambda: median(start_bare),
    }
    _warm_up(sides)
    figures = alternate(sides, scale.rounds)
    return _rows(f"an epoch of {rows:,} records", "seconds", figures, ("at most 1.3",))


def empty_epochs(spark: SparkSession, scale: Scale) -> list[Row]:
    """Part 4."""
    parallelism = 200
    with TemporaryDirectory(prefix="tally-") as folder:
        start = partial(programs.start_empty_epochs, spark, parallelism, Tally(folder))
        seconds = epochs.epoch_seconds(spark, start, scale.epochs)
    job = f"an empty epoch of two levels at parallelism {parallelism}"
    return [Row(job, "seconds", seconds, "under 1 s")]


PARTS = (six_functions, ten_maps, small_epochs, empty_epochs)


def main() -> None:
    arguments = _arguments()
    scale = QUICK if arguments.quick else Scale()
    spark = shared_session()
    header = _header(spark)
    print("\n".join(f"{name:<12} {value}" for name, value in header.items()), flush=True)
    rows: list[Row] = []
    for number, part in enumerate(PARTS, 1):
        if arguments.part in (None, number):
            print(f"\nPart {number}", flush=True)
            rows += part(spark, scale)
    spark.stop()
    print(table(rows))
    if arguments.json:
        figures = {"header": header, "rows": [row.as_json() for row in rows]}
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


def _arguments() -> argparse.Namespace:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="do less of everything")
    parser.add_argument("--part", type=int, choices=range(1, len(PARTS) + 1), help="run one part")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return parser.parse_args()


def _header(spark: SparkSession) -> dict[str, str]:
    version = importlib.metadata.version
    return {
        "machine": f"{os.cpu_count()} cores, {_processor()}, {platform.system()}",
        "load before": f"{os.getloadavg()[0]:.2f}",
        "penstock": version("penstock"),
        "Python": platform.python_version(),
        "Spark": f"{spark.version}, {spark.conf.get('spark.master')}",
        "Java": str(ensure_java().version),
        "pyarrow": version("pyarrow"),
    }


def _processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _warm_up(sides: Mapping[str, Run]) -> None:
    for run in sides.values():
        run()


def _check(outcome: Outcome, wanted: tuple[int, int]) -> None:
    found = outcome.count, outcome.total
    if found != wanted:
        sys.exit(f"Wrong results: {found} as count and sum instead of {wanted}.")


def _rows(
    job: str, unit: str, figures: Mapping[str, Sequence[float]], targets: Sequence[str]
) -> list[Row]:
    others = [name for name in figures if name != PENSTOCK]
    return [
        Row(job, unit, figures[PENSTOCK], target, name, figures[name])
        for name, target in zip(others, targets, strict=True)
    ]


if __name__ == "__main__":
    main()
