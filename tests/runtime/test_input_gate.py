from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import LostBufferError
from penstock.runtime.elements import MIN_TIMESTAMP, CheckpointBarrier, Element, Watermark
from penstock.runtime.input_gate import InputGate

Read = tuple[int, int, list[Element]]
"""A buffer: its channel, its sequence number, and what is in it."""


@st.composite
def interleavings(draw: st.DrawFn, *, fewest: int = 0) -> list[Read]:
    """Whole channels, mixed but each in its order."""
    channels: list[list[Read]] = []
    for number in range(draw(st.integers(fewest, 4))):
        watermarks: st.SearchStrategy[Element] = st.builds(Watermark, st.integers(-100, 100))
        contents: list[list[Element]] = draw(
            st.lists(st.lists(watermarks, max_size=2), min_size=1, max_size=4)
        )
        contents[-1].append(CheckpointBarrier(7, f"attempt {number}"))
        channels.append([(number, place, content) for place, content in enumerate(contents)])
    mixed = []
    while any(channels):
        mixed.append(draw(st.sampled_from([reads for reads in channels if reads])).pop(0))
    return mixed


def read(reads: list[Read]) -> tuple[int, dict[int, str]]:
    gate = InputGate("Map (1/2)", 7)
    for channel, sequence, content in reads:
        gate.begin_buffer(channel, sequence)
        for element in content:
            if isinstance(element, Watermark):
                gate.watermark(channel, element.timestamp)
            elif isinstance(element, CheckpointBarrier):
                gate.barrier(channel, element)
    return gate.finish()


@given(interleavings())
def test_ends_with_the_lowest_watermark_and_all_attempts(reads: list[Read]) -> None:
    watermarks = {channel: MIN_TIMESTAMP for channel, _, _ in reads}
    for channel, _, content in reads:
        for element in content:
            if isinstance(element, Watermark):
                watermarks[channel] = element.timestamp

    assert read(reads) == (
        min(watermarks.values(), default=MIN_TIMESTAMP),
        {channel: f"attempt {channel}" for channel in watermarks},
    )


@given(interleavings(fewest=1), st.data())
def test_notices_whatever_is_lost(reads: list[Read], data: st.DataObject) -> None:
    channels = [channel for channel, _, _ in reads]
    # That a channel should have come of which nothing came is not for the receiver to know.
    lost = data.draw(st.sampled_from(reads).filter(lambda read: channels.count(read[0]) > 1))

    with pytest.raises(LostBufferError):
        read([other for other in reads if other is not lost])


@given(interleavings(fewest=1), st.data())
def test_notices_whatever_comes_twice(reads: list[Read], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(reads) - 1))
    after = data.draw(st.integers(place + 1, len(reads)))

    with pytest.raises(LostBufferError):
        read([*reads[:after], reads[place], *reads[after:]])


def test_tells_task_channel_and_epoch_of_a_gap() -> None:
    gate = InputGate("Map (1/2)", 7)
    gate.begin_buffer(5, 0)

    with pytest.raises(LostBufferError) as raised:
        gate.begin_buffer(5, 2)

    assert raised.value.message == (
        "Task 'Map (1/2)' got buffer 2 of channel 5 in epoch 7, but expected buffer 1."
    )
    assert raised.value.hint


def test_tells_that_a_channel_had_ended() -> None:
    gate = InputGate("Map (1/2)", 7)
    gate.begin_buffer(5, 0)
    gate.barrier(5, CheckpointBarrier(7, "a"))

    with pytest.raises(LostBufferError) as raised:
        gate.begin_buffer(5, 1)

    assert "got buffer 1 of channel 5" in raised.value.message
    assert "expected buffer 1" not in raised.value.message


def test_tells_which_channel_did_not_end() -> None:
    gate = InputGate("Map (1/2)", 7)
    for channel in (3, 4):
        gate.begin_buffer(channel, 0)
    gate.begin_buffer(4, 1)
    gate.barrier(3, CheckpointBarrier(7, "a"))

    with pytest.raises(LostBufferError) as raised:
        gate.finish()

    assert raised.value.message == (
        "Task 'Map (1/2)' missed the end of channel 4 in epoch 7: 2 buffers came, but no barrier."
    )


def test_needs_no_input_at_all() -> None:
    assert InputGate("Map (1/1)", 0).finish() == (MIN_TIMESTAMP, {})
