from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.runtime.windowing.pane_windows import PaneWindows
from penstock.runtime.windowing.window import TimeWindow

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
