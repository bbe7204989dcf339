"""A job goes on from its checkpoint with another parallelism, and gives what it would have given."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from tests.executors.rescaling import TIMES, at_once, input_of, new_environment, rescaled, run

from penstock.common import Types
from penstock.common.time import Time
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.functions import (
    KeyedBroadcastProcessFunction,
    ProcessJoinFunction,
)
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.errors import (
    MaxParallelismChangedError,
    StateTypeMismatchError,
    UnclaimedStateError,
)

_random = random.Random(7)
CUTS = [
    [
        (_random.choice("abcdefghijklmnop"), 100 * epoch + place, _random.randrange(100))
        for place in range(20)
    ]
    for epoch in range(6)
]


BACKENDS = ("hashmap", "rocksdb")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def key(record: tuple[Any, ...]) -> Any:
    return record[0]


class Everything(KeyedProcessFunction):
    """Uses state of every kind, and timers of event time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        state = runtime_context
        self.last = state.get_state(ValueStateDescriptor("last", Types.LONG()))
        self.all = state.get_list_state(ListStateDescriptor("all", Types.LONG()))
        self.counts = state.get_map_state(MapStateDescriptor("counts", Types.LONG(), Types.LONG()))
        self.sum = state.get_reducing_state(
            ReducingStateDescriptor("sum", lambda one, other: one + other, Types.LONG())
        )
        self.most = state.get_aggregating_state(
            AggregatingStateDescriptor("most", _Most(), Types.LONG())
        )

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        name, time, number = value
        self.all.add(number)
        if len(list(self.all.get())) > 5:
            self.all.update([number])
        self.counts.put(number % 3, (self.counts.get(number % 3) or 0) + 1)
        self.sum.add(number)
        self.most.add(number)
        before = self.last.value()
        self.last.update(number)
        ctx.timer_service().register_event_time_timer(time + 150)
        if number % 4 == 0:
            ctx.timer_service().delete_event_time_timer(time + 150)
        yield (
            name,
            time,
            before,
            list(self.all.get()),
            sorted(self.counts.items()),
            self.sum.get(),
            self.most.get(),
        )

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        # How many records came before it is chance: where watermarks come among them is not said.
        yield "timer", ctx.get_current_key(), timestamp


class _Most:
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return max(value, accumulator)

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, one: int, other: int) -> int:
        return max(one, other)


def everything(environment: StreamExecutionEnvironment, stream: DataStream) -> DataStream:
    timed = stream.assign_timestamps_and_watermarks(TIMES).uid("times")
    return timed.key_by(key).process(Everything()).uid("everything")


def _windows(assigner: Any) -> Any:
    def build(environment: StreamExecutionEnvironment, stream: DataStream) -> DataStream:
        timed = stream.assign_timestamps_and_watermarks(TIMES).uid("times")
        windows = timed.key_by(key).window(assigner)
        return windows.reduce(lambda one, other: (one[0], max(one[1], other[1]), one[2] + other[2]))

    return build


def windows_of_all(environment: StreamExecutionEnvironment, stream: DataStream) -> DataStream:
    timed = stream.assign_timestamps_and_watermarks(TIMES).uid("times")
    windows = timed.key_by(key).window(TumblingEventTimeWindows.of(Time.milliseconds(250)))
    return windows.apply(lambda key, window, records: [(key, window.start, sorted(records))]).uid(
        "w"
    )


