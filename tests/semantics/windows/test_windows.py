"""Windows through the public API: random ones against a model, and some programs on both executors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import accumulate
from math import fmod
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.semantics.conftest import NewEnvironment
from tests.semantics.pipelines import cut
from tests.semantics.running import collect, epochs, operators
from tests.semantics.windows import model
from tests.semantics.windows.model import END, Model, Record, Rules
from tests.strategies import any_of, from_zero

from penstock.common import Configuration, Duration, WatermarkStrategy
from penstock.common.watermark_generator import WatermarkGenerator
from penstock.datastream import (
    AggregateFunction,
    DataStream,
    OutputTag,
    ProcessWindowFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from penstock.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    Window,
)
from penstock.errors import LateRecordsDroppedWarning
from penstock.testing import local_environment

# Many of these programs have late records on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::penstock.errors.LateRecordsDroppedWarning")

LATE = OutputTag("late")


class AfterEach(WatermarkGenerator):
    """Emits a watermark after each record, so that what is late is no matter of chance."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._latest: int | None = None

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        if self._latest is None or event_timestamp > self._latest:
            self._latest = event_timestamp
        output.emit_watermark(self._latest - self._bound - 1)

    def on_periodic_emit(self, output: Any) -> None:
        """Do nothing: it emits for each record."""


def timed(env: StreamExecutionEnvironment, cuts: list[list[Record]], bound: int) -> DataStream:
    strategy = WatermarkStrategy.for_generator(lambda: AfterEach(bound))
    strategy = strategy.with_timestamp_assigner(lambda record, _: record.time)
    stream = epochs(env, *cuts).set_parallelism(1)
    return stream.assign_timestamps_and_watermarks(strategy).set_parallelism(1)


def bounds(window: Window) -> tuple[int, int]:
    return (window.start, window.end - 1) if isinstance(window, TimeWindow) else (0, END)


def listed(key: str, window: Window, inputs: list[Record]) -> Iterator[Any]:
    numbers = [number for record in inputs for number in record.numbers]
    yield key, bounds(window), tuple(sorted(numbers))


class Listed(ProcessWindowFunction[Any, Any, str, Any]):
    def process(self, key: str, context: Any, elements: Any) -> Iterator[Any]:
        yield from listed(key, context.window(), elements)


def join(first: Record, second: Record) -> Record:
    return first._replace(numbers=first.numbers + second.numbers)


class Join(AggregateFunction):
    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Record, accumulator: list[int]) -> list[int]:
        accumulator.extend(value.numbers)
        return accumulator

    def get_result(self, accumulator: list[int]) -> Record:
        return Record("", 0, tuple(accumulator))

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return acc_a + acc_b


FUNCTIONS = {
    "apply": lambda windows: windows.apply(listed),
    "process": lambda windows: windows.process(Listed()),
    "reduce": lambda windows: windows.reduce(join, listed),
    "reduce, process": lambda windows: windows.reduce(join, Listed()),
    "aggregate": lambda windows: windows.aggregate(Join(), listed),
    # This one lets nothing go, so it changes no result, but all goes through the evicting operator.
    "evictor": lambda windows: windows.evictor(CountEvictor.of(10**6)).reduce(join, listed),
}


def assigner_of(kind: str, size: int, slide: int, offset: int) -> tuple[Any, Any, bool]:
    """An assigner, its model, and whether its windows merge."""
    if kind == "tumbling":
        offset = int(fmod(offset, size))
        return TumblingEventTimeWindows.of(size, offset), model.tumbling(size, offset), False
    if kind == "sliding":
        offset = int(fmod(offset, slide))
        assigner = SlidingEventTimeWindows.of(size, slide, offset)
        return assigner, model.sliding(size, slide, offset), False
    if kind == "session":
        return EventTimeSessionWindows.with_gap(slide), model.session(slide), True
    return GlobalWindows.create(), model.everything, False


