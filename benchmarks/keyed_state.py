"""How fast keyed state is, as ratios to PySpark's own functions with state, measured in one run.

    python benchmarks/keyed_state.py                  all parts
    python benchmarks/keyed_state.py --quick          the same with fewer epochs
    python benchmarks/keyed_state.py --part 2         one part
    python benchmarks/keyed_state.py --json FILE      the figures as JSON too

Part 1: 1,000 keys. Part 2: 50,000 keys.

A function counts, in a value state, the records of each key: penstock as a `KeyedProcessFunction` on
either backend; PySpark on its RocksDB state store as a `StatefulProcessor`, in the faster of its two
forms (rows, or pandas frames; with 50,000 keys in rows only, as a frame for each key takes some three times
as long), and as the function of `applyInPandasWithState`. The input is one and the
same stream of 100,000 rows an epoch. On all sides every record has a result, its key's count so far.
PySpark's functions read and write their state once a key and batch, as each access crosses a socket, or
ends a frame; penstock's does so for every record.

What each side has counted after some epochs, with a tenth of the records and of the keys, is compared with
what it has to be, before the timed runs. A run's figure is that of its median epoch, by Spark's own
account, after some that are skipped: with 50,000 keys PySpark calls its function for each, which takes
seconds, so that it runs one of either.
"""

# ruff: noqa: D102 - what overrides a documented method is documented

from __future__ import annotations

