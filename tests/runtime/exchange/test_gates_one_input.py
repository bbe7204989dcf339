from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import LostBufferError
from penstock.runtime.exchange.buffer import channel_number
from penstock.runtime.exchange.elements import ChannelWatermark, CheckpointBarrier, WatermarkStatus
from penstock.runtime.exchange.gates import InputGate
from penstock.runtime.timestamp import MIN_TIMESTAMP

IDLE, ACTIVE = WatermarkStatus.IDLE, WatermarkStatus.ACTIVE
BEGINNING = ChannelWatermark()


class Gate(InputGate):
    """A gate, and what it emits.

    Attributes:
        emitted: The watermarks and statuses, in order.
    """

    def __init__(
        self,
        watermark: ChannelWatermark = BEGINNING,
        *,
        single: bool = False,
        shared: frozenset[int] = frozenset(),
    ) -> None:
        self.emitted: list[int | WatermarkStatus] = []
        super().__init__(
            "Map (1/2)",
            7,
            watermark,
            single=single,
            shared=shared,
            emit_watermark=self.emitted.append,
            emit_status=self.emitted.append,
        )

    def whole(
        self,
        channel: int,
        begun: int,
        ended: int,
        *,
        is_idle: bool = False,
        splits: dict[Any, ChannelWatermark] | None = None,
    ) -> None:
        """Read a channel of one buffer."""
        self.begin_buffer(channel, 0, begun)
        mark = ChannelWatermark(ended, is_idle)
        self.barrier(channel, CheckpointBarrier(7, "a", mark, tuple((splits or {}).items())))


Read = tuple[int, int, int, CheckpointBarrier | None]
"""A buffer: the watermark it was begun at, its channel, its number, and the barrier if it has one."""


@st.composite
def reads(draw: st.DrawFn, *, fewest: int = 0, lowest: int = MIN_TIMESTAMP) -> list[Read]:
    """The buffers of some channels, in the order in which a receiver sorts them."""
    found: list[Read] = []
    for channel in range(draw(st.integers(fewest, 4))):
        marks = sorted(draw(st.lists(st.integers(-9, 9), min_size=1, max_size=4)))
        marks[0] = draw(st.sampled_from([marks[0], lowest]))
        end = ChannelWatermark(marks[-1] + draw(st.integers(0, 3)), draw(st.booleans()))
        last = len(marks) - 1
        for place, mark in enumerate(marks):
            barrier = CheckpointBarrier(7, f"attempt {channel}", end) if place == last else None
            found.append((mark, channel, place, barrier))
    return sorted(found, key=lambda read: read[:3])


def read(gate: Gate, buffers: list[Read]) -> dict[int, str]:
    for mark, channel, sequence, barrier in buffers:
        gate.begin_buffer(channel, sequence, mark)
        if barrier is not None:
            gate.barrier(channel, barrier)
    return gate.finish()


class TestTheWatermark:
    @given(reads(), st.integers(-12, 12) | st.just(MIN_TIMESTAMP))
    def test_ends_where_the_channels_allow(self, buffers: list[Read], before: int) -> None:
        gate = Gate(ChannelWatermark(before))
        attempts = read(gate, buffers)

        ends = {channel: barrier.watermark for _, channel, _, barrier in buffers if barrier}
        assert attempts == {channel: f"attempt {channel}" for channel in ends}
        active = [end.timestamp for end in ends.values() if not end.is_idle]
        aligned = [time for time in active if time >= before or time == MIN_TIMESTAMP]
        if aligned:
            # At least that; more if a channel that went idle had held it back, or was the last.
            assert gate.progress.timestamp == max(before, min(aligned))
        assert gate.progress.is_idle == (bool(ends) and not active)

    @given(reads(), st.integers(-12, 12))
    def test_only_rises_and_never_beyond_what_is_still_to_come(
        self, buffers: list[Read], before: int
    ) -> None:
        gate = Gate(ChannelWatermark(before))
        for place, (mark, channel, sequence, barrier) in enumerate(buffers):
            gate.begin_buffer(channel, sequence, mark)
            assert gate.progress.timestamp <= max(before, mark), place
            if barrier is not None:
                gate.barrier(channel, barrier)
        gate.finish()

        watermarks = [entry for entry in gate.emitted if isinstance(entry, int)]
        assert watermarks == sorted(set(watermarks))
        assert all(watermark > before for watermark in watermarks)

    def test_stays_where_nothing_comes(self) -> None:
        gate = Gate(ChannelWatermark(5))

        assert gate.finish() == {}
        assert gate.progress == ChannelWatermark(5)
        assert gate.emitted == []

    def test_rises_between_buffers_as_all_channels_do(self) -> None:
        gate = Gate()
        gate.begin_buffer(0, 0, MIN_TIMESTAMP)
        gate.begin_buffer(1, 0, MIN_TIMESTAMP)
        gate.begin_buffer(0, 1, 10)
        gate.begin_buffer(1, 1, 20)

        assert gate.emitted == [10, 20]

    def test_of_a_channel_that_ended_holds_back_the_others(self) -> None:
        gate = Gate()
        gate.whole(0, MIN_TIMESTAMP, 10)
        gate.begin_buffer(1, 0, 5)
        gate.begin_buffer(1, 1, 50)

        assert gate.emitted == [5, 10]

    def test_in_band_counts_where_there_is_one_channel(self) -> None:
        gate = Gate(single=True)
        gate.begin_buffer(0, 0, MIN_TIMESTAMP)
        for timestamp in (3, 3, 2, 4):
            gate.watermark(timestamp)
        gate.barrier(0, CheckpointBarrier(7, "a", ChannelWatermark(4)))
        gate.finish()

        assert gate.emitted == [3, 4]

    def test_in_band_does_not_count_where_there_are_several(self) -> None:
        gate = Gate()
        gate.begin_buffer(0, 0, MIN_TIMESTAMP)
        gate.watermark(3)

        assert gate.emitted == []

    def test_that_a_channel_brings_along_counts_for_the_next_epoch(self) -> None:
        first = Gate()
        first.whole(0, MIN_TIMESTAMP, 10)
        first.whole(1, MIN_TIMESTAMP, 20)
        first.finish()
        second = Gate(first.progress)
        second.whole(0, 10, 30)
        second.whole(1, 20, 20)
        second.finish()

        assert (first.emitted, second.emitted) == ([10], [20])


