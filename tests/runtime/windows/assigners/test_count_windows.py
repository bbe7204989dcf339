from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.windows.fakes import FakeAssignerContext

from penstock.errors import InvalidWindowError
from penstock.runtime.keys.window_values import CountWindow
from penstock.runtime.windows.assigners.count_windows import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
)
from penstock.runtime.windows.serializers import CountWindowSerializer


@given(st.integers(1, 7), st.integers(0, 30))
def test_tumbling_windows_have_so_many_records(size: int, count: int) -> None:
    context, assigner = FakeAssignerContext(), CountTumblingWindowAssigner.of(size)
    found = [assigner.assign_windows(None, None, context) for _ in range(count)]
    assert found == [(CountWindow(number // size),) for number in range(count)]


@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 30))
def test_sliding_windows_have_so_many_records(size: int, slide: int, count: int) -> None:
    context, assigner = FakeAssignerContext(), CountSlidingWindowAssigner.of(size, slide)
    records: dict[int, list[int]] = {}
    for number in range(count):
        windows = list(assigner.assign_windows(None, None, context))
        assert windows == sorted(windows, reverse=True)
        for window in windows:
            records.setdefault(window.id, []).append(number)
    for window_id, numbers in records.items():
        first = window_id * slide
        assert numbers == list(range(first, min(first + size, count)))
    assert len(records) == -(-count // slide)


def test_keys_count_for_themselves() -> None:
    context, assigner = FakeAssignerContext(), CountTumblingWindowAssigner(2)
    found = []
    for key in "aabaab":
        context.backend.set_current_key(key)
        found += [(key, window.id) for window in assigner.assign_windows(key, None, context)]
    assert found == [("a", 0), ("a", 0), ("b", 0), ("a", 1), ("a", 1), ("b", 0)]


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "3", None])
def test_sizes_that_cannot_be(size: Any) -> None:
    with pytest.raises(InvalidWindowError, match="size of CountTumbling"):
        CountTumblingWindowAssigner.of(size)
    with pytest.raises(InvalidWindowError, match="size of CountSliding"):
        CountSlidingWindowAssigner.of(size, 1)
    with pytest.raises(InvalidWindowError, match="slide of CountSliding"):
        CountSlidingWindowAssigner.of(1, size)


@pytest.mark.parametrize(
    "assigner", [CountTumblingWindowAssigner(3), CountSlidingWindowAssigner(3, 2)], ids=repr
)
def test_what_else_an_assigner_tells(assigner: Any) -> None:
    assert repr(assigner.get_default_trigger(None)) == "PurgingTrigger(CountTrigger(3))"
    assert not assigner.is_event_time()
    assert isinstance(assigner.get_window_serializer(), CountWindowSerializer)
    assert repr(pickle.loads(pickle.dumps(assigner))) == repr(assigner)
