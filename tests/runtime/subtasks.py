"""A subtask between two others, whose input a test writes and whose output it reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.runtime.programs import Journal, ProgramBuilder, contents, messages, records_of

from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.buffer import Buffer, channel_number, encode
from penstock.runtime.exchange.elements import (
    Block,
    ChannelWatermark,
    CheckpointBarrier,
    Element,
    Watermark,
    WatermarkStatus,
)
from penstock.runtime.exchange.partitioners import ForwardPartitioner
from penstock.runtime.layout import Layout
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.program import DRIVER
from penstock.runtime.task.message import SubtaskReport
from penstock.runtime.task.subtask import Subtask
from penstock.runtime.timestamp import MIN_TIMESTAMP

BARRIER = CheckpointBarrier(0, "sender's attempt")


class Logging(StreamOperator):
    """Writes down all that comes, and passes it on."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def begin_epoch(self, epoch: Epoch) -> None:
        self.journal.append(("begin", epoch.number))

    def process_block(self, block: Block) -> None:
        self.journal.append(("block", records_of(block)))
        self.output.collect(block)

    def process_watermark(self, timestamp: int) -> None:
        self.journal.append(("watermark", timestamp))
        self.output.emit_watermark(timestamp)

    def flush(self) -> None:
        self.journal.append(("flush", None))

    def end_input(self) -> None:
        self.journal.append(("end", None))

    def close(self) -> None:
        self.journal.append(("close", None))


def _after(mark: ChannelWatermark, elements: Iterable[Element]) -> ChannelWatermark:
    """Return where a channel is after these elements."""
    for element in elements:
        if isinstance(element, Watermark):
            mark = mark._replace(timestamp=element.timestamp)
        elif isinstance(element, WatermarkStatus):
            mark = mark._replace(is_idle=element is WatermarkStatus.IDLE)
    return mark


class Ready:
    """A subtask of a chain between a source and another chain."""

    def __init__(self, *operators: StreamOperator, index: int = 0, parallelism: int = 1) -> None:
        builder = ProgramBuilder()
        source = builder.source([[]])
        middle = builder.vertex(
            *operators, inputs=[(source, ForwardPartitioner())], parallelism=parallelism
        )
        builder.vertex(MapOperator(str), inputs=[(middle, ForwardPartitioner())])
        layout = Layout(builder.build(), 2)
        self.outbox: list[Buffer] = []
        self.subtask = Subtask(layout, layout.program.vertices[middle], index)
        self._sent: dict[int, int] = {}

    def begin(self, number: int = 0, **options: Any) -> None:
        self._sent = {}
        self._mark = ChannelWatermark()
        self.outbox = []
        self.subtask.begin_epoch(Epoch("job", number, **options), "own attempt", self.outbox)

    def receive(self, *elements: Element, sender: int = 0, sequence: int | None = None) -> None:
        if sequence is None:
            sequence = self._sent.get(sender, 0)
        self._sent[sender] = sequence + 1
        # As the sender would say it at the end: where its last watermark and status leave it.
        self._mark = _after(self._mark, elements)
        elements = tuple(
            element._replace(watermark=self._mark)
            if isinstance(element, CheckpointBarrier)
            else element
            for element in elements
        )
        payload = encode(list(elements), "sender")
        channel = channel_number(0, sender)
        self.subtask.receive(Buffer(0, 1, 0, 1, MIN_TIMESTAMP, channel, sequence, payload))

    def epoch(self, *elements: Element, number: int = 0, **options: Any) -> SubtaskReport:
        self.begin(number, **options)
        self.receive(*elements, BARRIER)
        self.subtask.end_epoch()
        return self.report()

    def report(self) -> SubtaskReport:
        *_, last = messages(buffer for buffer in self.outbox if buffer.vertex == DRIVER)
        assert last.kind == "report"
        report: SubtaskReport = last.content
        return report

    def sent(self) -> list[Any]:
        """Return what went to the next chain: records one by one, and in-band elements."""
        own = [buffer for buffer in self.outbox if buffer.vertex == 2]
        return contents(own)
