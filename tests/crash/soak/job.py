"""The program of the soak: `python -m tests.crash.soak.job FOLDER`. It runs until it is killed.

Rows come from a source that makes them, in epochs as small and as many as Spark can run. What the program
keeps is bounded: so many keys, values that expire, windows and timers of a few seconds. So whatever grows is
the engine's.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from tests.crash.job import spark_session

from penstock.common import Configuration, Duration, Encoder, Time, Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    KeyedProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.connectors.files.policies import RollingPolicy
from penstock.datastream.state import MapStateDescriptor, StateTtlConfig, ValueStateDescriptor
from penstock.datastream.window import TimeWindow, TumblingEventTimeWindows

KEYS: Final = 500
ROWS: Final = 40
"""How many rows an epoch has."""
_ADVANCE: Final = 200
"""By how much event time goes on with an epoch, in milliseconds."""
_PART: Final = 1 << 18
_COLLECT_SECONDS: Final = 15
"""How often Java collects all garbage."""

Item = tuple[int, int, int]
"""A key, a value, and a time in milliseconds."""


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value: Item, record_timestamp: int | None) -> int:
        return value[2]


class Remember(KeyedProcessFunction):
    """Keeps a count that expires, and what is to be forgotten by timers of both kinds of time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("count", Types.LONG())
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(20)).build())
        self._count = runtime_context.get_state(descriptor)
        recent = MapStateDescriptor("recent", Types.LONG(), Types.LONG())
        self._recent = runtime_context.get_map_state(recent)

    def process_element(self, value: Item, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        key, number, time = value
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        self._recent.put(time, number)
        timers = ctx.timer_service()
        timers.register_event_time_timer(time + 3_000)
        timers.register_processing_time_timer(timers.current_processing_time() + 500)
        yield f"{key},{number},{count}"

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        self._recent.remove(timestamp - 3_000)
        yield from ()


class Ask(AsyncFunction[Item, Item]):
    async def async_invoke(self, value: Item) -> list[Item]:
        await asyncio.sleep(value[1] % 5 * 0.005)
        return [value]


class Sums(ProcessWindowFunction[Item, str, int, TimeWindow]):
    def process(
        self,
        key: int,
        context: ProcessWindowFunction.Context[TimeWindow],
        elements: Iterable[Item],
    ) -> Iterator[str]:
        yield f"{key},{context.window().start},{sum(value for _, value, _ in elements)}"


def as_item(row: Any) -> Item:
    return row.value * 7_919 % KEYS, row.value, int(row.timestamp.timestamp() * 1_000)


def key_of(value: Item) -> int:
    return value[0]


def results_of(rows: DataStream) -> DataStream:
    """Return lines of text for the rows."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(_ADVANCE))
    items = rows.map(as_item).uid("item")
    timed = items.assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(EventTime())
    ).uid("time")
    asked = AsyncDataStream.unordered_wait(timed, Ask(), Time.seconds(30)).uid("ask")
    remembered = timed.key_by(key_of).process(Remember()).uid("remember")
    sums = (
        asked.key_by(key_of)
        .window(TumblingEventTimeWindows.of(Time.seconds(2)))
        .process(Sums())
        .uid("sums")
    )
    return remembered.union(sums)


def run(folder: Path, spark: Any) -> None:
    """Run the program in a folder."""
    configuration = Configuration()
    for key, value in {
        "execution.target": "spark",
        "execution.checkpointing.dir": str(folder / "checkpoints"),
        "execution.checkpointing.interval": "5 s",
        "async.drain-timeout": "10 ms",
        "pipeline.max-parallelism": "16",
    }.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    env.set_parallelism(2)
    rows = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", ROWS)
        .option("numPartitions", 2)
        .option("startTimestamp", 1_700_000_000_000)
        .option("advanceMillisPerBatch", _ADVANCE)
        .load()
    )
    results = results_of(env.from_data_frame(rows).uid("input"))
    sink = (
        FileSink.for_row_format(str(folder / "output"), Encoder.simple_string_encoder())
        .with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=_PART))
        .build()
    )
    results.sink_to(sink).uid("files")
    env.execute("soak")


def main() -> int:
    from tests.crash import job

    folder = Path(sys.argv[1])
    java = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss8m -Xlog:gc:file={folder / 'gc.log'}"
    settings = {
        "spark.driver.extraJavaOptions": java,
        "spark.cleaner.periodicGC.interval": f"{_COLLECT_SECONDS}s",
        "spark.local.dir": str(folder / "temporary"),
        "spark.sql.streaming.minBatchesToRetain": "20",
        "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming."
        "checkpointing.FileSystemBasedCheckpointFileManager",
    }
    given = [part for item in settings.items() for part in ("--set", "=".join(item))]
    needed = ["--location", "-", "--input", "-", "--output", "-", "--master", "local[2]"]
    run(folder, spark_session(job.arguments([*needed, *given])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