import argparse
import statistics
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.kit import script
from benchmarks.kit.epochs import SKIPPED, Stop, epoch_seconds, rate
from benchmarks.kit.measure import Row as Line
from benchmarks.kit.measure import Run, alternate
from benchmarks.kit.session import shared_session
from pyspark.sql import Row as SparkRow
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from penstock.common import Configuration, Row, Types
from penstock.datastream import (
    DataStream,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    KeyedProcessFunction,
    RuntimeContext,
    SinkFunction,
    StateBackend,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.errors import NoCheckpointLocationWarning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 100_000
FEW, MANY = 1_000, 50_000
PARALLELISM = 2
CHECKED_EPOCHS = 2
CHECKED_SHARE = 10
"""Checks have this part of the records and of the keys."""
BACKENDS: dict[str, StateBackend] = {
    "hashmap": HashMapStateBackend(),
    "rocksdb": EmbeddedRocksDBStateBackend(),
}
TARGETS = {
    (FEW, "hashmap"): 4,
    (MANY, "hashmap"): 15,
    (MANY, "rocksdb"): 8,
}
SPARK_SETTINGS = {
    "spark.sql.shuffle.partitions": str(PARALLELISM),
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # Both make its epochs shorter.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
}

COUNTS = "key long, count long"
PROCESSOR_FORMS = {FEW: ("rows", "frames"), MANY: ("rows",)}
"""What a `StatefulProcessor` is given, by the number of keys."""
GROUPS = "applyInPandasWithState"

Count = tuple[int, int]


@dataclass(frozen=True)
class Scale:
    """How much of everything; `many` is for the part with many keys, on PySpark's side."""

    rounds: int = 5
    skipped: int = SKIPPED
    epochs: int = 5
    many_skipped: int = 1
    many_epochs: int = 1


QUICK = Scale(rounds=1, skipped=2, epochs=2, many_skipped=0)


class CountRecords(KeyedProcessFunction):
    """Emits each record's key with how often it has come."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Count]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


class CountRows(StatefulProcessor):
    """Emits each record's key with how often it has come."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count = handle.getValueState("count", "count long")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        count = self._counted()
        for _ in rows:
            count += 1
            yield SparkRow(key=key[0], count=count)
        self.count.update((count,))

    def _counted(self) -> int:
        found = self.count.get()
        return 0 if found is None else int(found[0])


class CountFrames(CountRows):
    """The same for pandas frames."""

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        import pandas as pd

        count = self._counted()
        for frame in rows:
            counts = range(count + 1, count + len(frame) + 1)
            yield pd.DataFrame({"key": key[0], "count": counts})
            count += len(frame)
        self.count.update((count,))


def count_group(key: tuple[int], frames: Iterator[Any], state: GroupState) -> Iterator[Any]:
    """The same as a function of `applyInPandasWithState`."""
    import pandas as pd

    count = int(state.get[0]) if state.exists else 0
    for frame in frames:
        yield pd.DataFrame({"key": key[0], "count": range(count + 1, count + len(frame) + 1)})
        count += len(frame)
    state.update((count,))


class Nowhere(SinkFunction):
    """Takes everything and keeps nothing."""

    def invoke(self, value: Count) -> None:
        pass


def keyed_rows(spark: SparkSession, keys: int, rows: int = ROWS) -> DataFrame:
    """The input: a stream of keys, all of them equally often in every epoch."""
    return rate(spark, rows).selectExpr(f"value * 7919 % {keys} AS key")


def penstock_counts(
    frame: DataFrame, backend: str, configuration: Configuration | None = None
) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment(
        configuration, spark=frame.sparkSession
    )
    env.set_parallelism(PARALLELISM).set_state_backend(BACKENDS[backend])
    rows = env.from_data_frame(frame)
    return rows.key_by("key").process(CountRecords())


def start_penstock(spark: SparkSession, keys: int, backend: str, _: str = "") -> Stop:
    counts = penstock_counts(keyed_rows(spark, keys), backend)
    counts.add_sink(Nowhere())
    job = counts.get_execution_environment().execute_async("counts")

    def stop() -> None:
        job.cancel().result()

    return stop


def collect_penstock(frame: DataFrame, records: int, backend: str) -> Counter[int]:
    """What the first records came to."""
    found: Counter[int] = Counter()
    with penstock_counts(frame, backend).execute_and_collect() as counts:
        for _, (key, count) in zip(range(records), counts, strict=False):
            if count != found[key] + 1:
                sys.exit(f"Wrong results: {count} follows {found[key]} for the key {key}.")
            found[key] = count
    return found


def spark_counts(frame: DataFrame, form: str) -> DataFrame:
    grouped = frame.groupBy("key")
    if form == "rows":
        return grouped.transformWithState(CountRows(), COUNTS, "Update", "None")
    if form == "frames":
        return grouped.transformWithStateInPandas(CountFrames(), COUNTS, "Update", "None")
    return grouped.applyInPandasWithState(
        count_group, COUNTS, "count long", "update", GroupStateTimeout.NoTimeout
    )


def start_spark(spark: SparkSession, keys: int, form: str, folder: str) -> Stop:
    counts = spark_counts(keyed_rows(spark, keys), form)
    writer = counts.writeStream.format("noop").outputMode("update")
    return writer.option("checkpointLocation", folder).start().stop


def collect_spark(frame: DataFrame, records: int, form: str) -> Counter[int]:
    """What the first records came to."""
    found: Counter[int] = Counter()

    def take(batch: DataFrame, epoch: int) -> None:  # noqa: ARG001
        # Read to the end in any case: Spark fails an epoch whose state nobody computed.
        rows = batch.collect()
        if found.total() < records:
            for key, count in rows:
                found[key] = max(found[key], count)

    with TemporaryDirectory(prefix="counts-") as folder:
        writer = spark_counts(frame, form).writeStream.foreachBatch(take)
        query = writer.outputMode("update").option("checkpointLocation", folder).start()
        while found.total() < records and not query.awaitTermination(1):
            pass
        query.stop()
    return found


def compare(keys: int, spark: SparkSession, scale: Scale) -> list[Line]:
    """Checks, then times all sides with a number of keys."""
    forms = PROCESSOR_FORMS[keys]
    check_all(keys, spark)
    sides: dict[str, Run] = {
        backend: partial(
            records_per_second,
            spark,
            partial(start_penstock, spark, keys, backend),
            (scale.skipped, scale.epochs),
        )
        for backend in BACKENDS
    }
    epochs = (scale.skipped, scale.epochs)
    if keys > FEW:
        epochs = (scale.many_skipped, scale.many_epochs)
    for form in (*forms, GROUPS):
        start = partial(start_spark, spark, keys, form)
        sides[form] = partial(records_per_second, spark, start, epochs)
    figures = alternate(sides, scale.rounds)
    faster = max(forms, key=lambda form: statistics.median(figures[form]))
    return [
        Line(
            job=f"counting {ROWS:,} records an epoch, {keys:,} keys; {backend}",
            unit="records/s",
            penstock=figures[backend],
            against=peer,
            other=figures[form],
            target=TARGETS.get((keys, backend)) if form != GROUPS else None,
        )
        for backend in BACKENDS
        for peer, form in ((f"transformWithState ({faster})", faster), (GROUPS, GROUPS))
    ]


def check_all(keys: int, spark: SparkSession) -> None:
    """Compares what all sides count with what they should."""
    rows, fewer = ROWS // CHECKED_SHARE, keys // CHECKED_SHARE
    frame = keyed_rows(spark, fewer, rows)
    records = CHECKED_EPOCHS * rows
    wanted = Counter(dict.fromkeys(range(fewer), records // fewer))
    for backend in BACKENDS:
        _check(f"penstock, {backend}", collect_penstock(frame, records, backend), wanted)
    for form in (*PROCESSOR_FORMS[keys], GROUPS):
        _check(f"PySpark, {form}", collect_spark(frame, records, form), wanted)


def records_per_second(
    spark: SparkSession, start: Callable[[str], Stop], epochs: tuple[int, int]
) -> float:
    """Runs one side for so many epochs that are skipped and so many others; returns the median's rate."""
    skipped, timed = epochs
    with TemporaryDirectory(prefix="counts-") as folder:
        seconds = epoch_seconds(spark, lambda: start(folder), timed, skipped=skipped)
    return ROWS / statistics.median(seconds)


def _check(side: str, found: Mapping[int, int], wanted: Mapping[int, int]) -> None:
    if found != wanted:
        wrong = [key for key in wanted if found.get(key) != wanted[key]]
        sys.exit(f"Wrong results of {side}: {len(wrong)} keys, such as {wrong[:3]}.")


PARTS = (partial(compare, FEW), partial(compare, MANY))


def main() -> None:
    arguments = parser().parse_args()
    warnings.simplefilter("ignore", NoCheckpointLocationWarning)
    scale = QUICK if arguments.quick else Scale()
    spark = shared_session()
    for name, value in SPARK_SETTINGS.items():
        spark.conf.set(name, value)
    script.run(__file__, arguments, [partial(part, spark, scale) for part in PARTS])
    spark.stop()


def parser() -> argparse.ArgumentParser:
    return script.parser(__doc__, len(PARTS))


if __name__ == "__main__":
    main()