def trigger_of(kind: str, limit: int, purges: bool) -> Any:
    makers: dict[str, Callable[[], Any]] = {
        "event": EventTimeTrigger.create,
        "count": lambda: CountTrigger.of(limit),
        "continuous": lambda: ContinuousEventTimeTrigger.of(limit),
    }
    return PurgingTrigger.of(makers[kind]()) if purges else makers[kind]()


RECORDS = st.lists(any_of("abcd", from_zero(-10, 25)), min_size=1, max_size=40).map(
    lambda found: [Record(key, time, (i,)) for i, (key, time) in enumerate(found)]
)
CUT_RECORDS = RECORDS.flatmap(lambda records: st.tuples(st.just(records), cut(records)))


PROGRAMS = st.lists(
    st.tuples(
        any_of(
            ["tumbling", "sliding", "session", "global"],
            range(1, 13),
            range(1, 6),
            from_zero(-11, 11),
        ),
        any_of(["event", "event", "count", "continuous"], range(1, 6), [False, True]),
        any_of(sorted(FUNCTIONS), [0, 0, 3, 12]),
    ),
    min_size=1,
    max_size=5,
)
"""Windows side by side in one job, which takes much less than a job for each."""


def build(
    keyed: Any, windows: Any, firing: tuple[str, int, bool], how: tuple[str, int]
) -> tuple[DataStream, Rules]:
    """Windows as they were drawn, and the rules of their model."""
    assigner, assign, merges = assigner_of(*windows)
    (kind, limit, purges), (function, lateness) = firing, how
    if isinstance(assigner, GlobalWindows):
        kind, purges, lateness = "count", False, 0
    windowed = keyed.window(assigner).trigger(trigger_of(kind, limit, purges))
    late = windowed.allowed_lateness(lateness).side_output_late_data(LATE)
    return FUNCTIONS[function](late), Rules(assign, merges, kind, limit, purges, lateness)


@settings(max_examples=50, deadline=None)
@given(CUT_RECORDS, PROGRAMS, any_of(range(7), [1, 2, 5], ["hashmap"] * 2 + ["rocksdb"]))
def test_random_windows(cut_records: Any, programs: list[Any], others: tuple[Any, ...]) -> None:
    (records, epochs), (bound, parallelism, backend) = cut_records, others
    env = local_environment(parallelism)
    env.configure(Configuration().set_string("state.backend.type", backend))
    keyed = timed(env, epochs, bound).key_by(lambda record: record.key)

    streams: dict[tuple[str, int], DataStream] = {}
    models = []
    for number, program in enumerate(programs):
        results, rules = build(keyed, *program)
        streams |= {("results", number): results, ("late", number): results.get_side_output(LATE)}
        models.append(Model(rules))
    found = collect(streams)

    for number, expected in enumerate(models):
        latest = accumulate((record.time for record in records), max)
        for record, time in zip(records, latest, strict=True):
            expected.add(record)
            expected.advance(time - bound - 1)
        expected.advance(END)
        late = found["late", number]
        assert Counter(found["results", number]) == Counter(expected.results)
        if expected.rules.assign is not model.everything:
            assert late == expected.late or parallelism > 1
            assert Counter(late) == Counter(expected.late)


@settings(max_examples=50, deadline=None)
@given(CUT_RECORDS, any_of(range(1, 6), range(7), [1, 2, 5]))
def test_random_count_windows(cut_records: Any, sizes: tuple[int, int, int]) -> None:
    (records, epochs), (size, slide, parallelism) = cut_records, sizes
    env = local_environment(parallelism)
    stream = timed(env, epochs, 0).key_by(lambda record: record.key)
    results = stream.count_window(size, slide).reduce(join).map(lambda record: record.numbers)

    expected = []
    for key in "abcd":
        numbers = [record.numbers[0] for record in records if record.key == key]
        starts = range(0, len(numbers) - size + 1, slide or size)
        expected += [tuple(numbers[start : start + size]) for start in starts]
    assert Counter(results.execute_and_collect()) == Counter(expected)


