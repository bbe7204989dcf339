from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.semantics.running import collect
from tests.strategies import any_of, from_zero

from penstock.common import Duration, Time, Types, WatermarkStrategy
from penstock.datastream import (
    CoGroupFunction,
    DataStream,
    FlatJoinFunction,
    JoinFunction,
    KeySelector,
    RuntimeContext,
)
from penstock.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.errors import (
    ColumnNotFoundError,
    InvalidArgumentError,
    InvalidFunctionError,
    LateRecordsDroppedWarning,
    UserFunctionError,
)
from penstock.testing import TestingSource, local_environment

Event = tuple[str, int]


def timed(env: Any, epochs: list[list[Event]]) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))
    strategy = strategy.with_timestamp_assigner(lambda event, _: event[1])
    stream = env.from_source(TestingSource(epochs), WatermarkStrategy.no_watermarks(), "events")
    one = stream.set_parallelism(1).assign_timestamps_and_watermarks(strategy)
    return one.set_parallelism(1)  # type: ignore[no-any-return]


EVENTS = st.lists(any_of("abc", from_zero(-20, 40), range(6)), max_size=20)
"""Events, each with how much later it comes than it could."""


@st.composite
def cut(draw: st.DrawFn) -> list[list[Event]]:
    """Events at most 5 ms out of order, cut into epochs."""
    drawn = sorted(draw(EVENTS), key=lambda each: each[1] + each[2])
    events = [each[:2] for each in drawn]
    places = sorted(draw(st.lists(st.integers(0, len(events)), max_size=2)))
    bounds = [0, *places, len(events)]
    return [events[start:end] for start, end in itertools.pairwise(bounds)]


Groups = dict[tuple[str, int], tuple[list[Event], list[Event]]]


def groups(
    left: list[list[Event]], right: list[list[Event]], starts: Callable[[int], list[int]]
) -> Groups:
    """What both streams have of each key and window."""
    found: Groups = defaultdict(lambda: ([], []))
    for side, epochs in enumerate((left, right)):
        for event in itertools.chain(*epochs):
            for start in starts(event[1]):
                found[event[0], start][side].append(event)
    return found


def tumbling(time: int) -> list[int]:
    return [time // 10 * 10]


def sliding(time: int) -> list[int]:
    return [time // 5 * 5, time // 5 * 5 - 5]


ASSIGNERS = {
    "tumbling": (TumblingEventTimeWindows.of(Time.milliseconds(10)), tumbling),
    "sliding": (
        SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5)),
        sliding,
    ),
}


@settings(max_examples=40)
@given(left=cut(), right=cut(), parallelism=st.sampled_from([1, 3]))
def test_is_what_a_model_says_wherever_epochs_are_cut(
    left: list[list[Event]], right: list[list[Event]], parallelism: int
) -> None:
    env = local_environment(parallelism=parallelism)
    one, other = timed(env, left), timed(env, right)
    streams = {}
    for kind, (assigner, _) in ASSIGNERS.items():
        joined, grouped = (
            two.where(lambda event: event[0]).equal_to(0).window(assigner)
            for two in (one.join(other), one.co_group(other))
        )
        streams[kind, "pairs"] = joined.apply(lambda one, other: (one, other))
        streams[kind, "groups"] = grouped.apply(
            lambda one, other: [(tuple(sorted(one)), tuple(sorted(other)))]
        )
    found = collect(streams)

    for kind, (_, starts) in ASSIGNERS.items():
        expected = groups(left, right, starts).values()
        pairs = (pair for two in expected for pair in itertools.product(*two))
        assert Counter(found[kind, "pairs"]) == Counter(pairs), kind
        in_order = ((tuple(sorted(one)), tuple(sorted(other))) for one, other in expected)
        assert Counter(found[kind, "groups"]) == Counter(in_order), kind


def two_streams(left: list[Event], right: list[Event]) -> tuple[DataStream, DataStream]:
    env = local_environment(parallelism=2)
    return timed(env, [left]), timed(env, [right])


def by_name(event: Event) -> str:
    return event[0]


def sum_of(one: Event, other: Event) -> int:
    return one[1] + other[1]


def test_results_have_the_last_timestamp_of_their_window() -> None:
    left, right = two_streams([("a", 1), ("a", 12)], [("a", 2), ("a", 13)])
    windows = left.join(right).where(by_name).equal_to(by_name)
    joined = windows.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).apply(sum_of)
    with_time = joined.process(lambda total, ctx: [(total, ctx.timestamp())])

    assert sorted(with_time.execute_and_collect()) == [(3, 9), (25, 19)]


def test_sessions_hold_records_of_both_streams_together() -> None:
    left, right = two_streams([("a", 0), ("a", 30)], [("a", 8), ("a", 50)])
    windows = left.co_group(right).where(by_name).equal_to(by_name)
    sessions = windows.window(EventTimeSessionWindows.with_gap(Time.milliseconds(10)))
    counts = sessions.apply(lambda one, other: [(len(list(one)), len(list(other)))])

    assert sorted(counts.execute_and_collect()) == [(0, 1), (1, 0), (1, 1)]


