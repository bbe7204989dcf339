"""Operators with two inputs through the public API, on both executors and both backends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
from tests.semantics.conftest import NewEnvironment
from tests.semantics.running import collect, epochs

from penstock.common import Time, Types, WatermarkStrategy
from penstock.datastream import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OutputTag,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.streams.two_streams import TwoStreams
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.runtime.task.subtask import Subtask

Record = tuple[str, int]
"""A key and an event time."""

LATE = OutputTag("late")
SIDE = OutputTag("side")
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
COUNT = ValueStateDescriptor("count", Types.LONG())

# In both streams time goes on, in each epoch beyond that of the epoch before.
LEFT: list[list[Record]] = [
    [("a", 0), ("b", 10), ("a", 25), ("c", 30)],
    [],
    [("b", 110), ("a", 130), ("a", 130)],
    [("c", 210), ("a", 250)],
]
RIGHT: list[list[Record]] = [
    [("a", 5), ("c", 20)],
    [("a", 40), ("b", 45), ("b", 90)],
    [("a", 135), ("z", 140)],
    [("a", 245), ("c", 299)],
]


class Meeting(KeyedCoProcessFunction):
    """Tells, 50 ms after the first record of a key, what both streams had of it in that time.

    What comes later waits for the next time.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        kind = Types.PICKLED_BYTE_ARRAY()
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", kind))

    def _take(self, side: str, value: Record, ctx: Any) -> Iterator[Any]:
        assert ctx.timestamp() == value[1]
        if value[1] <= ctx.timer_service().current_watermark():
            yield LATE, value
            return
        self.seen.add((side, value[1]))
        self._remind(ctx)

    def _remind(self, ctx: Any) -> None:
        """Set the timer for the first record that is known, unless it has gone off."""
        first = min(time for _, time in self.seen.get())
        ctx.timer_service().register_event_time_timer(first + 50)

    def process_element1(self, value: Record, ctx: Any) -> Iterator[Any]:
        return self._take("left", value, ctx)

    def process_element2(self, value: Record, ctx: Any) -> Iterator[Any]:
        return self._take("right", value, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        seen = sorted(self.seen.get(), key=lambda seen: seen[1])
        now = [one for one in seen if one[1] <= timestamp]
        if now and now[0][1] + 50 == timestamp:
            yield ctx.get_current_key(), now
            self.seen.update(seen[len(now) :])
            if len(seen) > len(now):
                self._remind(ctx)


class Sides(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return "left", value

    def map2(self, value: Any) -> Any:
        return "right", value


class Some(CoMapFunction):
    """Has no results for some records, but falsy ones for others."""

    def map1(self, value: Record) -> int | None:
        return value[1] % 3 or None

    def map2(self, value: Record) -> int | None:
        return 0 if value[1] % 20 else None


class Split(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Any:
        return value[0] * 2

    def flat_map2(self, value: Any) -> Any:
        return None


class Counted(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value if value[1] % 2 else (SIDE, value)

    def process_element2(self, value: Any, ctx: Any) -> Any:
        return [(SIDE, "right")]


class Latest(CoMapFunction):
    """Has state on keyed streams."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)

    def map1(self, value: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        return value[0], self.count.value()

    map2 = map1


class Ruled(BroadcastProcessFunction):
    def process_element(self, value: Record, ctx: Any) -> Iterator[Any]:
        yield value, ctx.get_broadcast_state(RULES).get(value[0])

    def process_broadcast_element(self, value: Record, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES)[value[0]] = value[1]


class CountedUnderRules(KeyedBroadcastProcessFunction):
    """A rule begins all counts anew."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Record, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        rule = ctx.get_broadcast_state(RULES).get("z")
        yield value, self.count.value(), rule
        ctx.timer_service().register_event_time_timer(2**63 - 1)

    def process_broadcast_element(self, value: Record, ctx: Any) -> None:
        if value[0] == "z":
            ctx.get_broadcast_state(RULES)["z"] = value[1]
            ctx.apply_to_keyed_state(COUNT, lambda key, count: count.clear())

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), self.count.value()


@pytest.fixture(autouse=True)
def _each_epoch_in_a_new_process(executor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a cluster, where the next epoch may run anywhere."""
    if executor == "local":
        monkeypatch.setattr(Subtask, "can_run", lambda subtask, epoch: False)


def timed(stream: DataStream) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy.with_timestamp_assigner(lambda event, _: event[1])
    return stream.assign_timestamps_and_watermarks(strategy).set_parallelism(1)


def both(env: StreamExecutionEnvironment) -> tuple[DataStream, DataStream]:
    return tuple(timed(epochs(env, *cuts).set_parallelism(1)) for cuts in (LEFT, RIGHT))  # type: ignore[return-value]


def in_windows(streams: TwoStreams[Any]) -> Any:
    assigner = TumblingEventTimeWindows.of(Time.milliseconds(50))
    return streams.where(lambda record: record[0]).equal_to(0).window(assigner)


def brute_force(left: list[Record], right: list[Record], lower: int, upper: int) -> Counter[Any]:
    return Counter(
        (one, other)
        for one in left
        for other in right
        if one[0] == other[0] and lower <= other[1] - one[1] <= upper
    )


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_state_timers_and_joins(new_environment: NewEnvironment, backend: str) -> None:
    env = new_environment(3, state__backend__type=backend, pipeline__auto_watermark_interval="1 h")
    left, right = both(env)
    meeting = left.connect(right).key_by(0, lambda record: record[0]).process(Meeting())
    by_key = [stream.key_by(lambda record: record[0]) for stream in (left, right)]
    near = by_key[0].interval_join(by_key[1]).between(-10, 20)
    apart = by_key[0].interval_join(by_key[1]).between(5, 40)
    itself = by_key[0].interval_join(by_key[0]).between(0, 30)
    found = collect(
        {
            "meeting": meeting,
            "late": meeting.get_side_output(LATE),
            "near": near.process(lambda one, other, ctx: [(one, other)]),
            "apart": apart.lower_bound_exclusive()
            .upper_bound_exclusive()
            .process(lambda one, other, ctx: [(one, other)]),
            "itself": itself.process(lambda one, other, ctx: [(one, other)]),
            "windows": in_windows(left.join(right)).apply(lambda one, other: (one, other)),
            "groups": in_windows(left.co_group(right)).apply(
                lambda one, other: [(sorted(one), sorted(other))]
            ),
        }
    )

    assert sorted(found["meeting"]) == [
        ("a", [("left", 0), ("right", 5), ("left", 25), ("right", 40)]),
        ("a", [("left", 130), ("left", 130), ("right", 135)]),
        ("a", [("right", 245), ("left", 250)]),
        ("b", [("left", 10), ("right", 45)]),
        ("b", [("right", 90), ("left", 110)]),
        ("c", [("left", 210)]),
        ("c", [("right", 20), ("left", 30)]),
        ("c", [("right", 299)]),
        ("z", [("right", 140)]),
    ]
    assert found["late"] == []
    lefts, rights = list(chain(*LEFT)), list(chain(*RIGHT))
    assert Counter(found["near"]) == brute_force(lefts, rights, -10, 20)
    assert Counter(found["apart"]) == brute_force(lefts, rights, 6, 39)
    assert Counter(found["itself"]) == brute_force(lefts, lefts, 0, 30)
    assert Counter(found["windows"]) == Counter(
        (one, other)
        for one in lefts
        for other in rights
        if one[0] == other[0] and one[1] // 50 == other[1] // 50
    )
    assert sorted(found["groups"]) == sorted(
        tuple(
            sorted(r for r in side if r[0] == key and r[1] // 50 == number)
            for side in (lefts, rights)
        )
        for key, number in {(key, time // 50) for key, time in lefts + rights}
    )


def test_all_kinds_of_functions_and_shapes(new_environment: NewEnvironment) -> None:
    env = new_environment(3)
    left, right = both(env)
    spread = left.rebalance().map(lambda record: record)
    counted = left.connect(right).process(Counted())
    found = collect(
        {
            "map": left.connect(right).map(Sides()),
            "some": left.connect(right).map(Some()),
            "some by key": left.connect(right).key_by(0, 0).map(Some()),
            "itself": left.connect(left).map(Sides()).set_parallelism(2),
            "of other parallelism": spread.connect(right.map(list).set_parallelism(2)).map(Sides()),
            "unions": left.union(right).connect(spread.union(left)).map(Sides()),
            "one after the other": left.connect(right).map(Sides()).connect(right).map(Sides()),
            "flat map": left.connect(right).flat_map(Split()),
            "process": counted,
            "side": counted.get_side_output(SIDE),
            "state": left.connect(right).key_by(0, 0).map(Latest()),
            "ruled": left.connect(right.broadcast(RULES)).process(Ruled()),
            "rules": left.key_by(0).connect(right.broadcast(RULES)).process(CountedUnderRules()),
        }
    )

    lefts, rights = list(chain(*LEFT)), list(chain(*RIGHT))
    sides = [*(("left", value) for value in lefts), *(("right", value) for value in rights)]
    assert Counter(found["map"]) == Counter(sides)
    some = [time % 3 for _, time in lefts if time % 3] + [0 for _, time in rights if time % 20]
    assert Counter(found["some"]) == Counter(found["some by key"]) == Counter(some)
    assert Counter(found["itself"]) == Counter(
        (side, v) for side in ("left", "right") for v in lefts
    )
    assert sorted(found["of other parallelism"]) == sorted(
        (side, value if side == "left" else list(value)) for side, value in sides
    )
    assert Counter(found["unions"]) == Counter(
        [*(("left", v) for v in lefts + rights), *(("right", v) for v in lefts * 2)]
    )
    assert Counter(found["one after the other"]) == Counter(
        [*(("left", side) for side in sides), *(("right", value) for value in rights)]
    )
    assert Counter(found["flat map"]) == Counter("".join(key * 2 for key, _ in lefts))
    assert Counter(found["process"]) == Counter(value for value in lefts if value[1] % 2)
    assert Counter(found["side"]) == Counter(
        [*(value for value in lefts if value[1] % 2 == 0), *["right"] * len(rights)]
    )
    counts = Counter(key for key, _ in lefts + rights)
    assert Counter(found["state"]) == Counter(
        (key, number) for key, count in counts.items() for number in range(1, count + 1)
    )
    # What is broadcast in an epoch comes before the records of that epoch.
    ruled = []
    rules: dict[str, int] = {}
    for records, changes in zip(LEFT, RIGHT, strict=True):
        rules.update(changes)
        ruled += [(record, rules.get(record[0])) for record in records]
    assert Counter(found["ruled"]) == Counter(ruled)
    assert Counter(found["rules"]) == Counter(
        [
            (("a", 0), 1, None), (("b", 10), 1, None), (("a", 25), 2, None), (("c", 30), 1, None),
            (("b", 110), 1, 140), (("a", 130), 1, 140), (("a", 130), 2, 140),
            (("c", 210), 1, 140), (("a", 250), 3, 140),
            ("a", 3), ("b", 1), ("c", 1),
        ]
    )  # fmt: skip


class Order(KeyedCoProcessFunction):
    """Tells in which order records come."""

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value[0], 1, ctx.timestamp(), value[2]

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value[0], 2, ctx.timestamp(), value[2]


class OrderBesideRules(KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value[0], value[2], len(list(ctx.get_broadcast_state(RULES)))

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES)[value[0]] = value[1]


def test_keyed_inputs_come_sorted_in_batch_mode(new_environment: NewEnvironment) -> None:
    env = new_environment(2).set_runtime_mode(RuntimeExecutionMode.BATCH)
    first = [(f"k{place % 3}", place * 7 % 10, place) for place in range(30)]
    second = [(f"k{place % 3}", place * 3 % 10, place) for place in range(20)]
    left, right = (timed(env.from_collection(records)) for records in (first, second))
    rules = env.from_collection([("x", 1), ("y", 2)]).broadcast(RULES)
    found = collect(
        {
            "order": left.connect(right).key_by(0, 0).process(Order()),
            "rules": left.key_by(0).connect(rules).process(OrderBesideRules()),
        }
    )

    for key in ("k0", "k1", "k2"):
        own = [record for record in found["order"] if record[0] == key]
        assert own == sorted(
            [(k, 1, time, place) for k, time, place in first if k == key]
            + [(k, 2, time, place) for k, time, place in second if k == key],
            key=lambda record: (record[2], record[1], record[3]),
        )
        places = [place for other, place, _ in found["rules"] if other == key]
        assert places == sorted(places, key=lambda place: (place * 7 % 10, place))
    assert {rules for _, _, rules in found["rules"]} == {2}
