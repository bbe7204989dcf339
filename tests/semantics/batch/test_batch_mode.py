"""BATCH mode: records of a key by their timestamps, and no time before the end of the input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.semantics.conftest import NewEnvironment
from tests.semantics.running import collect

from penstock.common import Time, WatermarkStrategy
from penstock.datastream import (
    DataStream,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
    TimeDomain,
    WindowFunction,
)
from penstock.datastream.window import CountEvictor, TumblingEventTimeWindows
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP

Record = tuple[str, int, int]
"""A key, an event time and a place in the input."""

RECORDS: list[Record] = [(f"k{place % 3}", place * 7 % 10, place) for place in range(30)]


def timed(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy.with_timestamp_assigner(lambda event, _: event[1])
    return env.from_collection(RECORDS).assign_timestamps_and_watermarks(strategy)


def by_time(key: str) -> list[Record]:
    return sorted((r for r in RECORDS if r[0] == key), key=lambda record: record[1:])


class TellsTimes:
    """Tells what it sees; each timer would set others, again and again."""

    def process_element(self, value: Record, ctx: Any) -> Iterator[Any]:
        yield value[0], value[2], ctx.timer_service().current_watermark()
        self._remind(ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        watermark = ctx.timer_service().current_watermark()
        yield ctx.get_current_key(), ctx.time_domain(), timestamp, watermark
        self._remind(ctx)

    def _remind(self, ctx: Any) -> None:
        timers = ctx.timer_service()
        timers.register_event_time_timer(ctx.timestamp() + 1)
        timers.register_processing_time_timer(ctx.timestamp() + 1)


class Times(TellsTimes, KeyedProcessFunction):
    pass


class TimesOfTwo(TellsTimes, KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        return None

    process_element2 = TellsTimes.process_element


class Listed(WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Any) -> Any:
        yield key, [record[2] for record in inputs]


def test_records_of_a_key_come_by_their_timestamps(new_environment: NewEnvironment) -> None:
    env = new_environment(2).set_runtime_mode(RuntimeExecutionMode.BATCH)
    records = timed(env)
    keyed = records.key_by(lambda record: record[0])
    windows = keyed.window(TumblingEventTimeWindows.of(Time.seconds(1)))
    # What a reduce gives in BATCH mode, it gives at the end of time.
    finals = keyed.reduce(max).connect(records).key_by(0, 0)
    found = collect(
        {
            "process": keyed.process(Times()),
            "two": finals.process(TimesOfTwo()),
            "reduce": keyed.map(lambda r: (r[0], (r[2],))).key_by(0).reduce(
                lambda one, other: (one[0], one[1] + other[1])
            ),
            "windows": windows.apply(Listed()),
            "evicted": windows.evictor(CountEvictor.of(2)).apply(Listed()),
        }
    )  # fmt: skip

    for name in ("process", "two"):
        for key in ("k0", "k1", "k2"):
            assert [seen for seen in found[name] if seen[0] == key] == [
                *((key, place, MIN_TIMESTAMP) for _, _, place in by_time(key)),
                *((key, TimeDomain.EVENT_TIME, time, MAX_TIMESTAMP) for time in range(1, 11)),
                *((key, TimeDomain.PROCESSING_TIME, time, MAX_TIMESTAMP) for time in range(1, 11)),
            ]
    listed = {key: [place for _, _, place in by_time(key)] for key in ("k0", "k1", "k2")}
    assert {key: list(places) for key, places in found["reduce"]} == listed
    assert dict(found["windows"]) == listed
    assert dict(found["evicted"]) == {key: places[-2:] for key, places in listed.items()}
