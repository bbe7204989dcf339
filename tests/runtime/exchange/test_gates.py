"""What a subtask with two inputs knows of them: against a model that sees the senders from outside."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import LostBufferError
from penstock.runtime.exchange.buffer import channel_number
from penstock.runtime.exchange.elements import ChannelWatermark, CheckpointBarrier, WatermarkStatus
from penstock.runtime.exchange.gates import InputGates
from penstock.runtime.program import NetworkEdge, Vertex
from penstock.runtime.progress import SubtaskProgress
from penstock.runtime.timestamp import MIN_TIMESTAMP

IDLE, ACTIVE = WatermarkStatus.IDLE, WatermarkStatus.ACTIVE


class Sent(NamedTuple):
    """A buffer, in the order in which receivers sort; it ends with the barrier if it is a channel's last."""

    begun: int
    channel: int
    sequence: int
    barrier: CheckpointBarrier | None = None


class Gates(InputGates):
    """The gates of a subtask with one edge for each number given, and what they emit."""

    def __init__(
        self, *inputs: int, progress: SubtaskProgress | None = None, epoch: int = 0
    ) -> None:
        self.emitted: list[int | WatermarkStatus] = []
        edges = tuple(NetworkEdge(index, 0, 1, input_, b"") for index, input_ in enumerate(inputs))
        super().__init__(
            "Join (1/2)",
            epoch,
            Vertex(1, "join", "Join", (), 2, 128, 1, edges),
            progress or SubtaskProgress(),
            single=False,
            shared=frozenset(),
            emit_watermark=self.emitted.append,
            emit_status=self.emitted.append,
        )

    def read(self, sent: list[Sent]) -> None:
        for begun, channel, sequence, barrier in sorted(sent, key=lambda buffer: buffer[:3]):
            _, gate = self.begin_buffer(channel, sequence, begun)
            if barrier is not None:
                gate.barrier(channel, barrier)

    def next_epoch(self) -> SubtaskProgress:
        return SubtaskProgress(self.progress, inputs=self.inputs)


def whole(edge: int, begun: int, end: int, *, is_idle: bool = False, sender: int = 0) -> Sent:
    """A channel of one buffer."""
    barrier = CheckpointBarrier(0, "a", ChannelWatermark(end, is_idle))
    return Sent(begun, channel_number(edge, sender), 0, barrier)


@st.composite
def channels(
    draw: st.DrawFn, edges: int, since: dict[int, int]
) -> tuple[list[Sent], dict[int, int]]:
    """The buffers of an epoch: each of the edges has one or two senders, which go on where they stood."""
    sent: list[Sent] = []
    ends = dict(since)
    for edge in range(edges):
        for sender in range(1 + edge % 2):
            channel = channel_number(edge, sender)
            steps = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
            at = ends.get(channel, -20)
            for sequence, step in enumerate(steps):
                begun, at = at, at + step
                is_last = sequence == len(steps) - 1
                barrier = CheckpointBarrier(0, "a", ChannelWatermark(at)) if is_last else None
                sent.append(Sent(begun, channel, sequence, barrier))
            ends[channel] = at
    return sent, ends


@given(st.data(), st.sampled_from([(0, 1), (0, 1, 1), (0, 0, 1), (1, 0, 1, 0)]))
def test_the_watermark_is_that_of_the_slowest_sender(
    data: st.DataObject, inputs: tuple[int, ...]
) -> None:
    ends: dict[int, int] = {}
    progress = None
    for epoch in range(3):
        sent, ends = data.draw(channels(len(inputs), ends))
        gates = Gates(*inputs, progress=progress, epoch=epoch)
        before = gates.progress.timestamp
        sent.sort(key=lambda buffer: buffer[:3])
        for place, buffer in enumerate(sent):
            gates.read([buffer])
            # No sender of what is still to come was behind the buffer just begun.
            later = [other.begun for other in sent[place + 1 :]]
            assert gates.progress.timestamp <= max(before, min([*ends.values(), *later]))
        attempts = gates.finish()

        assert set(attempts) == set(ends)
        assert gates.progress == ChannelWatermark(min(ends.values()))
        for number in (0, 1):
            own = [end for channel, end in ends.items() if inputs[channel >> 20] == number]
            assert gates.inputs[number] == ChannelWatermark(min(own))
        progress = gates.next_epoch()


