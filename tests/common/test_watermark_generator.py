from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.time import Duration
from penstock.common.watermark_generator import (
    BoundedOutOfOrderness,
    WatermarkGenerator,
    WatermarkOutput,
)

MIN = -(2**63)
timestamps = st.integers(MIN + 1, 2**63 - 1)


class Output:
    """Keeps what it was told."""

    def __init__(self) -> None:
        self.watermarks: list[int] = []

    def emit_watermark(self, timestamp: int) -> None:
        self.watermarks.append(timestamp)

    def mark_idle(self) -> None:
        raise AssertionError

    def mark_active(self) -> None:
        raise AssertionError


def bounded(delay: int) -> BoundedOutOfOrderness:
    return BoundedOutOfOrderness(Duration.of_millis(delay))


@given(st.lists(timestamps), st.integers(0, 1000))
def test_follows_the_greatest_timestamp_one_by_one_or_in_blocks(
    found: list[int], delay: int
) -> None:
    single, whole, output = bounded(delay), bounded(delay), Output()
    for timestamp in found:
        single.on_event(None, timestamp, output)
    if found:
        whole.on_block(found)
    assert output.watermarks == []
    single.on_periodic_emit(output)
    whole.on_periodic_emit(output)

    # It never falls below the watermark before any watermark.
    expected = max(MIN, max(found, default=MIN) - delay - 1)
    assert output.watermarks == [expected, expected]


@given(st.lists(timestamps, min_size=1), st.lists(timestamps, min_size=1))
def test_copies_that_saw_other_events_are_merged(one: list[int], other: list[int]) -> None:
    first, second, both = bounded(5), bounded(5), bounded(5)
    first.on_block(one)
    second.on_block(other)
    both.on_block(one + other)
    merged = first.merge(second)

    assert isinstance(merged, BoundedOutOfOrderness)
    assert merged.watermark == both.watermark


def test_is_kept_by_pickling() -> None:
    generator, output = bounded(5), Output()
    generator.on_block([100])
    again = pickle.loads(pickle.dumps(generator))
    again.on_block([50])
    again.on_periodic_emit(output)
    assert output.watermarks == [94]


def test_a_generator_of_the_user_says_itself_how_it_is_merged() -> None:
    class Own(WatermarkGenerator):
        def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
            pass

        def on_periodic_emit(self, output: WatermarkOutput) -> None:
            pass

    with pytest.raises(NotImplementedError, match="Own"):
        Own().merge(Own())
