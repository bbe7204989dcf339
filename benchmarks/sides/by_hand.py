"""The same jobs written by hand in PySpark, as a person would who wants speed and nothing else."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from benchmarks.sides.functions import add, bucket, is_even, is_wanted, key_of, spread, ten_steps

if TYPE_CHECKING:
    from benchmarks.kit.tally import Tally
    from pyspark.sql import DataFrame, SparkSession

PARALLELISM = 2
BLOCK = 4_096
PAYLOAD = pa.schema([("target", pa.int32()), ("payload", pa.binary())])
PAYLOAD_DDL = "target int, payload binary"
NOTHING_DDL = "nothing int"

Batches = Iterator[pa.RecordBatch]
Part = tuple[list[int], list[int]]


def six_functions(spark: SparkSession, records: int, tally: Tally) -> None:
    """Map, map and filter, an exchange by key, then a sum for each key and a last filter."""

    def before_exchange(batches: Batches) -> Batches:
        return _partition(_share(batch, records) for batch in batches)

    _exchange(_tasks(spark).mapInArrow(before_exchange, PAYLOAD_DDL), tally).collect()


def micro_batch(tally: Tally) -> Callable[[DataFrame, int], None]:
    """The same two stages for a micro-batch whose only column holds the numbers."""

    def run(frame: DataFrame, epoch: int) -> None:  # noqa: ARG001
        _exchange(frame.mapInArrow(_before_exchange_of_column, PAYLOAD_DDL), tally).collect()

    return run


def ten_maps(spark: SparkSession, records: int, tally: Tally) -> None:
    """Ten functions, one inside the other, in one loop over the numbers."""

    def loop(batches: Batches) -> Batches:
        for batch in batches:
            ten_maps_in_process(_share(batch, records), tally)
        yield from ()

    _tasks(spark).mapInArrow(loop, NOTHING_DDL).collect()


def ten_maps_in_process(numbers: Iterable[int], tally: Tally) -> None:
    for number in numbers:
        tally.invoke(ten_steps(number))
    tally.close()


def _tasks(spark: SparkSession) -> DataFrame:
    """One row for each task: its number."""
    return spark.range(0, PARALLELISM, 1, PARALLELISM)


def _share(batch: pa.RecordBatch, records: int) -> range:
    """The numbers that the task named in the batch has to make."""
    task: int = batch.column(0)[0].as_py()
    return range(task * records // PARALLELISM + 1, (task + 1) * records // PARALLELISM + 1)


def _before_exchange_of_column(batches: Batches) -> Batches:
    return _partition(batch.column(0).to_pylist() for batch in batches)


def _partition(runs: Iterable[range | list[int]]) -> Batches:
    """What stands before the exchange: two maps, a filter, and each key's target."""
    parts: list[Part] = [([], []) for _ in range(PARALLELISM)]
    for numbers in runs:
        for start in range(0, len(numbers), BLOCK):
            for number in numbers[start : start + BLOCK]:
                value = bucket(spread(number))
                if is_wanted(value):
                    key = key_of(value)
                    keys, values = parts[hash(key) % PARALLELISM]
                    keys.append(key)
                    values.append(value)
            yield from _payloads(parts, at_least=BLOCK)
    yield from _payloads(parts, at_least=1)


def _payloads(parts: list[Part], at_least: int) -> Batches:
    for target, part in enumerate(parts):
        if len(part[0]) >= at_least:
            payload = pickle.dumps(part, pickle.HIGHEST_PROTOCOL)
            yield pa.RecordBatch.from_arrays(
                [pa.array([target], pa.int32()), pa.array([payload], pa.binary())], schema=PAYLOAD
            )
            parts[target] = ([], [])


def _exchange(parts: DataFrame, tally: Tally) -> DataFrame:
    """The exchange and what stands behind it: a sum for each key, a filter, the sink."""

    def after_exchange(batches: Batches) -> Batches:
        sums: dict[int, int] = {}
        for batch in batches:
            for payload in batch.column(1).to_pylist():
                for key, value in zip(*pickle.loads(payload), strict=True):
                    before = sums.get(key)
                    after = sums[key] = value if before is None else add(before, value)
                    if is_even(after):
                        tally.invoke(after)
        tally.close()
        yield from ()

    return parts.repartitionById(PARALLELISM, "target").mapInArrow(after_exchange, NOTHING_DDL)