class TestIdleChannels:
    def test_hold_nothing_back(self) -> None:
        gate = Gate()
        gate.whole(0, MIN_TIMESTAMP, MIN_TIMESTAMP, is_idle=True)
        gate.whole(1, MIN_TIMESTAMP, 20)
        gate.finish()

        assert gate.emitted == [20]
        assert gate.progress == ChannelWatermark(20)

    def test_that_are_all_make_the_task_idle_once_the_watermark_is_flushed(self) -> None:
        gate = Gate()
        gate.whole(0, MIN_TIMESTAMP, 10, is_idle=True)
        gate.whole(1, MIN_TIMESTAMP, 20, is_idle=True)
        gate.finish()

        assert gate.emitted == [20, IDLE]
        assert gate.progress == ChannelWatermark(20, is_idle=True)

    def test_stay_idle_from_epoch_to_epoch_without_a_word(self) -> None:
        gate = Gate(ChannelWatermark(20, is_idle=True))
        gate.whole(0, 10, 10, is_idle=True)
        gate.finish()

        assert gate.emitted == []

    def test_that_come_back_are_waited_for_only_when_they_have_caught_up(self) -> None:
        gate = Gate(ChannelWatermark(20))
        gate.whole(0, 10, 15)
        gate.whole(1, 20, 40)
        gate.finish()
        assert gate.emitted == [40]

        gate = Gate(gate.progress)
        gate.whole(0, 15, 50)
        gate.whole(1, 40, 60)
        gate.finish()
        assert gate.emitted == [50]

    @pytest.mark.parametrize("single", [True, False])
    def test_that_are_active_again_make_the_task_active(self, single: bool) -> None:
        gate = Gate(ChannelWatermark(20, is_idle=True), single=single)
        gate.begin_buffer(0, 0, 20)
        gate.status(ACTIVE)
        gate.watermark(30)
        gate.barrier(0, CheckpointBarrier(7, "a", ChannelWatermark(30)))
        gate.finish()

        assert gate.emitted == [ACTIVE, 30]

    def test_in_band_count_only_where_there_is_one_channel(self) -> None:
        one, several = Gate(single=True), Gate()
        for gate in (one, several):
            gate.begin_buffer(0, 0, MIN_TIMESTAMP)
            gate.status(IDLE)

        assert one.emitted == [IDLE]
        assert several.emitted == []


