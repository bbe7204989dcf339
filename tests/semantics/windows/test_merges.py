"""Which windows call `merge` of an aggregate function, and that others do not need it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.semantics.conftest import NewEnvironment
from tests.semantics.running import collect
from tests.strategies import any_of

from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import AggregateFunction, DataStream, StreamExecutionEnvironment
from penstock.datastream.aggregates import Aggregates, Count, Max, Mean, Min, Sum
from penstock.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows
from penstock.errors import MergeMismatchError
from penstock.runtime.windows.operator.pane_windows import AlignedWindows, SharedPanes
from penstock.testing import local_environment

Record = tuple[str, int, int]
"""A key, an event time and a number."""

STRATEGY = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda record, _: record[1]
)
SLIDING = SlidingEventTimeWindows.of(20, 5)
SESSIONS = EventTimeSessionWindows.with_gap(5)


class Total(AggregateFunction):
    """Sums in a list that it changes in place."""

    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def add(self, value: Record, accumulator: list[int]) -> list[int]:
        accumulator[0] += value[2]
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def merge(self, acc_a: list[int], acc_b: list[int]) -> Any:
        acc_a[0] += acc_b[0]
        acc_a[1] += acc_b[1]
        return acc_a


class Stub(Total):
    def merge(self, acc_a: list[int], acc_b: list[int]) -> Any:
        return acc_a


class Raising(Total):
    def merge(self, acc_a: list[int], acc_b: list[int]) -> Any:
        raise NotImplementedError


class Sometimes(Total):
    """Is wrong where nobody looks: only for more than a hundred records."""

    def merge(self, acc_a: list[int], acc_b: list[int]) -> Any:
        return acc_b if acc_a[1] > 100 else super().merge(acc_a, acc_b)


FUNCTIONS = [Total, Stub, Raising, Sometimes]


class MyCount(Count):
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a


class MyAggregates(Aggregates):
    pass


def timed(env: StreamExecutionEnvironment, records: Iterable[Record]) -> DataStream:
    return env.from_collection(list(records)).assign_timestamps_and_watermarks(STRATEGY)


def totals(records: list[Record], size: int, slide: int) -> Counter[int]:
    windows: Counter[Any] = Counter()
    for key, time, number in records:
        for start in range(time - time % slide, time - size, -slide):
            windows[key, start] += number
    return Counter(windows.values())


RECORDS = st.lists(any_of("ab", range(61), range(1, 10)), max_size=40).map(
    lambda found: sorted(found, key=lambda record: record[1])
)


@settings(max_examples=30, deadline=None)
@given(RECORDS, any_of(range(1, 7), range(1, 7), ["hashmap"] * 2 + ["rocksdb"]))
def test_sliding_windows_give_what_adding_gives(
    records: list[Record], sizes: tuple[int, int, str]
) -> None:
    slide, slides, backend = sizes
    env = local_environment(2)
    env.configure(Configuration().set_string("state.backend.type", backend))
    windows = (
        timed(env, records).key_by(0).window(SlidingEventTimeWindows.of(slide * slides, slide))
    )
    found = collect({kind.__name__: windows.aggregate(kind()) for kind in FUNCTIONS})

    expected = totals(records, slide * slides, slide)
    for kind in FUNCTIONS:
        assert Counter(found[kind.__name__]) == expected, kind


SOME: list[Record] = [("ab"[n % 2], n // 8, n) for n in range(400)]


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_only_windows_that_merge_call_merge(new_environment: NewEnvironment, backend: str) -> None:
    env = new_environment(2, state__backend__type=backend)
    keyed = timed(env, SOME).key_by(0)
    found = collect(
        {
            **{kind.__name__: keyed.window(SLIDING).aggregate(kind()) for kind in FUNCTIONS},
            "shared": keyed.window(SLIDING).aggregate(Total(), share_panes=True),
            "own": keyed.window(SLIDING).aggregate(Sum(2)),
            "sessions": keyed.window(SESSIONS).aggregate(Total()),
        }
    )

    sessions = found.pop("sessions")
    assert sorted(sessions) == [sum(range(0, 400, 2)), sum(range(1, 400, 2))]
    expected = totals(SOME, 20, 5)
    for name, results in found.items():
        assert Counter(results) == expected, name


def test_panes_are_shared_by_known_aggregates_or_where_the_program_says_so() -> None:
    def kind(function: AggregateFunction, **options: Any) -> Any:
        stream = timed(local_environment(), SOME).key_by(0).window(SLIDING)
        return stream.aggregate(function, **options)._transformation.operator.windows  # type: ignore[attr-defined]

    for known in (Sum(2), Count(), Mean(2), Min(2), Max(2), Aggregates(a=Sum(2), b=Count())):
        assert kind(known) is SharedPanes
        assert kind(known, share_panes=True) is SharedPanes
        assert kind(known, share_panes=False) is AlignedWindows
    for unknown in (Total(), MyCount(), Aggregates(a=Sum(2), b=MyCount()), MyAggregates(a=Sum(2))):
        assert kind(unknown) is AlignedWindows
        assert kind(unknown, share_panes=True) is SharedPanes


@pytest.mark.parametrize("function", [Stub, Raising])
def test_a_merge_that_a_program_stands_for_is_looked_at(function: Any) -> None:
    windows = timed(local_environment(), SOME).key_by(0).window(SLIDING)
    with pytest.raises(MergeMismatchError, match="does not agree with add"):
        list(windows.aggregate(function(), share_panes=True).execute_and_collect())
