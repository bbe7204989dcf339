"""Time in streaming jobs on Spark: ticks without input, idle splits, splits that several tasks read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from tests.executors.spark.conftest import StreamOf

from penstock.common import Duration, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.errors import UnsupportedOperationError
from penstock.runtime.timestamp import MAX_TIMESTAMP

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = "split string, time long"


def row(split: str, time: int) -> dict[str, Any]:
    return {"split": split, "time": time}


@pytest.fixture
def endless(spark: SparkSession) -> StreamExecutionEnvironment:
    """An environment whose streaming jobs run until they are cancelled."""
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    return env.set_parallelism(2)


class Later(KeyedProcessFunction):
    """Answers each record some processing time later."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 300)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        now = ctx.timer_service().current_processing_time()
        yield ctx.get_current_key(), ctx.time_domain().name, now > timestamp


def test_processing_time_timers_fire_without_new_input(
    endless: StreamExecutionEnvironment, stream_of: StreamOf
) -> None:
    rows = endless.from_data_frame(stream_of(SCHEMA, [row("a", 1), row("b", 2)]))

    found = rows.key_by(lambda r: r.split).process(Later()).execute_and_collect(limit=2)

    assert sorted(found) == [("a", "PROCESSING_TIME", True), ("b", "PROCESSING_TIME", True)]


class Passed(KeyedProcessFunction):
    """Tells of each record when the watermark has passed it, and how far it is."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        time = ctx.timestamp()
        assert time is not None
        ctx.timer_service().register_event_time_timer(time)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, ctx.timer_service().current_watermark()


def in_order() -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return strategy.with_timestamp_assigner(lambda r, _: r.time)


def test_a_split_without_records_holds_the_watermark_back_until_it_is_idle(
    endless: StreamExecutionEnvironment, stream_of: StreamOf
) -> None:
    frame = stream_of(SCHEMA, [row("slow", 10), row("fast", 20)], [row("fast", 1000)])
    strategy = in_order().with_idleness(Duration.of_millis(500))
    rows = endless.from_data_frame(frame, watermark_strategy=strategy, split_column="split")

    found = rows.key_by(lambda r: r.split).process(Passed()).execute_and_collect(limit=2)

    # Nothing comes after the second file. What fast had at 20 waits for slow, at 10, to be idle; the
    # greatest timestamp of all holds itself back, as the watermark is 1 ms behind it.
    assert sorted(found) == [("fast", 20, 999), ("slow", 10, 999)]


def test_splits_that_are_apart_make_no_record_late(
    env: StreamExecutionEnvironment, stream_of: StreamOf
) -> None:
    """One split a day behind the other, in files of their own: so other tasks read them each time."""
    ahead, behind = 100_000, 0
    epochs = [
        [row("ahead", ahead + 100 * number), row("behind", behind + 100 * number)]
        for number in range(4)
    ]
    rows = env.from_data_frame(
        stream_of(SCHEMA, *epochs), watermark_strategy=in_order(), split_column="split"
    )

    with rows.key_by(lambda r: r.split).process(Passed()).execute_and_collect() as results:
        found = list(results)

    assert sorted((key, time) for key, time, _ in found) == sorted(
        (r["split"], r["time"]) for epoch in epochs for r in epoch
    )
    # The watermark is that of the split behind, one record late; and at last that of the end.
    assert {at for key, time, at in found if key == "behind" and time < 300} == {99, 199, 299}
    assert {at for key, _, at in found if key == "ahead"} == {MAX_TIMESTAMP}


def test_alignment_is_refused_where_it_cannot_hold(
    endless: StreamExecutionEnvironment, stream_of: StreamOf
) -> None:
    strategy = in_order().with_watermark_alignment("group", Duration.of_seconds(1))
    frame = stream_of(SCHEMA, [row("a", 1)])
    endless.from_data_frame(frame, watermark_strategy=strategy).print()

    with pytest.raises(UnsupportedOperationError, match="watermark alignment") as caught:
        endless.execute()
    assert "\n\nHint: " in str(caught.value)
