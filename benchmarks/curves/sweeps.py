"""The curves: what grows, by which values, and how a point of each is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.curves import programs
from benchmarks.curves.measure import Outcome, Point, Program, Sweep, in_process, on_spark
from benchmarks.kit.session import session_of

from penstock.datastream import EmbeddedRocksDBStateBackend

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WARM_UP = 2
"""Epochs in this process that are not counted."""

LOADED = 1_000_000
"""The most new keys that come in one epoch."""

CORES = 2
ROCKSDB = EmbeddedRocksDBStateBackend()
ONE_PROCESS = "one process, no Spark"
ON_SPARK = f"Spark, local[{CORES}]"

Make = Callable[[], list[Any]]


def keys(values: Sequence[int], epochs: int, records: int = 100_000) -> Iterator[Point]:
    """Epochs of as many records, among ever more keys, in one job."""
    known = programs.KnownKeys()
    made: list[Make] = []
    timed: list[range] = []
    have = 0
    for value in values:
        made += [
            partial(known.grown, most) for most in (*range(have + LOADED, value, LOADED), value)
        ]
        have = value
        made += [partial(known.chosen, records)] * (WARM_UP + epochs)
        timed.append(range(len(made) - epochs, len(made)))
    took = in_process(made, programs.counted, lambda: known.found, ROCKSDB)
    for value, numbers in zip(values, timed, strict=True):
        yield Point(value, records, [took[number] for number in numbers])


def chain(values: Sequence[int], epochs: int, records: int = 500_000) -> Iterator[Point]:
    """A chain of ever more maps."""
    for value in values:
        yield _of_numbers(value, records, epochs, programs.chained(value), value)


def calls(values: Sequence[int], epochs: int, records: int = 10_000) -> Iterator[Point]:
    """Calls of 10 ms, ever more of them at once."""
    for value in values:
        yield _of_numbers(value, records, epochs, programs.asked(value), 0)


def _of_numbers(value: int, records: int, epochs: int, program: Program, ones: int) -> Point:
    every = WARM_UP + epochs
    made = [partial(_numbers, number * records, (number + 1) * records) for number in range(every)]
    took = in_process(made, program, lambda: programs.added_to(every * records, ones))
    return Point(value, records, took[WARM_UP:])


def _numbers(first: int, end: int) -> list[int]:
    return list(range(first, end))


def panes(values: Sequence[int], epochs: int, records: int = 100_000) -> Iterator[Point]:
    """Windows that slide by a second and hold ever more of them; all are full when it is timed."""
    for value in values:
        warm_up = WARM_UP + value * programs.SLIDE // records
        every = warm_up + epochs
        made = [partial(programs.events, number * records, records) for number in range(every)]
        wanted = partial(programs.slid_to, every * records, value)
        took = in_process(made, programs.slid(value), wanted)
        yield Point(value, records, took[warm_up:])


def parallelism(values: Sequence[int], epochs: int, records: int = 400_000) -> Iterator[Point]:
    """Ever more subtasks, and as many Spark tasks at once."""
    for value in values:
        with _local(value) as spark:
            yield _counted(spark, value, value, records, epochs)


def subtasks(values: Sequence[int], epochs: int, records: int = 100_000) -> Iterator[Point]:
    """Ever more subtasks on as many cores."""
    with _local(CORES) as spark:
        for value in values:
            yield _counted(spark, value, CORES * value, records, epochs)


def epoch_size(values: Sequence[int], epochs: int) -> Iterator[Point]:
    """Epochs of ever more records."""
    with _local(CORES) as spark:
        for value in values:
            yield _counted(spark, value, CORES, value, epochs)


def levels(values: Sequence[int], epochs: int, records: int = 20_000) -> Iterator[Point]:
    """Ever more exchanges, one after the other."""
    with _local(CORES) as spark:
        for value in values:
            program = programs.exchanged(value - 1)
            wanted = partial(_with_ones, ones=value - 1)
            took = on_spark(spark, CORES, records, epochs, program, wanted)
            yield Point(value, records, took)


def _with_ones(records: int, ones: int) -> Outcome:
    return programs.added_to(records, ones)


def _counted(spark: SparkSession, value: int, parallelism: int, records: int, epochs: int) -> Point:
    program, wanted = programs.counted_by_bucket, programs.counted_by_bucket_to
    return Point(value, records, on_spark(spark, parallelism, records, epochs, program, wanted))


@contextmanager
def _local(cores: int) -> Iterator[SparkSession]:
    spark = session_of(cores)
    try:
        yield spark
    finally:
        spark.stop()


SWEEPS = (
    Sweep(
        "keys",
        "keys in RocksDB",
        ONE_PROCESS,
        [10**power for power in range(2, 8)],
        [10**power for power in range(2, 5)],
        keys,
    ),
    Sweep(
        "parallelism",
        "parallelism: subtasks, and Spark tasks at once",
        "Spark, local[parallelism] on two cores",
        (1, 2, 4, 8),
        (1, 2),
        parallelism,
    ),
    Sweep(
        "subtasks",
        "subtasks of an operator on each core",
        ON_SPARK,
        (1, 2, 4, 8, 16, 32, 64),
        (1, 8),
        subtasks,
    ),
    Sweep("levels", "levels", ON_SPARK, (1, 2, 3, 5, 7, 9), (1, 3), levels),
    Sweep("chain", "maps in a chain", ONE_PROCESS, (1, 2, 5, 10, 20, 50), (1, 10), chain),
    Sweep(
        "panes", "panes in a window", ONE_PROCESS, (1, 2, 5, 10, 30, 60, 300), (1, 10, 60), panes
    ),
    Sweep(
        "epoch-size",
        "records in an epoch",
        ON_SPARK,
        (100, 1_000, 10_000, 100_000, 1_000_000),
        (1_000, 100_000),
        epoch_size,
    ),
    Sweep(
        "calls",
        "calls under way at once",
        ONE_PROCESS,
        (50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000),
        (1_000, 10_000),
        calls,
    ),
)