class TestASharedEdge:
    """Its senders are tasks of Spark that read one split between them."""

    def test_is_as_far_as_the_farthest_of_its_senders(self) -> None:
        gate = Gate(shared=frozenset({0}))
        gate.whole(channel_number(0, 0), MIN_TIMESTAMP, MIN_TIMESTAMP)
        gate.whole(channel_number(0, 1), MIN_TIMESTAMP, 30)
        gate.whole(channel_number(0, 2), MIN_TIMESTAMP, 20, is_idle=True)
        gate.finish()

        assert gate.emitted == [30]

    def test_is_idle_if_all_of_its_senders_are(self) -> None:
        gate = Gate(shared=frozenset({0}))
        for sender in range(2):
            gate.whole(channel_number(0, sender), MIN_TIMESTAMP, 5, is_idle=True)
        gate.finish()

        assert gate.emitted == [5, IDLE]

    def test_is_not_mistaken_for_a_channel_of_its_number(self) -> None:
        gate = Gate(shared=frozenset({1}))
        gate.whole(channel_number(0, 1), MIN_TIMESTAMP, 10)
        gate.whole(channel_number(1, 0), MIN_TIMESTAMP, 90)
        gate.finish()

        assert gate.emitted == [10]

    def test_has_the_watermark_of_its_slowest_split(self) -> None:
        gate = Gate(shared=frozenset({0}))
        gate.whole(0, MIN_TIMESTAMP, 90, splits={"a": ChannelWatermark(90)})
        gate.whole(1, MIN_TIMESTAMP, 60, splits={"b": ChannelWatermark(60)})
        gate.finish()

        assert gate.emitted == [60]

    def test_knows_a_split_by_the_task_that_came_farthest_in_it(self) -> None:
        known = {"a": ChannelWatermark(10), "b": ChannelWatermark(10, is_idle=True)}
        gate = Gate(ChannelWatermark(10), shared=frozenset({0}))
        gate.whole(0, 10, 10, splits={**known, "a": ChannelWatermark(40)})
        gate.whole(1, 10, 10, splits={**known, "b": ChannelWatermark(30)})
        gate.finish()

        assert gate.emitted == [30]

    @pytest.mark.parametrize("order", [(0, 1), (1, 0)])
    def test_does_not_wait_for_tasks_that_found_no_split(self, order: tuple[int, int]) -> None:
        gate = Gate(shared=frozenset({0}))
        splits = [{"a": ChannelWatermark(40)}, {}]
        for sender in order:
            gate.whole(sender, MIN_TIMESTAMP, 40 - 40 * sender, splits=splits[sender])
        gate.finish()

        assert gate.emitted == [40]

    def test_is_held_back_by_a_new_split_that_is_behind(self) -> None:
        gate = Gate(ChannelWatermark(50), shared=frozenset({0}))
        gate.whole(0, 50, 50, splits={"a": ChannelWatermark(90), "new": ChannelWatermark(20)})
        gate.finish()

        assert gate.emitted == []
        assert gate.progress == ChannelWatermark(50)


class TestLostBuffers:
    @given(reads(fewest=1), st.data())
    def test_are_noticed(self, buffers: list[Read], data: st.DataObject) -> None:
        counts: dict[int, int] = defaultdict(int)
        for _, channel, _, _ in buffers:
            counts[channel] += 1
        # That a channel should have come of which nothing came is not for the receiver to know.
        several = [buffer for buffer in buffers if counts[buffer[1]] > 1]
        if several:
            lost = data.draw(st.sampled_from(several))
            with pytest.raises(LostBufferError):
                read(Gate(), [buffer for buffer in buffers if buffer is not lost])

    @given(reads(fewest=1), st.data())
    def test_are_noticed_if_they_come_twice(self, buffers: list[Read], data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(buffers) - 1))
        after = data.draw(st.integers(place + 1, len(buffers)))

        with pytest.raises(LostBufferError):
            read(Gate(), [*buffers[:after], buffers[place], *buffers[after:]])

    def test_are_told_with_task_channel_and_epoch(self) -> None:
        gate = Gate()
        gate.begin_buffer(5, 0, 0)

        with pytest.raises(LostBufferError) as raised:
            gate.begin_buffer(5, 2, 0)

        assert raised.value.message == (
            "Task 'Map (1/2)' got buffer 2 of channel 5 in epoch 7, but expected buffer 1."
        )
        assert raised.value.hint

    def test_that_come_behind_the_barrier_are_told(self) -> None:
        gate = Gate()
        gate.whole(5, 0, 0)

        with pytest.raises(
            LostBufferError, match=r"got buffer 1 of channel 5 .* the channel had ended"
        ):
            gate.begin_buffer(5, 1, 0)

    def test_are_told_where_a_channel_did_not_end(self) -> None:
        gate = Gate()
        gate.whole(3, 0, 0)
        gate.begin_buffer(4, 0, 0)
        gate.begin_buffer(4, 1, 0)

        with pytest.raises(LostBufferError) as raised:
            gate.finish()

        assert raised.value.message == (
            "Task 'Map (1/2)' missed the end of channel 4 in epoch 7: 2 buffers came, but no barrier."
        )
