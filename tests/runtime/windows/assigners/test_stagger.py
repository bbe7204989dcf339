from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.windows.fakes import FakeAssignerContext

from penstock.errors import InvalidWindowError
from penstock.runtime.keys.window_values import TimeWindow
from penstock.runtime.windows.assigners.stagger import WindowStagger
from penstock.runtime.windows.assigners.tumbling import (
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)

KINDS: list[Any] = [TumblingEventTimeWindows, TumblingProcessingTimeWindows]


@given(st.sampled_from(WindowStagger), st.integers(-(10**6), 10**15), st.integers(1, 10**12))
def test_an_offset_is_less_than_the_size(stagger: WindowStagger, now: int, size: int) -> None:
    assert 0 <= stagger.get_stagger_offset(now, size, "task") < size


def test_offsets() -> None:
    assert WindowStagger.ALIGNED.get_stagger_offset(1_003, 10) == 0
    assert WindowStagger.NATURAL.get_stagger_offset(1_003, 10) == 3


def start(assigner: Any, context: FakeAssignerContext, time: int = 0) -> int:
    (window,) = assigner.assign_windows(None, time, context)
    assert window.end - window.start == assigner.size
    return int(window.start)


def test_random_windows_differ_by_subtask_and_never_by_attempt() -> None:
    def starts() -> list[int]:
        return [
            start(
                TumblingEventTimeWindows.of(1000, window_stagger=WindowStagger.RANDOM),
                FakeAssignerContext(task="count", subtask=subtask),
            )
            for subtask in range(8)
        ]

    assert starts() == starts()
    assert len(set(starts())) > 4


def test_natural_windows_keep_the_time_of_the_first_record() -> None:
    assigner = TumblingEventTimeWindows.of(10, window_stagger=WindowStagger.NATURAL)
    context = FakeAssignerContext(now=1_003)
    assert start(assigner, context) == -7
    context.now = 1_005
    assert start(assigner, context, 23) == 23


def test_an_offset_is_added() -> None:
    assigner = TumblingEventTimeWindows.of(10, 5, window_stagger=WindowStagger.NATURAL)
    assert start(assigner, FakeAssignerContext(now=1_007), 100) == 92


@pytest.mark.parametrize("now", [1_000, 1_003])
@pytest.mark.parametrize("kind", KINDS)
def test_the_stagger_goes_to_the_next_epoch(kind: Any, now: int) -> None:
    first = kind.of(10, window_stagger=WindowStagger.NATURAL)
    assert first.snapshot() is None
    context = FakeAssignerContext(now=now)
    before = start(first, context) % 10
    assert first.snapshot() == now % 10
    second = kind.of(10, window_stagger=WindowStagger.NATURAL)
    second.restore(first.snapshot())
    assert start(second, FakeAssignerContext(now=2_008)) % 10 == before
    second.restore(None)
    assert start(second, FakeAssignerContext(now=2_008)) % 10 == 8


def test_aligned_windows_have_nothing_to_restore() -> None:
    assigner = TumblingEventTimeWindows.of(10)
    assigner.restore(None)
    context = FakeAssignerContext(now=3)
    assert list(assigner.assign_windows(None, 0, context)) == [TimeWindow(0, 10)]
    assert assigner.snapshot() is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_stagger_is_one_of_three(kind: Any) -> None:
    with pytest.raises(InvalidWindowError, match=r"stagger of Tumbling.* is 'random'"):
        kind.of(10, window_stagger="random")
