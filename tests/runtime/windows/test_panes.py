from __future__ import annotations

import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.runtime.keys.window_values import TimeWindow
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.runtime.windows.assigners.sliding import SlidingEventTimeWindows
from penstock.runtime.windows.assigners.tumbling import TumblingEventTimeWindows
from penstock.runtime.windows.panes import PaneWindows, panes_of

SIZES = st.integers(1, 40)
LIMITS = st.sampled_from([MIN_TIMESTAMP + 1, -1, 0, MAX_TIMESTAMP])
TIMES = st.integers(-100, 100) | st.builds(int.__add__, LIMITS, st.integers(0, 3)).filter(
    lambda time: time <= MAX_TIMESTAMP
)


def windows_by_search(time: int, size: int, slide: int, offset: int) -> list[TimeWindow]:
    """All windows that hold a time, found by trying each start that could be one."""
    starts = [s for s in range(time, time - size, -1) if (s - offset) % slide == 0]
    return [
        TimeWindow(max(start, MIN_TIMESTAMP), min(start + size, MAX_TIMESTAMP)) for start in starts
    ]


@given(SIZES, SIZES, st.integers(-40, 40), st.lists(TIMES, max_size=30))
def test_windows_of_a_time_are_all_that_hold_it(
    size: int, slide: int, offset: int, times: list[int]
) -> None:
    panes = PaneWindows(size, slide, offset)
    for time in times:
        assert list(panes.of(time)) == windows_by_search(time, size, slide, offset)


def test_times_of_a_pane_share_their_windows() -> None:
    panes = PaneWindows(10, 4, 0)
    assert panes.pane_size == 2
    assert panes.of(4) is panes.of(5)
    assert panes.of(5) is not panes.of(6)


def test_it_does_not_grow_without_end() -> None:
    panes = PaneWindows(1, 1, 0)
    for time in range(PaneWindows.LIMIT + 5):
        panes.of(time)
    assert len(panes) == 5


def test_it_can_be_pickled() -> None:
    panes = PaneWindows(10, 5, 1)
    panes.of(3)
    again = pickle.loads(pickle.dumps(panes))
    assert again.of(3) == panes.of(3)
    assert again.of(40) == panes.of(40)


@given(SIZES, SIZES, st.integers(-40, 40), st.lists(TIMES, min_size=1, max_size=30))
def test_times_are_found_by_their_panes(
    size: int, slide: int, offset: int, times: list[int]
) -> None:
    panes = PaneWindows(size, slide, offset)
    found = panes.indexes_of(times)

    assert sorted(index for indexes in found.values() for index in indexes) == [*range(len(times))]
    for pane, indexes in found.items():
        assert list(indexes) == sorted(indexes)
        assert {panes.pane_of(times[index]) for index in indexes} == {pane}


@given(SIZES, SIZES, st.integers(-40, 40), TIMES, st.lists(TIMES, max_size=5))
@example(2, 1, 0, MAX_TIMESTAMP - 1, [MAX_TIMESTAMP - 1])
@example(2, 1, 0, MAX_TIMESTAMP, [MAX_TIMESTAMP])
def test_the_next_end_is_that_of_a_window_that_holds_a_pane(
    size: int, slide: int, offset: int, now: int, times: list[int]
) -> None:
    windows = PaneWindows(size, slide, offset)
    panes = sorted({windows.pane_of(time) for time in times if windows.of(time)})
    ends = {window.max_timestamp() for pane in panes for window in windows[pane]}

    assert windows.next_end(now, panes) == min((end for end in ends if end > now), default=None)


@given(SIZES, SIZES, st.integers(-40, 40), TIMES, TIMES)
def test_windows_that_end_behind_the_last_timestamp_end_with_it(
    size: int, slide: int, offset: int, now: int, time: int
) -> None:
    windows = PaneWindows(size, slide, offset)
    pane = windows.pane_of(time)
    now = min(now, MAX_TIMESTAMP - 1)  # no window has a later last timestamp
    starts = [end - size for end in windows.ends_at(now, pane)]
    ends = zip(windows.starts(pane), windows[pane], strict=True)

    assert {start for start, window in ends if window.max_timestamp() == now} <= set(starts)
    assert all(min(start + size, MAX_TIMESTAMP) - 1 == now for start in starts)


@pytest.mark.parametrize(
    ("size", "slide", "is_worth_it"),
    [(60, 1, True), (10, 3, True), (10, 6, False), (5, 10, False), (10007, 1000, False)],
)
def test_panes_are_worth_sharing_where_that_is_less_work(
    size: int, slide: int, *, is_worth_it: bool
) -> None:
    assert PaneWindows(size, slide, 0).is_worth_sharing is is_worth_it


def test_the_windows_of_an_assigner() -> None:
    tumbling, sliding = TumblingEventTimeWindows.of(10, 3), SlidingEventTimeWindows.of(10, 4, 1)
    assert panes_of(tumbling).of(5) == (TimeWindow(3, 13),)
    assert panes_of(sliding).of(5) == (TimeWindow(5, 15), TimeWindow(1, 11), TimeWindow(-3, 7))
