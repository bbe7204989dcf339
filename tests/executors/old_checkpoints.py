"""Checkpoints of the version that sorted the fields of rows made of keyword arguments.

The folder `old` holds what that version committed after three of the seven epochs of the program here: in `stopped`
the job failed then, in `drained` it was stopped with a drain.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.executors.control import holding
from tests.executors.rescaling import TIMES, new_environment

from penstock.checkpoint.epoch_record import digest_of
from penstock.common import Row, Types, WatermarkStrategy
from penstock.common.time import Time
from penstock.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from penstock.testing import TestingSource

OLD: Final = Path(__file__).parent / "old"
CUTS: Final = [[(place % 3, 100 * epoch + 10 * place) for place in range(6)] for epoch in range(7)]
_NOT_YET_KNOWN: Final = ("read", "is_drained", "pieces", "old_rows")


def make_old(location: Path) -> None:
    """Write the metadata of a checkpoint, or savepoint, as that version did."""
    for path in (location / "epochs").iterdir():
        plain = json.loads(path.read_bytes().partition(b"\n")[2])
        plain["format"] = 1
        if plain["is_drained"]:
            plain["finished"] = list(range(len(plain["job"]["sources"])))
        for name in _NOT_YET_KNOWN:
            plain.pop(name)
        for name in ("shift", "is_planned"):
            plain["engine"].pop(name, None)
        body = json.dumps(plain, separators=(",", ":"), sort_keys=True).encode()
        path.write_bytes(digest_of(body).encode() + b"\n" + body)


class Everything(KeyedProcessFunction):
    """Uses state of several kinds, and timers."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self._all = runtime_context.get_list_state(ListStateDescriptor("all", Types.LONG()))
        self._times = runtime_context.get_map_state(
            MapStateDescriptor("times", Types.LONG(), Types.LONG())
        )

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self._count.update((self._count.value() or 0) + 1)
        self._all.add(value[1])
        self._times.put(value[1] % 4, value[1])
        ctx.timer_service().register_event_time_timer(value[1] + 120)
        yield (value, self._count.value(), sum(self._all.get()), sorted(self._times.items()))

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ("timer", timestamp)


def item_and_shop(record: Any) -> Row:
    return Row(item=record[0], shop="s")


def shop_and_item(record: Any) -> Row:
    return Row(shop="s", item=record[0])


def latest(one: Any, other: Any) -> Any:
    return (one[0], max(one[1], other[1]))


def build(environment: StreamExecutionEnvironment, key: Any, on_record: Any) -> DataStream:
    """Build the program, whose keys are rows of keyword arguments."""
    source = TestingSource(CUTS)
    records = environment.from_source(source, WatermarkStrategy.no_watermarks(), "records")
    timed = records.uid("records").map(on_record).uid("map")
    keyed = timed.assign_timestamps_and_watermarks(TIMES).uid("times").key_by(key)
    tumbling = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(250)))
    sessions = keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(65)))
    return (
        keyed.process(Everything())
        .uid("everything")
        .union(tumbling.reduce(latest).uid("tumbling"), sessions.reduce(latest).uid("sessions"))
    )


def write(location: Path, *, drains: bool) -> None:
    """Write a checkpoint; with that version on the path, as it stands in `old`."""
    environment = new_environment(2, location / "job")
    gates, hold = holding("write")
    stream = build(environment, shop_and_item, lambda record: (hold(record[1] // 100), record)[1])
    stream.add_sink(lambda value: None).uid("sink")
    client = environment.execute_async("old")
    gates.reach(2)
    future = client.stop_with_savepoint(drains, str(location / "savepoints"))
    while not client._job._gate._guests:  # type: ignore[attr-defined]
        pass
    gates.let_through(2, 3)
    print(future.result())


if __name__ == "__main__":
    write(Path(sys.argv[1]), drains=sys.argv[2:] == ["drained"])
