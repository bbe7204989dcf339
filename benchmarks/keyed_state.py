"""How fast keyed state is, as a ratio to PySpark's `transformWithState`, measured in one run.

    python benchmarks/keyed_state.py                  all numbers of keys
    python benchmarks/keyed_state.py --quick          the same with fewer epochs
    python benchmarks/keyed_state.py --keys 1000      one number of keys
    python benchmarks/keyed_state.py --json FILE      the figures as JSON too

A function counts, in a value state, the records of each key: penstock as a `KeyedProcessFunction` on
either backend, PySpark as a `StatefulProcessor` on its RocksDB state store, in the faster of its two
forms (rows, or pandas frames). The input is one and the same stream of 100,000 rows an epoch. On all
sides every record has a result, its key's count so far. PySpark's function reads and writes its state
once a key and batch, as each access crosses a socket; penstock's does so for every record.

What each side has counted after some epochs is compared with what it has to be, before the timed
runs. A run's figure is that of its median epoch, by Spark's own account, after some that are skipped.
"""

# ruff: noqa: D102 - what overrides a documented method is documented

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.epochs import Stop, epoch_seconds, rate
from benchmarks.measure import Row as Line
from benchmarks.measure import Run, alternate, table
from benchmarks.session import shared_session
from pyspark.sql import Row as SparkRow
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from penstock.common import Row, Types
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

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 100_000
PARALLELISM = 2
CHECKED_EPOCHS = 3
BACKENDS: dict[str, StateBackend] = {
    "hashmap": HashMapStateBackend(),
    "rocksdb": EmbeddedRocksDBStateBackend(),
}
TARGETS = {
    (1_000, "hashmap"): "at least 4",
    (50_000, "hashmap"): "at least 15",
    (50_000, "rocksdb"): "at least 8",
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

Count = tuple[int, int]


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    rounds: int = 3
    epochs: int = 7


QUICK = Scale(rounds=1, epochs=3)


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


class Nowhere(SinkFunction):
    """Takes everything and keeps nothing."""

    def invoke(self, value: Count) -> None:
        pass


def keyed_rows(spark: SparkSession, keys: int) -> DataFrame:
    """The input: a stream of keys, all of them equally often in every epoch."""
    return rate(spark, ROWS).selectExpr(f"value * 7919 % {keys} AS key")


def penstock_counts(spark: SparkSession, keys: int, backend: str) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    env.set_parallelism(PARALLELISM).set_state_backend(BACKENDS[backend])
    rows = env.from_data_frame(keyed_rows(spark, keys))
    return rows.key_by(lambda row: row[0]).process(CountRecords())


def start_penstock(spark: SparkSession, keys: int, backend: str) -> Stop:
    counts = penstock_counts(spark, keys, backend)
    counts.add_sink(Nowhere())
    job = counts.get_execution_environment().execute_async("counts")

    def stop() -> None:
        job.cancel().result()

    return stop


def collect_penstock(spark: SparkSession, keys: int, backend: str) -> Counter[int]:
    """What the first epochs came to."""
    found: Counter[int] = Counter()
    with penstock_counts(spark, keys, backend).execute_and_collect() as counts:
        for _, (key, count) in zip(range(CHECKED_EPOCHS * ROWS), counts, strict=False):
            if count != found[key] + 1:
                sys.exit(f"Wrong results: {count} follows {found[key]} for the key {key}.")
            found[key] = count
    return found


def spark_counts(spark: SparkSession, keys: int, form: str) -> DataFrame:
    grouped = keyed_rows(spark, keys).groupBy("key")
    if form == "rows":
        return grouped.transformWithState(CountRows(), "key long, count long", "Update", "None")
    return grouped.transformWithStateInPandas(
        CountFrames(), "key long, count long", "Update", "None"
    )


def start_spark(spark: SparkSession, keys: int, form: str, folder: str) -> Stop:
    writer = spark_counts(spark, keys, form).writeStream.format("noop").outputMode("update")
    return writer.option("checkpointLocation", folder).start().stop


def collect_spark(spark: SparkSession, keys: int, form: str) -> Counter[int]:
    """What the first epochs came to."""
    found: Counter[int] = Counter()

    def take(batch: DataFrame, epoch: int) -> None:  # noqa: ARG001
        # Read to the end in any case: Spark fails an epoch whose state nobody computed.
        rows = batch.collect()
        if found.total() < CHECKED_EPOCHS * ROWS:
            for key, count in rows:
                found[key] = max(found[key], count)

    with TemporaryDirectory(prefix="counts-") as folder:
        writer = spark_counts(spark, keys, form).writeStream.foreachBatch(take)
        query = writer.outputMode("update").option("checkpointLocation", folder).start()
        while found.total() < CHECKED_EPOCHS * ROWS and not query.awaitTermination(1):
            pass
        query.stop()
    return found


def compare(spark: SparkSession, keys: int, scale: Scale) -> list[Line]:
    """Checks, then times all sides with a number of keys."""
    starts: dict[str, Callable[[str], Stop]] = {}
    wanted = Counter(dict.fromkeys(range(keys), CHECKED_EPOCHS * ROWS // keys))
    for backend in BACKENDS:
        _check(f"penstock, {backend}", collect_penstock(spark, keys, backend), wanted)
        starts[backend] = lambda _, backend=backend: start_penstock(spark, keys, backend)  # type: ignore[misc]
    for form in ("rows", "pandas"):
        _check(f"PySpark, {form}", collect_spark(spark, keys, form), wanted)
        starts[form] = partial(start_spark, spark, keys, form)
    sides: dict[str, Run] = {
        name: partial(records_per_second, spark, start, scale.epochs)
        for name, start in starts.items()
    }
    figures = alternate(sides, scale.rounds)
    peer = max(("rows", "pandas"), key=lambda form: statistics.median(figures[form]))
    job = f"counting {ROWS:,} records an epoch, {keys:,} keys; PySpark takes {peer}"
    return [
        Line(
            f"{job}; {backend}",
            "records/s",
            figures[backend],
            TARGETS.get((keys, backend), ""),
            "transformWithState",
            figures[peer],
        )
        for backend in BACKENDS
    ]


def records_per_second(spark: SparkSession, start: Callable[[str], Stop], epochs: int) -> float:
    """Runs one side; returns the rate of its median epoch."""
    with TemporaryDirectory(prefix="counts-") as folder:
        seconds = epoch_seconds(spark, lambda: start(folder), epochs)
    return ROWS / statistics.median(seconds)


def _check(side: str, found: Mapping[int, int], wanted: Mapping[int, int]) -> None:
    if found != wanted:
        wrong = [key for key in wanted if found.get(key) != wanted[key]]
        sys.exit(f"Wrong results of {side}: {len(wrong)} keys, such as {wrong[:3]}.")


def main() -> None:
    arguments = _arguments()
    scale = QUICK if arguments.quick else Scale()
    spark = shared_session()
    for name, value in SPARK_SETTINGS.items():
        spark.conf.set(name, value)
    lines: list[Line] = []
    for keys in (1_000, 50_000):
        if arguments.keys in (None, keys):
            print(f"\n{keys:,} keys", flush=True)
            lines += compare(spark, keys, scale)
    spark.stop()
    print(table(lines))
    if arguments.json:
        rows = [line.as_json() for line in lines]
        arguments.json.write_text(json.dumps({"rows": rows}, indent=2) + "\n")


def _arguments() -> argparse.Namespace:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="time fewer epochs")
    parser.add_argument("--keys", type=int, choices=(1_000, 50_000), help="one number of keys")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
