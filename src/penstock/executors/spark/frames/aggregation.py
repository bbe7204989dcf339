"""The DataFrame of what the rows of each key and pane come to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.executors.spark.interruption import note_query
from penstock.executors.spark.versions.frames import partitioned, place
from penstock.graph.source_descriptions import AggregatedFrameSource
from penstock.runtime.columnar.aggregate import ColumnAggregate
from penstock.runtime.columnar.aggregated_rows import HALF, KEY, RECORDS, SUBTASK, TIME

_MERSENNE: Final = (1 << 61) - 1
"""What Python reckons the hashes of numbers by."""
_SEED_0: Final = -1693959553
"""The number whose hash is 0: Spark hashes the next column with that, in place of its own seed."""
_GROUPS: Final = ("group", "pane")
_LEAST: Final = "(-9223372036854775807 - 1)"
"""The number that is no timestamp. Spark reads no literal of it."""


def aggregated(source: AggregatedFrameSource, carriers: int, note: str | None = None) -> DataFrame:
    """Return what the rows of each key and pane come to.

    Its partitions are those of the carriers, in the order of times. Carrier `n` has the keys of every
    so many-th subtask from `n` on; if there are several, each row says which one it is for, and their
    rows come one after the other.

    Args:
        source: What is to be aggregated.
        carriers: Among how many partitions the subtasks are divided.
        note: The file in which a worker is to note the query before anything is read; None for none.
    """
    plan = source.plan
    fields = source.frame.schema.fields
    kinds = {field.name: field.dataType.simpleString() for field in fields}
    # Whatever stands in a name, no expression has it.
    places = {field.name: f"c{index}" for index, field in enumerate(fields)}
    frame: DataFrame = source.frame.toDF(*places.values())
    if note is not None:
        frame = frame.where(_noting(frame.sparkSession, note).isNull())
    time = _time_in_pane(_milliseconds(places[source.time], kinds[source.time]), source)
    groups = [sf.col(places[plan.key]).alias(KEY), sf.expr(time).alias(TIME)]
    aggregates = [f"count(*) AS {RECORDS}"]
    for number, (name, aggregate) in enumerate(zip(plan.fields, plan.aggregates, strict=True)):
        if name is not None:
            aggregates += _aggregates(number, places[name], aggregate, kinds[name])
    # Whether Spark keeps columns that it groups by depends on a setting, and under Spark Connect it always does.
    unkept = [group.alias(name) for group, name in zip(groups, _GROUPS, strict=True)]
    found = frame.groupBy(*unkept).agg(*groups, *map(sf.expr, aggregates)).drop(*_GROUPS)
    subtask = _subtask(KEY, kinds[plan.key], source)
    if carriers == source.parallelism:
        moved = partitioned(found, carriers, place(carriers, subtask))
        return moved.sortWithinPartitions(sf.col(TIME))
    named = found.withColumn(SUBTASK, sf.expr(subtask))
    moved = partitioned(named, carriers, place(carriers, f"{SUBTASK} % {carriers}"))
    return moved.sortWithinPartitions(sf.col(SUBTASK), sf.col(TIME))


def _noting(spark: SparkSession, note: str) -> Column:
    """Return a null that is known when a worker has noted the query: tens of milliseconds after it began."""

    def nulls(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        note_query(note)
        for batch in batches:
            yield pa.RecordBatch.from_arrays([pa.nulls(batch.num_rows, pa.int32())], ["nothing"])

    return spark.range(0, 1, 1, 1).mapInArrow(nulls, "nothing int").scalar()


def _milliseconds(column: str, kind: str) -> str:
    """Return the event timestamp; null if it is none."""
    if kind == "timestamp":
        return f"unix_millis({column})"
    return f"nullif({column}, {_LEAST})" if kind == "bigint" else f"CAST({column} AS BIGINT)"


def _time_in_pane(time: str, source: AggregatedFrameSource) -> str:
    """Return a time that stands for the pane of another: its start, or its last if that is negative.

    So no time is beyond 64 bits.
    """
    size = source.pane_size
    behind = source.offset % size
    since_start = f"pmod({time}, {size})"
    if behind:
        since_start = f"pmod({since_start} + {size - behind}, {size})"
    last = f"{time} + ({size - 1} - {since_start})"
    return f"CASE WHEN {time} < 0 AND {last} < 0 THEN {last} ELSE {time} - {since_start} END"


def _aggregates(number: int, column: str, aggregate: ColumnAggregate, kind: str) -> Iterator[str]:
    """Yield what is computed of a column, each under a name of its own: see `given_partials`."""
    if aggregate.kind in ("min", "max"):
        yield f"{aggregate.kind}({column}) AS `{number}_{aggregate.kind}`"
    if aggregate.kind in ("sum", "mean"):
        if kind == "bigint":
            yield f"sum(shiftright({column}, {HALF})) AS `{number}_high`"
            yield f"sum({column} & {(1 << HALF) - 1}) AS `{number}_low`"
        else:
            yield f"sum({column}) AS `{number}_sum`"
    if aggregate.kind in ("count", "mean"):
        yield f"count({column}) AS `{number}_count`"


def _subtask(key: str, kind: str, source: AggregatedFrameSource) -> str:
    """Return which subtask a key belongs to: what `subtask_of_key_group` gives."""
    group = f"({_key_group(key, kind)}) % {source.max_parallelism}"
    return f"CAST({group} * {source.parallelism} DIV {source.max_parallelism} AS INT)"


def _key_group(key: str, kind: str) -> str:
    """Return what `murmur_hash(stable_hash(key))` gives."""
    if kind in ("string", "date"):
        code = f"crc32(CAST(CAST({key} AS STRING) AS BINARY))"
    elif kind == "boolean":
        code = f"CAST({key} AS BIGINT)"
    else:
        number = f"CAST({key} AS BIGINT) % {_MERSENNE}"
        hashed = f"CASE WHEN {number} = -1 THEN -2 ELSE {number} END"
        code = f"(({hashed}) ^ shiftright({hashed}, 32)) & {0xFFFFFFFF}"
    word = f"CAST(({code} ^ {1 << 31}) - {1 << 31} AS INT)"
    mixed = f"hash({_SEED_0}, coalesce({word}, 0))"
    return f"CASE WHEN {mixed} = {-(1 << 31)} THEN 0 ELSE abs({mixed}) END"
