from __future__ import annotations

import copy
from collections import defaultdict
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.programs import Unpicklable, contents, network_edge, records_of, set_up
from tests.runtime.strategies import blocks
from tests.strategies import any_of

from penstock.errors import ValueNotSerializableError
from penstock.runtime.exchange.buffer import BUFFER_SIZE, Buffer, channel_number, decode
from penstock.runtime.exchange.elements import (
    Block,
    ChannelWatermark,
    CheckpointBarrier,
    Element,
    EndOfInput,
    Watermark,
    WatermarkStatus,
)
from penstock.runtime.exchange.partitioners import (
    BroadcastPartitioner,
    GlobalPartitioner,
    KeyGroupStreamPartitioner,
    RebalancePartitioner,
    StreamPartitioner,
)
from penstock.runtime.exchange.writer import RecordWriterOutput
from penstock.runtime.timestamp import MIN_TIMESTAMP

BARRIER = 3, "attempt"


class Writer:
    """A record writer, and what it sent."""

    def __init__(
        self,
        partitioner: StreamPartitioner,
        targets: int,
        *,
        sender: int = 0,
        tag: str | None = None,
        in_band: bool = True,
    ) -> None:
        self.sent: list[Buffer] = []
        self.output = RecordWriterOutput(
            network_edge(4, tag=tag, target=9),
            set_up(partitioner, targets, subtask=sender, parallelism=sender + 1),
            sender=sender,
            operator="Map",
            carriers=[target % 2 for target in range(targets)],
            in_band=in_band,
            send=self.sent.append,
        )

    def emit(self, element: Element) -> None:
        match element:
            case Block():
                self.output.collect(element)
            case Watermark(timestamp):
                self.output.emit_watermark(timestamp)
            case WatermarkStatus():
                self.output.emit_status(element)
            case EndOfInput():
                self.output.end_input(element)

    def received(self, target: int) -> list[Any]:
        """Return what one subtask reads: records one by one, and in-band elements."""
        own = sorted(
            (buffer for buffer in self.sent if buffer.subtask == target),
            key=lambda buffer: buffer.order,
        )
        return contents(own)


def rising(stream: list[Any]) -> list[Element]:
    """Make watermarks of numbers, each as much later than the one before."""
    times = accumulate(item for item in stream if isinstance(item, int))
    return [Watermark(next(times)) if isinstance(item, int) else item for item in stream]


BLOCKS = blocks(max_size=8, with_timestamps=None, with_keys=None)
IN_BAND = st.sampled_from([1, *WatermarkStatus, EndOfInput(), 10])
STREAMS = st.lists(BLOCKS | BLOCKS | IN_BAND, max_size=12).map(rising)


def model(
    stream: list[Element], partitioner: StreamPartitioner, targets: int, *, in_band: bool
) -> dict[int, list[Any]]:
    """What each subtask should read, without buffers."""
    ready = set_up(partitioner, targets)
    expected: dict[int, list[Any]] = defaultdict(list)
    end = ChannelWatermark()
    for element in stream:
        if isinstance(element, Block):
            for target, part in ready.split(element):
                expected[target] += records_of(part)
            continue
        if isinstance(element, WatermarkStatus):
            end = end._replace(is_idle=element is WatermarkStatus.IDLE)
        if isinstance(element, Watermark):
            if end.is_idle:
                continue
            end = end._replace(timestamp=element.timestamp)
            if not in_band:
                continue
        for target in range(targets):
            expected[target].append(element)
    barrier = CheckpointBarrier(*BARRIER, end)
    return {target: [*expected[target], barrier] for target in range(targets)}