def test_an_input_is_known_by_its_edges() -> None:
    gates = Gates(0, 1, 0)

    found = [gates.begin_buffer(channel_number(edge, 0), 0, MIN_TIMESTAMP)[0] for edge in range(3)]

    assert found == [0, 1, 0]


def test_a_buffer_of_one_input_tells_how_far_the_other_is() -> None:
    gates = Gates(0, 1)
    gates.read(
        [Sent(MIN_TIMESTAMP, channel_number(0, 0), 0), Sent(MIN_TIMESTAMP, channel_number(1, 0), 0)]
    )
    gates.read([Sent(7, channel_number(0, 0), 1)])

    assert gates.emitted == [7]


def test_an_input_that_ended_holds_back_what_the_other_gives() -> None:
    gates = Gates(0, 1)
    gates.read([whole(0, MIN_TIMESTAMP, 10), Sent(5, channel_number(1, 0), 0)])
    gates.read([Sent(50, channel_number(1, 0), 1)])

    assert gates.emitted == [5, 10]


class TestIdleInputs:
    def test_hold_nothing_back(self) -> None:
        gates = Gates(0, 1)
        gates.read(
            [whole(0, MIN_TIMESTAMP, MIN_TIMESTAMP, is_idle=True), whole(1, MIN_TIMESTAMP, 20)]
        )
        gates.finish()

        assert gates.emitted == [20]
        assert gates.inputs == (ChannelWatermark(is_idle=True), ChannelWatermark(20))

    def test_stay_idle_in_the_next_epoch(self) -> None:
        progress = SubtaskProgress(
            ChannelWatermark(20), inputs=(ChannelWatermark(5, is_idle=True), ChannelWatermark(20))
        )
        gates = Gates(0, 1, progress=progress)
        gates.read([whole(0, 5, 5, is_idle=True), whole(1, 20, 60)])
        gates.finish()

        assert gates.emitted == [60]

    def test_that_are_both_idle_make_the_task_idle(self) -> None:
        gates = Gates(0, 1)
        gates.read([whole(0, 0, 10, is_idle=True), whole(1, 0, 30, is_idle=True)])
        gates.finish()

        assert gates.emitted == [0, 30, IDLE]
        assert gates.progress == ChannelWatermark(30, is_idle=True)

    def test_that_come_back_hold_the_watermark_where_it_is(self) -> None:
        progress = SubtaskProgress(
            ChannelWatermark(20), inputs=(ChannelWatermark(5, is_idle=True), ChannelWatermark(20))
        )
        gates = Gates(0, 1, progress=progress)
        _, gate = gates.begin_buffer(channel_number(0, 0), 0, 5)
        gate.status(ACTIVE)
        gate.barrier(channel_number(0, 0), CheckpointBarrier(0, "a", ChannelWatermark(9)))
        gates.read([whole(1, 20, 60)])
        gates.finish()

        assert gates.emitted == []
        assert gates.inputs == (ChannelWatermark(9), ChannelWatermark(60))

    def test_change_places_at_the_end_of_an_epoch_without_a_gap(self) -> None:
        progress = SubtaskProgress(
            ChannelWatermark(20), inputs=(ChannelWatermark(5, is_idle=True), ChannelWatermark(20))
        )
        gates = Gates(0, 1, progress=progress)
        gates.read([whole(0, 5, 40), whole(1, 20, 90, is_idle=True)])
        gates.finish()

        assert gates.emitted == [40]
        assert gates.progress == ChannelWatermark(40)


def test_an_input_that_ended_in_an_earlier_epoch_holds_nothing_back() -> None:
    end = 2**63 - 1
    progress = SubtaskProgress(
        ChannelWatermark(20), inputs=(ChannelWatermark(20), ChannelWatermark(end))
    )
    gates = Gates(0, 1, progress=progress)
    gates.read([whole(0, 20, 60)])
    gates.finish()

    assert gates.emitted == [60]
    assert gates.inputs == (ChannelWatermark(60), ChannelWatermark(end))


def test_a_lost_buffer_of_either_input_is_noticed() -> None:
    for edge in (0, 1):
        gates = Gates(0, 1)
        gates.begin_buffer(channel_number(edge, 0), 0, 0)
        with pytest.raises(LostBufferError):
            gates.finish()
