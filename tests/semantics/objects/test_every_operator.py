"""Whatever functions do later to what they were given or gave out, each operator gives the same.

Every operator runs with functions that change nothing, and with such as change, at each call, all that they saw
and gave out before, and give out one and the same list. What comes out has to be the same, as texts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pytest
from tests.runtime.programs import Journal
from tests.semantics.conftest import NewEnvironment
from tests.semantics.objects.changing import (
    ANY,
    Add,
    Changing,
    Collect,
    Distance,
    Evicts,
    Fires,
    Gap,
    Key,
    States,
    Time,
    Timers,
    Window,
    fields,
    records,
)
from tests.semantics.objects.spoiling import Parcel, spoil, text
from tests.semantics.running import collect, epochs

from penstock.common import (
    BulkWriter,
    BulkWriterFactory,
    Configuration,
    Encoder,
    WatermarkStrategy,
)
from penstock.common.watermark_generator import WatermarkGenerator
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncOptions,
    AsyncRetryStrategy,
    Batching,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoGroupFunction,
    CoMapFunction,
    CoProcessFunction,
    DataStream,
    FilterFunction,
    FlatMapFunction,
    JoinFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedStream,
    MapFunction,
    MapStateDescriptor,
    OnFailure,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessJoinFunction,
    RateLimit,
    ReduceFunction,
    ResultCache,
    RuntimeExecutionMode,
    SinkFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.connectors.files.policies import BucketAssigner, OnCheckpointRollingPolicy
from penstock.datastream.window import (
    DeltaEvictor,
    DeltaTrigger,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.testing import local_environment

SIDE = OutputTag("side")
STREAMING, BATCH = RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH
RULES = MapStateDescriptor("rules", ANY, ANY)


class Source(NamedTuple):
    """Where a program begins.

    Attributes:
        stream: The records; each time it is asked for, another stream of them.
        busy: Whether functions change what they had.
    """

    stream: Callable[[], DataStream]
    busy: bool

    def timed(self) -> DataStream:
        strategy = WatermarkStrategy.for_generator(partial(Watermarks, self.busy))
        strategy = strategy.with_timestamp_assigner(Time(self.busy))
        return self.stream().assign_timestamps_and_watermarks(strategy)

    def keyed(self) -> KeyedStream:
        return self.timed().key_by(Key(self.busy))


class Watermarks(Changing, WatermarkGenerator):
    """A watermark after every third record, whatever the clock says."""

    def __init__(self, busy: bool) -> None:
        super().__init__(busy)
        self._count, self._most = 0, -(10**6)

    def on_event(self, event: Any, timestamp: int, output: Any) -> None:
        self._count, self._most = self._count + 1, max(self._most, timestamp)
        self.touch(event)
        if self._count % 3 == 0:
            output.emit_watermark(self._most - 1)

    def on_periodic_emit(self, output: Any) -> None:
        """Nothing: that would be left to chance."""


class Mapped(Changing, MapFunction):
    def map(self, value: Any) -> Any:
        return self.give(self.show(value))


class Passed(Changing, MapFunction):
    """Gives out what it was given."""

    def map(self, value: Any) -> Any:
        self.touch(value)
        return value


class Filtered(Changing, FilterFunction):
    def filter(self, value: Any) -> bool:
        self.touch(value)
        return True


class FlatMapped(Changing, FlatMapFunction):
    def flat_map(self, value: Any) -> Iterator[Any]:
        yield from self.gives(text(value))
        yield value
        self.touch(value)


class Processed(Changing, ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        for result in self.gives(text(value)):
            yield SIDE, result
            yield result
        yield SIDE, value
        self.touch(value)


class Reduced(Changing, ReduceFunction):
    def __init__(self, busy: bool) -> None:
        super().__init__(busy)
        self._add = Add(busy)

    def reduce(self, value1: Any, value2: Any) -> Any:
        return self._add(value1, value2)


class AllWindow(Changing, ProcessAllWindowFunction[Any, Any, Any]):
    def process(self, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield from self.gives(self.show(*elements))


class CoMapped(Changing, CoMapFunction):
    def map1(self, value: Any) -> Any:
        return self.give(self.show(value))

    def map2(self, value: Any) -> Any:
        self.touch(value)
        return value


class CoFlatMapped(Changing, CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Iterator[Any]:
        yield from self.gives(self.show(value))

    def flat_map2(self, value: Any) -> Iterator[Any]:
        yield value
        self.touch(value)


class CoProcessed(Changing, CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield from self.gives(self.show(value))

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield SIDE, value
        self.touch(value)


class KeyedCoProcessed(States, KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(fields(value)[2] + 2)
        yield from self.gives(fields(value)[0])
        self.kept(value)

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield fields(value)[0]
        self.touch(value)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield from self.gives(timestamp, self.kept([timestamp]))


class Broadcasting(Changing):
    """Keeps a number of what is broadcast; which records see it is left to chance."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        rules = [rule for _, rule in ctx.get_broadcast_state(RULES).items()]
        assert "spoilt" not in text(rules), rules
        self.touch(*rules)
        yield from self.gives(self.show(value))

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        state = ctx.get_broadcast_state(RULES)
        found = state.get("last") or {"sum": [0]}
        yield from self.gives(text(found), fields(value)[0])
        found["sum"] = [found["sum"][0] + fields(value)[0]]
        state.put("last", found)
        self.touch(value, found)