@pytest.mark.parametrize(
    "partitioner",
    [
        GlobalPartitioner(),
        BroadcastPartitioner(),
        RebalancePartitioner(),
        KeyGroupStreamPartitioner(str),
    ],
    ids=repr,
)
@settings(max_examples=40)
@given(STREAMS, any_of(range(1, 5), range(1, 11), [False, True]))
def test_what_is_read_on_a_channel_is_what_was_written(
    partitioner: StreamPartitioner,
    stream: list[Element],
    drawn: tuple[int, int, bool],
) -> None:
    targets, size, in_band = drawn
    before = copy.deepcopy([records_of(item) for item in stream if isinstance(item, Block)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("penstock.runtime.exchange.record_size.BUFFER_SIZE", size)
        writer = Writer(partitioner, targets, in_band=in_band)
        for element in stream:
            writer.emit(element)
        writer.output.flush()
        writer.output.emit_barrier(*BARRIER)

    assert {target: writer.received(target) for target in range(targets)} == model(
        stream, partitioner, targets, in_band=in_band
    )
    assert [records_of(item) for item in stream if isinstance(item, Block)] == before
    for target in range(targets):
        own = [buffer for buffer in writer.sent if buffer.subtask == target]
        assert [buffer.sequence for buffer in own] == list(range(len(own)))
        *full, last = [
            sum(len(item) for item in decode(buffer.payload) if isinstance(item, Block))
            for buffer in own
        ]
        assert all(records >= size for records in full)
        assert last < size
        # In the order of buffers those of one channel stay in sequence.
        assert [buffer.watermark for buffer in own] == sorted(buffer.watermark for buffer in own)


def test_addresses_buffers() -> None:
    writer = Writer(RebalancePartitioner(), 3, sender=2)
    writer.output.emit_watermark(50)
    writer.output.emit_barrier(*BARRIER)

    assert [buffer[:7] for buffer in writer.sent] == [
        (carrier, 9, target, 1, MIN_TIMESTAMP, channel_number(4, 2), 0)
        for target, carrier in enumerate([0, 1, 0])
    ]


def test_broadcast_is_read_before_other_input() -> None:
    writer = Writer(BroadcastPartitioner(), 2)
    writer.output.emit_barrier(*BARRIER)

    assert [buffer.rank for buffer in writer.sent] == [0, 0]


def test_a_buffer_bears_the_watermark_with_which_it_was_begun() -> None:
    writer = Writer(GlobalPartitioner(), 1)
    block = Block([0] * BUFFER_SIZE)
    writer.output.emit_watermark(10)
    writer.output.collect(block)
    writer.output.emit_watermark(20)
    writer.output.emit_watermark(30)
    writer.output.collect(block)
    writer.output.collect(block)
    writer.output.emit_barrier(*BARRIER)

    assert [buffer.watermark for buffer in writer.sent] == [MIN_TIMESTAMP, 10, 30, 30]


def test_neighbouring_blocks_become_one() -> None:
    writer = Writer(GlobalPartitioner(), 1)
    for block in (Block([1]), Block([2]), Block([3], [30]), Block([4], [40]), Block([5])):
        writer.output.collect(block)
    writer.output.emit_barrier(*BARRIER)

    [buffer] = writer.sent
    *found, _ = decode(buffer.payload)
    assert [records_of(block) for block in found if isinstance(block, Block)] == [
        [(1, None, None), (2, None, None)],
        [(3, 30, None), (4, 40, None)],
        [(5, None, None)],
    ]


def test_a_buffer_is_sent_when_it_is_full() -> None:
    writer = Writer(GlobalPartitioner(), 1)
    for _ in range(BUFFER_SIZE - 1):
        writer.output.collect(Block([0]))
    assert not writer.sent
    writer.output.collect(Block([0]))

    [buffer] = writer.sent
    assert len(decode(buffer.payload)) == 1


@pytest.mark.parametrize(("tag", "expected"), [(None, ["main"]), ("late", ["late"]), ("x", [])])
def test_an_edge_takes_one_output_of_its_sender(tag: str | None, expected: list[str]) -> None:
    writer = Writer(GlobalPartitioner(), 1, tag=tag)
    writer.output.collect(Block(["main"]))
    writer.output.collect_side("late", Block(["late"]))
    writer.output.collect_side("early", Block(["early"]))
    writer.output.emit_barrier(*BARRIER)

    assert [record[0] for record in writer.received(0)[:-1]] == expected


def test_an_epoch_that_failed_leaves_nothing() -> None:
    writer = Writer(RebalancePartitioner(), 2)
    writer.output.collect(Block(list(range(3 * BUFFER_SIZE))))
    writer.output.collect(Block(["left over"]))
    writer.sent.clear()

    writer.output.begin_epoch(ChannelWatermark())
    writer.output.collect(Block(["new"] * 2))
    writer.output.emit_barrier(*BARRIER)

    for target in range(2):
        assert writer.received(target) == [("new", None, None), CheckpointBarrier(*BARRIER)]
    assert [buffer.sequence for buffer in writer.sent] == [0, 0]


def test_an_epoch_begins_where_the_last_one_ended() -> None:
    writer = Writer(GlobalPartitioner(), 1)
    writer.output.begin_epoch(ChannelWatermark(50, is_idle=True))
    writer.output.emit_watermark(60)
    assert writer.output.progress == ChannelWatermark(50, is_idle=True)
    writer.output.emit_status(WatermarkStatus.ACTIVE)
    writer.output.emit_watermark(60)
    assert writer.output.progress == ChannelWatermark(60)
    writer.output.emit_barrier(*BARRIER)

    assert writer.sent[0].watermark == 50


def test_the_barrier_tells_how_far_the_splits_are() -> None:
    writer = Writer(BroadcastPartitioner(), 2)
    splits = (("a", ChannelWatermark(5)), ("b", ChannelWatermark(3, is_idle=True)))
    writer.output.emit_barrier(*BARRIER, splits)

    for target in range(2):
        assert writer.received(target) == [CheckpointBarrier(*BARRIER, splits=splits)]


def test_a_value_that_cannot_be_pickled_names_the_operator() -> None:
    writer = Writer(GlobalPartitioner(), 1)
    writer.output.collect(Block([1, Unpicklable("culprit")]))

    with pytest.raises(ValueNotSerializableError, match=r"'Map' emitted .* <culprit>"):
        writer.output.emit_barrier(*BARRIER)