EVENTS = [
    [Record("a", 100, (1,)), Record("b", 300, (2,)), Record("a", 900, (3,))],
    [],
    [Record("a", 1100, (4,)), Record("b", 2500, (5,)), Record("a", 200, (6,))],
    [Record("a", 4000, (7,)), Record("b", 700, (8,))],
]


def numbers(stream: DataStream) -> DataStream:
    return stream.map(lambda record: (record.key, record.numbers))


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_windows_of_all_kinds(new_environment: NewEnvironment, backend: str) -> None:
    env = new_environment(2, state__backend__type=backend)
    stream = timed(env, EVENTS, 0)
    keyed = stream.key_by(lambda record: record.key)
    seconds = keyed.window(TumblingEventTimeWindows.of(Duration.of_seconds(1)))
    tumbling = seconds.side_output_late_data(LATE).reduce(join)
    sliding = keyed.window(SlidingEventTimeWindows.of(2000, 1000)).allowed_lateness(1000)
    sessions = keyed.window(EventTimeSessionWindows.with_gap(1000)).aggregate(Join(), listed)
    whole = stream.window_all(TumblingEventTimeWindows.of(10_000))
    found = collect(
        {
            "tumbling": numbers(tumbling),
            "late": tumbling.get_side_output(LATE).map(lambda record: record.numbers),
            "sliding": sliding.reduce(join, listed),
            "sessions": sessions,
            "all": whole.apply(lambda window, inputs: [sorted(r.numbers[0] for r in inputs)]),
        }
    )

    assert sorted(found["tumbling"]) == [
        ("a", (1, 3)), ("a", (4,)), ("a", (7,)), ("b", (2,)), ("b", (5,)),
    ]  # fmt: skip
    assert sorted(found["late"]) == [(6,), (8,)]
    assert sorted(found["sliding"]) == [
        ("a", (-1000, 999), (1, 3)),
        ("a", (0, 1999), (1, 3, 4)),
        ("a", (0, 1999), (1, 3, 4, 6)),
        ("a", (1000, 2999), (4,)),
        ("a", (3000, 4999), (7,)),
        ("a", (4000, 5999), (7,)),
        ("b", (-1000, 999), (2,)),
        ("b", (0, 1999), (2,)),
        ("b", (1000, 2999), (5,)),
        ("b", (2000, 3999), (5,)),
    ]
    assert sorted(found["sessions"]) == [
        ("a", (100, 2099), (1, 3, 4)),
        ("a", (4000, 4999), (7,)),
        ("b", (300, 1299), (2,)),
        ("b", (2500, 3499), (5,)),
    ]
    assert found["all"] == [[1, 2, 3, 4, 5, 6, 7, 8]]


def test_in_batch_mode_nothing_is_late(new_environment: NewEnvironment) -> None:
    env = new_environment(2)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    keyed = timed(env, EVENTS, 0).key_by(lambda record: record.key)
    result = keyed.window(TumblingEventTimeWindows.of(1000)).apply(listed)

    assert sorted(result.execute_and_collect()) == [
        ("a", (0, 999), (1, 3, 6)),
        ("a", (1000, 1999), (4,)),
        ("a", (4000, 4999), (7,)),
        ("b", (0, 999), (2, 8)),
        ("b", (2000, 2999), (5,)),
    ]


def test_late_records_that_go_nowhere_are_counted() -> None:
    env = local_environment(2)
    keyed = timed(env, EVENTS, 0).key_by(lambda record: record.key)
    keyed.window(TumblingEventTimeWindows.of(1000)).reduce(join).print()
    with pytest.warns(LateRecordsDroppedWarning, match="2 at 'TumblingEventTimeWindows'"):
        metrics = operators(env.execute().metrics)

    assert metrics["TumblingEventTimeWindows"]["user"]["num_late_records_dropped"] == 2
