"""How fast penstock is, as ratios to the same work done otherwise, measured in one run.

    python benchmarks/chain.py                  all parts
    python benchmarks/chain.py --quick          the same with less of everything
    python benchmarks/chain.py --part 2         one part
    python benchmarks/chain.py --json FILE      the figures as JSON too

Part 1: map, map, filter, key_by, reduce, filter on Spark, against a pipeline written by hand and
        against PyFlink in thread and process mode.
Part 2: a chain of ten one-line maps, against one loop that calls the ten functions.
Part 3: an epoch with nothing to do and one of 1,000 records, each against a bare micro-batch of two
        stages.
Part 4: an empty epoch at parallelism 200.

Every run's results are compared with what they have to be; PyFlink's before its timed runs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.kit import epochs, peers, script
from benchmarks.kit.measure import Row, Run, alternate
from benchmarks.kit.session import shared_session
from benchmarks.kit.tally import Outcome, Tally, timed
from benchmarks.sides import by_hand, programs
from benchmarks.sides.functions import expected, ten_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

BY_HAND = "by hand on Spark"
PENSTOCK = "penstock"


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    rounds: int = 5
    records: int = 2_000_000
    map_records: int = 4_000_000
    thread_records: int = 100_000
    process_records: int = 20_000
    epochs: int = 20
    empty_epochs: int = 4
    check_records: int = 20_000


QUICK = Scale(
    rounds=1,
    records=200_000,
    map_records=400_000,
    thread_records=10_000,
    process_records=5_000,
    epochs=3,
    empty_epochs=2,
    check_records=5_000,
)


def six_functions(spark: SparkSession, scale: Scale) -> list[Row]:
    """Part 1: six functions, one after the other."""
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
        (0.7, 30, None),
    )


def ten_maps(spark: SparkSession, scale: Scale) -> list[Row]:
    """Part 2: a chain of ten one-line maps."""
    numbers = range(1, scale.map_records + 1)
    wanted = scale.map_records, sum(map(ten_steps, numbers))

    def rate(job: Callable[[Tally], None]) -> float:
        outcome = timed(job)
        _check(outcome, wanted)
        return scale.map_records / outcome.seconds

    rows: list[Row] = []
    for where, mine, theirs in (
        (
            "on Spark",
            lambda tally: programs.ten_maps(spark, scale.map_records, tally),
            lambda tally: by_hand.ten_maps(spark, scale.map_records, tally),
        ),
        (
            "in one process",
            lambda tally: programs.ten_maps_in_process(scale.map_records, tally),
            lambda tally: by_hand.ten_maps_in_process(numbers, tally),
        ),
    ):
        sides = {PENSTOCK: partial(rate, mine), "one loop by hand": partial(rate, theirs)}
        _warm_up(sides)
        figures = alternate(sides, scale.rounds)
        job = f"ten one-line maps over {scale.map_records:,} tuples, {where}"
        rows += _rows(job, "records/s", figures, (0.9,))
    return rows


def small_epochs(spark: SparkSession, scale: Scale) -> list[Row]:
    """Part 3: epochs of nothing, and of 1,000 records."""
    return [row for rows in (0, 1_000) for row in _small_epochs(spark, scale, rows)]


def _small_epochs(spark: SparkSession, scale: Scale, rows: int) -> list[Row]:
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
    job = f"an epoch of {rows:,} records and one exchange"
    return _rows(job, "seconds", figures, (1.15,), lower_is_better=True)


def empty_epochs(spark: SparkSession, scale: Scale) -> list[Row]:
    """Part 4: an empty epoch at parallelism 200."""
    parallelism = 200

    def median() -> float:
        with TemporaryDirectory(prefix="tally-") as folder:
            start = partial(programs.start_empty_epochs, spark, parallelism, Tally(folder))
            return statistics.median(epochs.epoch_seconds(spark, start, scale.empty_epochs))

    figures = alternate({PENSTOCK: median}, scale.rounds)
    return [
        Row(
            job=f"an empty epoch of two levels at parallelism {parallelism}",
            unit="seconds",
            penstock=figures[PENSTOCK],
            target=1,
            lower_is_better=True,
        )
    ]


PARTS = (six_functions, ten_maps, small_epochs, empty_epochs)


def main() -> None:
    arguments = parser().parse_args()
    scale = QUICK if arguments.quick else Scale()
    spark = shared_session()
    script.run(__file__, arguments, [partial(part, spark, scale) for part in PARTS])
    spark.stop()


def parser() -> argparse.ArgumentParser:
    return script.parser(__doc__, len(PARTS))


def _warm_up(sides: Mapping[str, Run]) -> None:
    for run in sides.values():
        run()


def _check(outcome: Outcome, wanted: tuple[int, int]) -> None:
    found = outcome.count, outcome.total
    if found != wanted:
        sys.exit(f"Wrong results: {found} as count and sum instead of {wanted}.")


def _rows(
    job: str,
    unit: str,
    figures: Mapping[str, Sequence[float]],
    targets: Sequence[float | None],
    *,
    lower_is_better: bool = False,
) -> list[Row]:
    others = [name for name in figures if name != PENSTOCK]
    return [
        Row(
            job=job,
            unit=unit,
            penstock=figures[PENSTOCK],
            against=name,
            other=figures[name],
            target=target,
            lower_is_better=lower_is_better,
        )
        for name, target in zip(others, targets, strict=True)
    ]


if __name__ == "__main__":
    main()
