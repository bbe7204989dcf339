from __future__ import annotations

import copy
import pickle
import sys
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.windows.fakes import Merges

from penstock.runtime.keys.window_values import (
    CountWindow,
    GlobalWindow,
    TimeWindow,
    Window,
    time_window,
)
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP

TIMES = st.integers(MIN_TIMESTAMP, MAX_TIMESTAMP)
WINDOWS = st.builds(
    lambda start, size: TimeWindow(start, start + size), st.integers(-30, 30), st.integers(1, 12)
)


class Day(Window):
    def __init__(self, number: Any) -> None:
        self.number = number

    def max_timestamp(self) -> int:
        return int(self.number)


class Night(Day):
    pass


class Slotted(Window):
    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def max_timestamp(self) -> int:
        return self.number


@dataclass(frozen=True)
class Labelled(Window):
    number: int
    label: str = field(default="", compare=False)

    def max_timestamp(self) -> int:
        return self.number


ALL: list[Window] = [
    TimeWindow(-5, 5),
    CountWindow(3),
    GlobalWindow.get(),
    Day(1),
    Night(1),
    Slotted(1),
    Labelled(1),
]


def test_a_time_window_ends_before_its_end() -> None:
    window = TimeWindow(10, 20)
    assert (window.start, window.end, window.max_timestamp()) == (10, 20, 19)


@pytest.mark.parametrize(
    ("other", "intersects"),
    [((0, 9), False), ((0, 10), True), ((12, 14), True), ((20, 21), True), ((21, 22), False)],
)
def test_windows_intersect_that_overlap_or_touch(
    other: tuple[int, int], *, intersects: bool
) -> None:
    window, another = TimeWindow(10, 20), TimeWindow(*other)
    assert window.intersects(another) is intersects
    assert another.intersects(window) is intersects


def test_cover_holds_both() -> None:
    assert TimeWindow(0, 5).cover(TimeWindow(3, 9)) == TimeWindow(0, 9)
    assert TimeWindow(0, 9).cover(TimeWindow(3, 5)) == TimeWindow(0, 9)


def test_windows_come_in_the_order_of_their_starts() -> None:
    windows = [TimeWindow(0, 7), TimeWindow(-5, 9), TimeWindow(0, 5)]
    assert sorted(windows) == [TimeWindow(-5, 9), TimeWindow(0, 5), TimeWindow(0, 7)]


@pytest.mark.parametrize(
    ("timestamp", "offset", "start"),
    [(0, 0, 0), (9, 0, 0), (10, 0, 10), (-1, 0, -10), (-10, 0, -10), (2, 3, -7), (2, -3, -3)],
)
def test_start_of_the_window_of_a_timestamp(timestamp: int, offset: int, start: int) -> None:
    assert TimeWindow.get_window_start_with_offset(timestamp, offset, 10) == start


@given(TIMES, st.integers(1, 10**15), st.data())
def test_a_window_holds_its_timestamp(timestamp: int, size: int, data: st.DataObject) -> None:
    offset = data.draw(st.integers(1 - size, size - 1))
    start = TimeWindow.get_window_start_with_offset(timestamp, offset, size)
    assert start <= timestamp < start + size
    assert (start - offset) % size == 0


@given(st.lists(WINDOWS, max_size=12))
def test_merging_is_the_union_of_what_overlaps(windows: list[TimeWindow]) -> None:
    merges = Merges()
    TimeWindow.merge_windows(windows, merges)
    # The model: points in halves of a millisecond, so that windows that touch share one.
    points = sorted({p for w in windows for p in range(2 * w.start, 2 * w.end + 1)})
    gaps = [0, *(i for i in range(1, len(points)) if points[i] > points[i - 1] + 1), len(points)]
    runs = [points[a:b] for a, b in pairwise(gaps) if a < b]
    expected = []
    for run in runs:
        whole = TimeWindow(run[0] // 2, run[-1] // 2)
        members = [w for w in windows if whole.start <= w.start and w.end <= whole.end]
        if len(members) > 1:
            expected.append((sorted(members), whole))
    assert merges.found == expected


@given(st.lists(WINDOWS, min_size=1))
def test_merging_does_not_depend_on_the_order(windows: list[TimeWindow]) -> None:
    one, other = Merges(), Merges()
    TimeWindow.merge_windows(windows, one)
    TimeWindow.merge_windows(list(reversed(windows)), other)
    assert one.found == other.found
    for members, whole in one.found:
        assert reduce(TimeWindow.cover, members) == whole


@pytest.mark.parametrize(
    ("start", "end", "clamped"),
    [
        (0, 10, (0, 10)),
        (MIN_TIMESTAMP - 5, MIN_TIMESTAMP + 5, (MIN_TIMESTAMP, MIN_TIMESTAMP + 5)),
        (MAX_TIMESTAMP - 5, MAX_TIMESTAMP + 5, (MAX_TIMESTAMP - 5, MAX_TIMESTAMP)),
        (MAX_TIMESTAMP, MAX_TIMESTAMP + 5, (MAX_TIMESTAMP, MAX_TIMESTAMP)),
    ],
)
def test_bounds_stay_within_64_bits(start: int, end: int, clamped: tuple[int, int]) -> None:
    assert time_window(start, end) == TimeWindow(*clamped)


@pytest.mark.parametrize("window", ALL, ids=repr)
def test_windows_are_values(window: Window) -> None:
    for again in (
        pickle.loads(pickle.dumps(window)),
        copy.copy(window),
        copy.deepcopy(window),
    ):
        assert again == window
        assert hash(again) == hash(window)
        assert type(again) is type(window)
    for other in ALL:
        assert (window == other) is (window is other)


def test_windows_of_one_class_differ_by_what_they_keep() -> None:
    assert len({Day(1), Day(1), Day(2)}) == 2
    assert len({Slotted(1), Slotted(1), Slotted(2)}) == 2
    assert Labelled(1, "a") == Labelled(1, "b")
    assert repr(Day(1)) == "Day(number=1)"
    assert repr(Slotted(1)) == "Slotted(number=1)"


def test_there_is_one_global_window() -> None:
    assert pickle.loads(pickle.dumps(GlobalWindow.get())) is GlobalWindow.get()
    assert GlobalWindow() == GlobalWindow.get()
    assert GlobalWindow.get().max_timestamp() == MAX_TIMESTAMP == CountWindow(1).max_timestamp()


def test_windows_are_true_and_small() -> None:
    assert all(ALL)
    assert sys.getsizeof(TimeWindow(0, 1)) <= 64
    assert len(pickle.dumps(TimeWindow(2**60, 2**61), pickle.HIGHEST_PROTOCOL)) < 100


def test_a_window_cannot_be_made_without_max_timestamp() -> None:
    class Nothing(Window):
        pass

    with pytest.raises(TypeError, match="max_timestamp"):
        Nothing()  # type: ignore[abstract]