class Broadcast(Broadcasting, BroadcastProcessFunction):
    """On a stream without keys."""


class KeyedBroadcast(Broadcasting, KeyedBroadcastProcessFunction):
    """On a keyed stream."""


class Joined(Changing, JoinFunction):
    def join(self, first: Any, second: Any) -> Any:
        return self.give(self.show(first, second))


class CoGrouped(Changing, CoGroupFunction):
    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[Any]:
        yield from self.gives(self.show(*first), self.show(*second))


class IntervalJoined(Changing, ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield from self.gives(self.show(left, right))


class Asked(Changing, AsyncFunction[Any, Any]):
    """Answers after another has been asked; fails for one record, and at first for others if it is flaky."""

    def __init__(self, busy: bool, *, flaky: bool) -> None:
        super().__init__(busy)
        self._flaky = flaky
        self._tried: set[int] = set()

    async def async_invoke(self, value: Any) -> list[Any]:
        number, shown = fields(value)[0], self.show(value)
        await asyncio.sleep(0)
        if number == 7 or (self._flaky and number % 3 == 0 and number not in self._tried):
            self._tried.add(number)
            raise ValueError(number)
        return self.give(shown)


class AskedTogether(Changing, AsyncFunction[Any, Any]):
    async def async_invoke(self, value: list[Any]) -> list[Any]:
        await asyncio.sleep(0)
        answers = [[shown, [shown]] for shown in map(text, value)]
        self.touch(*value, *answers, *(answer[1] for answer in answers))
        return answers


class Judging(Changing):
    """A retry predicate, the weight of a record, and what stands in for results."""

    def __call__(self, value: Any, error: Any = None) -> Any:
        shown = self.show(value)
        return False if error is None else self.give(shown)


class Weight(Changing):
    def __call__(self, value: Any) -> float:
        self.touch(value)
        return 0.5


class ToFolder(Changing, BucketAssigner):
    def get_bucket_id(self, element: Any, context: Any) -> str:
        self.touch(element)
        return ""


class Rolling(Changing, OnCheckpointRollingPolicy):
    def should_roll_on_event(self, part_file: Any, element: Any) -> bool:
        self.touch(element)
        return False


class Lines(Changing, Encoder):
    def encode(self, value: Any) -> bytes:
        return f"{self.show(value)}\n".encode()


class ManyLines(BulkWriterFactory):
    def create(self, file: BinaryIO) -> BulkWriter:
        return _LinesAtTheEnd(file)


class _LinesAtTheEnd(BulkWriter):
    def __init__(self, file: BinaryIO) -> None:
        self._file, self._held = file, list[Any]()

    def add_element(self, element: Any) -> None:
        self._held.append(element)

    def finish(self) -> None:
        self._file.write("".join(f"{text([value])}\n" for value in self._held).encode())


class Sink(Changing, SinkFunction):
    """Keeps what it gets, and changes some of it."""

    def __init__(self, busy: bool, journal: list[Any]) -> None:
        super().__init__(busy)
        self._journal = journal

    def invoke(self, value: Any) -> None:
        self._journal.append(self.show(value))


Program = Callable[[Source], DataStream]


def _windowed(assigner: Any, how: str, *, evicts: bool = False, fires: bool = False) -> Program:
    def program(source: Source) -> DataStream:
        busy = source.busy
        windows = source.keyed().window(assigner(busy))
        if how != "late":
            windows = windows.allowed_lateness(2)
        if fires:
            windows = windows.trigger(Fires(busy))
        if evicts:
            windows = windows.evictor(Evicts(busy))
        if how == "late":
            windows = windows.side_output_late_data(SIDE)
            return windows.process(Window(busy)).get_side_output(SIDE)
        if how == "reduce":
            return windows.reduce(Add(busy))
        if how == "aggregate":
            return windows.aggregate(Collect(busy), Window(busy))
        return windows.process(Window(busy))

    return program


def _windowed_all(how: str) -> Program:
    def program(source: Source) -> DataStream:
        windows = source.timed().window_all(TumblingEventTimeWindows.of(4))
        if how == "reduce":
            return windows.reduce(Add(source.busy))
        if how == "aggregate":
            return windows.aggregate(Collect(source.busy))
        return windows.process(AllWindow(source.busy))

    return program


def _delta(source: Source) -> DataStream:
    busy = source.busy
    windows = source.keyed().window(GlobalWindows.create())
    windows = windows.trigger(DeltaTrigger.of(3, Distance(busy)))
    # Who measures while records are evicted would change those that the function is given next.
    return windows.evictor(DeltaEvictor.of(5, Distance(busy=False))).process(Window(busy))


def _with_side(source: Source) -> DataStream:
    main = source.stream().process(Processed(source.busy))
    return main.union(main.get_side_output(SIDE))


def _connected(function: Any, *, keyed: bool, how: str = "process") -> Program:
    def program(source: Source) -> DataStream:
        one, other = source.timed(), source.timed()
        if keyed:
            one, other = one.key_by(Key(source.busy)), other.key_by(Key(source.busy))
        found: DataStream = getattr(one.connect(other), how)(function(source.busy))
        return found.union(found.get_side_output(SIDE)) if function is CoProcessed else found

    return program


def _broadcast(*, keyed: bool) -> Program:
    def program(source: Source) -> DataStream:
        rules = source.stream().broadcast(RULES)
        if keyed:
            return source.keyed().connect(rules).process(KeyedBroadcast(source.busy))
        return source.stream().connect(rules).process(Broadcast(source.busy))

    return program


def _joined(source: Source) -> DataStream:
    busy = source.busy
    joined = source.timed().join(source.timed()).where(Key(busy)).equal_to(Key(busy))
    return joined.window(TumblingEventTimeWindows.of(4)).apply(Joined(busy))


def _co_grouped(source: Source) -> DataStream:
    busy = source.busy
    grouped = source.timed().co_group(source.timed()).where(Key(busy)).equal_to(Key(busy))
    return grouped.window(SlidingEventTimeWindows.of(4, 2)).apply(CoGrouped(busy))


def _interval_joined(source: Source) -> DataStream:
    joined = source.keyed().interval_join(source.keyed()).between(-3, 3)
    return joined.process(IntervalJoined(source.busy))


def _asked(source: Source) -> DataStream:
    busy = source.busy
    retry: AsyncRetryStrategy[Any] = AsyncRetryStrategy.fixed_delay(
        2, 1, Judging(busy), lambda _: True
    )
    options = AsyncOptions(
        rate_limit=RateLimit(10_000, weight=Weight(busy)),
        on_failure=OnFailure.fallback(Judging(busy)),
    )
    return AsyncDataStream.ordered_wait_with_retry(
        source.stream().map(Passed(busy)), Asked(busy, flaky=True), 10_000, retry, options=options
    )


def _asked_once(source: Source) -> DataStream:
    options = AsyncOptions(
        cache=ResultCache(100, key=Number(source.busy)), on_failure=OnFailure.side_output(SIDE)
    )
    twice = source.stream().flat_map(Doubled(source.busy))
    ask = Asked(source.busy, flaky=False)
    asked = AsyncDataStream.unordered_wait(twice, ask, 10_000, options=options)
    return asked.union(asked.get_side_output(SIDE).map(lambda pair: pair[0]))


class Number(Changing):
    """Gives a record's number, in a row that it gives out again and again."""

    def __call__(self, value: Any) -> Any:
        self.touch(value)
        return (fields(value)[0],)


class Doubled(Changing, FlatMapFunction):
    def flat_map(self, value: Any) -> Iterator[Any]:
        self.touch(value)
        yield value
        yield value


def _asked_together(source: Source) -> DataStream:
    options = AsyncOptions(batching=Batching(4))
    records = source.stream().map(Passed(source.busy))
    return AsyncDataStream.ordered_wait(
        records, AskedTogether(source.busy), 10_000, options=options
    )


def _partitioned(source: Source) -> DataStream:
    parts = source.stream().partition_custom(lambda _, parts: 0, Key(source.busy))
    return parts.map(Mapped(source.busy))


def _chained(source: Source) -> DataStream:
    busy = source.busy
    found = source.stream().map(Passed(busy)).filter(Filtered(busy)).flat_map(FlatMapped(busy))
    return found.map(Passed(busy)).filter(Filtered(busy))


ASSIGNERS: dict[str, Callable[[bool], Any]] = {
    "tumbling": lambda busy: TumblingEventTimeWindows.of(4),
    "sliding": lambda busy: SlidingEventTimeWindows.of(5, 2),
    "session": lambda busy: EventTimeSessionWindows.with_gap(3),
    "dynamic session": lambda busy: DynamicEventTimeSessionWindows.with_dynamic_gap(Gap(busy)),
}
PROGRAMS: dict[str, Program] = {
    "chain": _chained,
    "map": lambda source: source.stream().map(Mapped(source.busy)),
    "side output": _with_side,
    "partition_custom": _partitioned,
    "reduce": lambda source: source.keyed().reduce(Reduced(source.busy)),
    "keyed states and timers": lambda source: source.keyed().process(Timers(source.busy)),
    "global window": _windowed(lambda _: GlobalWindows.create(), "process", fires=True),
    "global window, evicted": _windowed(
        lambda _: GlobalWindows.create(), "reduce", fires=True, evicts=True
    ),
    "late records": _windowed(lambda _: TumblingEventTimeWindows.of(1), "late"),
    "count window": lambda source: source.keyed().count_window(3, 1).process(Window(source.busy)),
    "count window reduce": lambda source: source.keyed().count_window(2).reduce(Add(source.busy)),
    "delta": _delta,
    "join": _joined,
    "co_group": _co_grouped,
    "interval join": _interval_joined,
    "co-map": _connected(CoMapped, keyed=False, how="map"),
    "keyed co-map": _connected(CoMapped, keyed=True, how="map"),
    "co-flat-map": _connected(CoFlatMapped, keyed=False, how="flat_map"),
    "co-process": _connected(CoProcessed, keyed=False),
    "keyed co-process": _connected(KeyedCoProcessed, keyed=True),
    "broadcast": _broadcast(keyed=False),
    "keyed broadcast": _broadcast(keyed=True),
    "async with retries": _asked,
    "async with a cache": _asked_once,
    "async in batches": _asked_together,
    **{f"window_all {how}": _windowed_all(how) for how in ("reduce", "aggregate", "process")},
    **{
        f"{name} {how}{', fires' * fires}{', evicts' * evicts}": _windowed(
            assigner, how, fires=fires, evicts=evicts
        )
        for name, assigner in ASSIGNERS.items()
        for how in ("reduce", "aggregate", "process")
        for fires, evicts in ((False, False), (True, True))
    },
}
ON_SPARK = [
    *("chain", "side output", "partition_custom", "reduce", "keyed states and timers", "broadcast"),
    *("async with retries", "sliding reduce", "session process", "interval join"),
]
"""Of each kind of operators one."""


def results(
    programs: Iterable[str],
    *,
    busy: bool,
    backend: str,
    mode: RuntimeExecutionMode,
    goes_on: bool = False,
) -> dict[str, list[str]]:
    """Run programs side by side, each with sources of its own; what they give may go on to other subtasks."""
    env = local_environment()
    env.configure(Configuration().set_string("state.backend.type", backend))
    env.set_runtime_mode(mode)
    streams = {}
    for name in programs:
        found = PROGRAMS[name](Source(partial(_given, env), busy))
        streams[name] = found.map(Passed(busy)).rebalance() if goes_on else found
    return texts(streams, busy)


def _given(env: StreamExecutionEnvironment) -> DataStream:
    given = records(16)
    return epochs(env, given[:9], [], given[9:12], given[12:])


def texts(streams: Mapping[str, DataStream], busy: bool) -> dict[str, list[str]]:
    """Run streams of a program, and return what comes out of each."""
    found = collect({name: stream.map(Passed(busy)) for name, stream in streams.items()})
    return {name: sorted(map(text, values)) for name, values in found.items()}


@pytest.mark.filterwarnings("ignore::penstock.errors.LateRecordsDroppedWarning")
@pytest.mark.parametrize("mode", [STREAMING, BATCH], ids=lambda mode: mode.name)
@pytest.mark.parametrize("part", range(4))
def test_what_functions_change_changes_no_result(part: int, mode: RuntimeExecutionMode) -> None:
    programs = [name for name in PROGRAMS if mode is STREAMING or is_of_batch(name)][part::4]
    run = partial(results, programs, mode=mode)
    quiet = run(busy=False, backend="hashmap")
    assert min(len(quiet[name]) for name in programs) > 1
    assert run(busy=True, backend="hashmap") == quiet
    assert run(busy=True, backend="rocksdb", goes_on=True) == quiet


def is_of_batch(name: str) -> bool:
    """Return whether BATCH mode differs: nothing comes late in it, and evictors work as in STREAMING mode."""
    return not (name == "late records" or "evicts" in name)


@pytest.mark.filterwarnings("ignore::penstock.errors.LateRecordsDroppedWarning")
def test_what_functions_change_changes_no_result_on_any_executor(
    new_environment: NewEnvironment,
) -> None:
    found = []
    for busy in (False, True):
        env = new_environment(2)
        env.set_runtime_mode(STREAMING)
        given = [value for value in records(16) if not isinstance(value, Parcel)]
        collection = env.from_collection(given)
        for value in given * busy:
            spoil(value)
        source = Source(lambda stream=collection: stream, busy)  # type: ignore[misc]
        found.append(texts({name: PROGRAMS[name](source) for name in ON_SPARK}, busy))
    assert set(found[0]) == set(ON_SPARK)
    assert found[1] == found[0]


@pytest.mark.parametrize("name", ["chain", "map", "side output", "reduce", "co-process"])
def test_branches_and_sinks_know_nothing_of_each_other(name: str) -> None:
    found = []
    for busy in (False, True):
        env, journals = local_environment(), [Journal(), Journal(), Journal()]
        stream = PROGRAMS[name](Source(lambda env=env: epochs(env, records(8)), busy))  # type: ignore[misc]
        stream.add_sink(Sink(busy, journals[0]))
        stream.map(Mapped(busy)).add_sink(Sink(busy, journals[1]))
        stream.rebalance().add_sink(Sink(busy, journals[2]))
        collected = sorted(map(text, stream.execute_and_collect()))
        found.append([collected, *map(sorted, journals)])
    assert found[1] == found[0]
    assert all(len(part) > 5 for part in found[0])


@pytest.mark.parametrize("kind", ["row", "bulk"])
def test_file_sinks_write_what_they_were_given(kind: str, tmp_path: Path) -> None:
    found = []
    for busy in (False, True):
        env = local_environment()
        stream = epochs(env, records(9), records(4)).map(Passed(busy))
        for place in range(2):
            builder: Any
            folder = tmp_path / f"{busy} {place}"
            if kind == "row":
                builder = FileSink.for_row_format(str(folder), Lines(busy))
            else:
                builder = FileSink.for_bulk_format(str(folder), ManyLines())
            builder = builder.with_bucket_assigner(ToFolder(busy))
            stream.sink_to(builder.with_rolling_policy(Rolling(busy)).build())
        env.execute()
        files = [path for path in tmp_path.rglob("part-*") if ".penstock" not in path.parts]
        found.append(sorted(path.read_text() for path in files if str(busy) in str(path)))
    assert found[1] == found[0]
    assert sum(len(lines.splitlines()) for lines in found[0]) == 26