def test_functions_of_all_kinds() -> None:
    class Sum(JoinFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.extra = 100

        def join(self, first: Event, second: Event) -> int:
            return self.extra + sum_of(first, second)

    class Both(FlatJoinFunction):
        def join(self, first: Event, second: Event) -> Any:
            return None if first[1] == 2 else [first[1], second[1]]

    class Count(CoGroupFunction):
        def co_group(self, first: Any, second: Any) -> Any:
            return [(len(first), len(second))]

    def differences(one: Event, other: Event) -> Iterator[int]:
        if one[1] > 1:
            yield other[1] - one[1]

    def run(method: str, function: Any, output_type: Any = None) -> list[Any]:
        left, right = two_streams([("a", 1), ("a", 2), ("b", 1)], [("a", 5)])
        windows = getattr(left, method)(right).where(0).equal_to(0)
        tens = windows.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        return sorted(tens.apply(function, output_type).execute_and_collect(), key=repr)

    assert run("join", Sum()) == [106, 107]
    assert run("join", sum_of) == [6, 7]
    assert run("join", Both()) == [1, 5]
    assert run("join", differences) == [3]
    assert run("co_group", Count()) == [(1, 0), (2, 1)]
    row = Types.ROW_NAMED(["left", "right"], [Types.LONG(), Types.LONG()])
    assert [(found.left, found.right) for found in run("co_group", Count(), row)] == [
        (1, 0),
        (2, 1),
    ]


def test_triggers_and_evictors() -> None:
    env = local_environment()
    left, right = env.from_collection([1, 2, 3]), env.from_collection([10])
    windows = left.co_group(right).where(lambda _: 0).equal_to(lambda _: 0)
    of_all = windows.window(GlobalWindows.create()).trigger(CountTrigger.of(4))
    kept = of_all.evictor(CountEvictor.of(2)).apply(lambda one, other: [len(one) + len(other)])

    assert list(kept.execute_and_collect()) == [2]


def test_late_records_of_either_stream() -> None:
    def counts(lateness: int) -> list[Any]:
        env = local_environment()
        left = timed(env, [[("a", 5), ("a", 30)], [("a", 6)]])
        right = timed(env, [[("a", 5), ("a", 30)], []])
        windows = left.co_group(right).where(by_name).equal_to(by_name)
        tens = windows.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        counted = tens.allowed_lateness(lateness).apply(
            lambda one, other: [(len(list(one)), len(list(other)))]
        )
        return sorted(counted.execute_and_collect())

    with pytest.warns(LateRecordsDroppedWarning, match="dropped records"):
        assert counts(0) == [(1, 1), (1, 1)]
    assert counts(100) == [(1, 1), (1, 1), (2, 1)]


def test_a_stream_may_be_joined_with_itself() -> None:
    left, _ = two_streams([("a", 1), ("a", 2)], [])
    windows = left.join(left).where(by_name).equal_to(by_name)
    joined = windows.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).apply(sum_of)

    assert sorted(joined.execute_and_collect()) == [2, 3, 3, 4]


def test_key_selectors_may_be_objects_that_are_opened() -> None:
    class Opened(KeySelector):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.place = 0

        def get_key(self, value: Event) -> str:
            return value[self.place]  # type: ignore[return-value]

    left, right = two_streams([("a", 1)], [("a", 2)])
    windows = left.join(right).where(Opened()).equal_to(Opened())
    joined = windows.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).apply(sum_of)

    assert list(joined.execute_and_collect()) == [3]


def test_what_a_function_raises_is_told_with_key_and_window() -> None:
    left, right = two_streams([("a", 1)], [("a", 2)])
    windows = left.join(right).where(by_name).equal_to(by_name)
    joined = windows.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))

    with pytest.raises(UserFunctionError) as raised:
        list(joined.apply(lambda one, other: one[1] / 0).execute_and_collect())
    assert "ZeroDivisionError" in raised.value.message
    assert "'a'" in raised.value.message


def test_what_cannot_be_is_refused() -> None:
    left, right = two_streams([], [])
    with pytest.raises(InvalidArgumentError, match=r"join\(\) was given 5"):
        left.join(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="of another environment"):
        left.co_group(two_streams([], [])[0])
    with pytest.raises(InvalidFunctionError):
        left.join(right).where(lambda: 0)  # type: ignore[arg-type,misc]
    declared = left.map(lambda event: event, Types.TUPLE([Types.STRING(), Types.LONG()]))
    with pytest.raises(ColumnNotFoundError, match="equal_to"):
        left.join(declared).where(0).equal_to(7)
    with pytest.raises(InvalidArgumentError, match="no window assigner"):
        left.join(right).where(0).equal_to(0).window(10)  # type: ignore[arg-type]
    windows = left.join(right).where(0).equal_to(0).window(GlobalWindows.create())
    with pytest.raises(InvalidFunctionError):
        windows.apply(lambda one: one)  # type: ignore[arg-type,misc]