class Between(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield left, right


def interval_join(environment: StreamExecutionEnvironment, stream: DataStream) -> DataStream:
    timed = stream.assign_timestamps_and_watermarks(TIMES).uid("times")
    even = timed.filter(lambda record: record[2] % 2 == 0).uid("even").key_by(key)
    odd = timed.filter(lambda record: record[2] % 2 == 1).uid("odd").key_by(key)
    return (
        even.interval_join(odd)
        .between(Time.milliseconds(-150), Time.milliseconds(150))
        .process(Between())
        .uid("join")
    )


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class Rules(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.seen.update((self.seen.value() or 0) + 1)
        yield value, self.seen.value(), sorted(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        state = ctx.get_broadcast_state(RULES)
        if value[2] % 3 == 0:
            state.remove(value[0])
        else:
            state.put(value[0], value[2])
        return iter(())


def broadcast(environment: StreamExecutionEnvironment, stream: DataStream) -> DataStream:
    rules = stream.filter(lambda record: record[2] < 30).uid("r").broadcast(RULES)
    return stream.key_by(key).connect(rules).process(Rules()).uid("rules")


PROGRAMS = {
    "state of all kinds": everything,
    "tumbling windows": _windows(TumblingEventTimeWindows.of(Time.milliseconds(250))),
    "sliding windows": _windows(
        SlidingEventTimeWindows.of(Time.milliseconds(300), Time.milliseconds(100))
    ),
    "session windows": _windows(EventTimeSessionWindows.with_gap(Time.milliseconds(90))),
    "windows of records": windows_of_all,
    "interval join": interval_join,
    "broadcast state": broadcast,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_job_rescaled_in_mid_stream_gives_what_it_would_have_given(
    name: str, tmp_path: Path
) -> None:
    expected = sorted(at_once(PROGRAMS[name], CUTS), key=repr)
    assert expected

    for backend in BACKENDS:
        found = rescaled(PROGRAMS[name], CUTS, tmp_path / backend, backend)
        assert sorted(found, key=repr) == expected


def test_a_job_that_is_only_started_again_gives_the_same_in_the_same_order(tmp_path: Path) -> None:
    stages = [(2, 2), (2, 4), (2, None)]
    expected = at_once(everything, CUTS, parallelism=2)

    for backend in BACKENDS:
        assert rescaled(everything, CUTS, tmp_path / backend, backend, stages) == expected


def test_files_of_files_taken_up_are_taken_up(tmp_path: Path) -> None:
    """Epochs without records: whoever took files up has none of its own when the next one comes."""
    cuts = [*CUTS[:3], [], [], [], [], [], *CUTS[3:]]
    expected = sorted(at_once(everything, cuts), key=repr)

    many: list[tuple[int, int | None]] = [(2, 3), (5, 4), (3, 5), (7, 6), (1, None)]
    few: list[tuple[int, int | None]] = [(2, 3), (5, 5), (1, None)]
    for backend, stages in itertools.product(BACKENDS, (many, few)):
        place = tmp_path / f"{backend}-{len(stages)}"
        found = rescaled(everything, cuts, place, backend, stages)
        assert sorted(found, key=repr) == expected


class Call(AsyncFunction[Any, Any]):
    """Leaves most calls under way in all runs but the last.

    Args:
        hangs: Whether they never end.
    """

    def __init__(self, hangs: bool) -> None:
        self._hangs = hangs

    async def async_invoke(self, value: Any) -> list[Any]:
        if self._hangs and value[2] % 3:
            await asyncio.Event().wait()
        return [value]


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("by_key", [True, False])
def test_calls_under_way_are_dealt_out(ordered: bool, by_key: bool, tmp_path: Path) -> None:
    runs = itertools.count()

    def build(environment: StreamExecutionEnvironment, stream: DataStream) -> DataStream:
        timed = stream.assign_timestamps_and_watermarks(TIMES).uid("times")
        before = timed.key_by(key) if by_key else timed.rebalance()
        wait = AsyncDataStream.ordered_wait if ordered else AsyncDataStream.unordered_wait
        function = Call(hangs=next(runs) < 2)
        called = wait(before, function, Time.seconds(1000), 100).uid("call")
        windows = called.key_by(key).window(TumblingEventTimeWindows.of(Time.milliseconds(250)))
        return windows.apply(
            lambda key, window, records: [(key, window.start, sorted(records))]
        ).uid("windows")

    found = rescaled(build, CUTS, tmp_path, "hashmap", async__drain_timeout="0 ms")

    assert next(runs) == 3
    assert sorted(found) == sorted(at_once(build, CUTS))


def test_chains_may_be_cut_elsewhere(tmp_path: Path) -> None:
    """Operators of one parallelism are chained; of two they are not."""

    def build(environment: StreamExecutionEnvironment, stream: DataStream) -> DataStream:
        timed = stream.assign_timestamps_and_watermarks(TIMES).uid("times")
        sums = timed.key_by(key).process(Everything()).uid("everything")
        grown = sums.map(lambda found: (found, 1)).uid("map")
        if environment.get_parallelism() == 5:
            grown.set_parallelism(3)
        if environment.get_parallelism() == 1:
            grown.disable_chaining()
        return grown

    expected = sorted(at_once(build, CUTS), key=repr)
    for backend in BACKENDS:
        found = rescaled(build, CUTS, tmp_path / backend, backend)
        assert sorted(found, key=repr) == expected


class TestSources:
    def test_may_be_added_and_come_in_another_order(self, backend: str, tmp_path: Path) -> None:
        found: list[Any] = []
        for order, until in [("ab", 2), ("cba", 4), ("abc", None)]:
            environment = new_environment(2, tmp_path, backend)
            found += run(environment, _union(environment, order, until))

        numbers = [number for cut in CUTS for _, _, number in cut]
        assert sorted(found) == sorted(
            (name, total) for name in "abc" for total in accumulate(numbers)
        )

    def test_may_be_removed(self, backend: str, tmp_path: Path) -> None:
        found: list[Any] = []
        ignore = {"execution__state_recovery__ignore_unclaimed_state": "true"}
        for order, until in [("abc", 2), ("c", 4), ("ca", None)]:
            environment = new_environment(2, tmp_path, backend, **ignore)
            found += run(environment, _union(environment, order, until))

        assert max(total for name, total in found if name == "c") == sum(
            number for cut in CUTS for _, _, number in cut
        )
        assert max(total for name, total in found if name == "b") == sum(
            number for cut in CUTS[:2] for _, _, number in cut
        )


def _union(environment: StreamExecutionEnvironment, order: str, until: int | None) -> DataStream:
    streams = []
    for place, name in enumerate(order):
        cuts = [[(name, number) for _, _, number in cut] for cut in CUTS]
        stream = input_of(environment, cuts, until if place == 0 else None, name)
        streams.append(stream)
    union = streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]
    return union.key_by(key).reduce(lambda one, other: (one[0], one[1] + other[1])).uid("sums")


class TestIsRefused:
    def test_a_changed_max_parallelism(self, tmp_path: Path) -> None:
        stage(everything, tmp_path, until=3)

        with pytest.raises(MaxParallelismChangedError, match="128 key groups") as raised:
            stage(everything, tmp_path, pipeline__max_parallelism="64")
        assert "set_max_parallelism(128)" in str(raised.value.hint)

    def test_an_operator_with_state_that_is_gone(self, tmp_path: Path) -> None:
        stage(everything, tmp_path, until=3)

        with pytest.raises(UnclaimedStateError, match="uid 'everything'") as raised:
            stage(broadcast, tmp_path)
        assert "ignore-unclaimed-state" in str(raised.value.hint)

    def test_an_operator_without_a_uid_in_another_place(self, tmp_path: Path) -> None:
        def build(environment: StreamExecutionEnvironment, stream: DataStream) -> DataStream:
            return stream.key_by(key).reduce(lambda one, other: other)

        def changed(environment: StreamExecutionEnvironment, stream: DataStream) -> DataStream:
            return build(environment, stream.map(lambda record: record))

        stage(build, tmp_path, until=3)

        with pytest.raises(UnclaimedStateError, match="without a uid"):
            stage(changed, tmp_path)

    def test_an_operator_that_keeps_no_calls_in_the_place_of_one_that_does(
        self, tmp_path: Path
    ) -> None:
        def calls(environment: StreamExecutionEnvironment, stream: DataStream) -> DataStream:
            wait = AsyncDataStream.unordered_wait(stream, Call(hangs=True), Time.seconds(1000), 100)
            return wait.uid("call")

        def plain(environment: StreamExecutionEnvironment, stream: DataStream) -> DataStream:
            return stream.map(lambda record: record).uid("call")

        stage(calls, tmp_path, until=3, async__drain_timeout="0 ms")

        with pytest.raises(UnclaimedStateError, match="uid 'call'"):
            stage(plain, tmp_path)
        found = stage(plain, tmp_path, execution__state_recovery__ignore_unclaimed_state="true")
        assert len(found) == sum(map(len, CUTS[3:]))

    def test_but_its_state_may_be_dropped(self, tmp_path: Path) -> None:
        stage(everything, tmp_path, until=3)

        found = stage(broadcast, tmp_path, execution__state_recovery__ignore_unclaimed_state="true")

        assert len(found) == sum(map(len, CUTS[3:]))

    @pytest.mark.parametrize(
        "other",
        [
            ReducingStateDescriptor("state", lambda one, other: other, Types.LONG()),
            ValueStateDescriptor("state", Types.STRING()),
            ListStateDescriptor("state", Types.LONG()),
        ],
        ids=["kind", "type", "shape"],
    )
    @pytest.mark.parametrize("is_late", [True, False], ids=["asked for later", "when opened"])
    def test_a_changed_type_of_state(
        self, other: Any, is_late: bool, backend: str, tmp_path: Path
    ) -> None:
        def build(descriptor: Any) -> Any:
            return lambda environment, stream: (
                stream.key_by(key).process(Asks(descriptor, is_late)).uid("asks")
            )

        first = build(ValueStateDescriptor("state", Types.LONG()))
        stage(first, tmp_path, backend, until=3)

        with pytest.raises(StateTypeMismatchError, match="asks for its state 'state'") as raised:
            stage(build(other), tmp_path, backend)
        assert "another uid" in str(raised.value)


class Asks(KeyedProcessFunction):
    """Asks for one state, when it is opened or at the first record."""

    def __init__(self, descriptor: Any, is_late: bool) -> None:
        self._descriptor = descriptor
        self._is_late = is_late

    def open(self, runtime_context: RuntimeContext) -> None:
        self._context = runtime_context
        if not self._is_late:
            self._get()

    def _get(self) -> Any:
        ask: dict[str, Any] = {
            "value": self._context.get_state,
            "list": self._context.get_list_state,
            "reducing": self._context.get_reducing_state,
        }
        return ask[self._descriptor.kind](self._descriptor)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        state = self._get()
        if self._descriptor.kind == "value":
            state.update(value[2])
        yield value


def stage(
    build: Any, location: Path, backend: str = "hashmap", until: int | None = None, **settings: str
) -> list[Any]:
    environment = new_environment(2, location, backend, **settings)
    return run(environment, build(environment, input_of(environment, CUTS, until)))


def test_the_max_parallelism_of_the_checkpoint_wins_if_none_is_set(tmp_path: Path) -> None:
    """That of 86 subtasks is 256 by default, that of 85 and of 2 is 128."""
    stages = [(86, 1), (2, None)]

    found = rescaled(everything, CUTS, tmp_path, "hashmap", stages)

    assert sorted(found, key=repr) == sorted(at_once(everything, CUTS), key=repr)
