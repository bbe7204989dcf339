"""The output at the end of a chain: cuts records into buffers for the receiving subtasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.runtime.exchange.buffer import (
    Buffer,
    channel_number,
    check_size,
    cut,
    encode,
    record_count,
)
from penstock.runtime.exchange.elements import (
    Block,
    ChannelWatermark,
    CheckpointBarrier,
    Element,
    EndOfInput,
    Watermark,
    WatermarkStatus,
)
from penstock.runtime.exchange.output import Output
from penstock.runtime.exchange.partitioners import StreamPartitioner
from penstock.runtime.exchange.record_size import RecordSize
from penstock.runtime.program import NetworkEdge


class RecordWriterOutput(Output):
    """Sends records along one edge to the subtasks of another chain.

    Records wait here for others to be pickled with. No two of them share an object that can be changed, as
    they would not have one in common if each had been sent alone.

    Args:
        edge: The edge.
        partitioner: Chooses the receiving subtasks; set up for this sender.
        sender: The number of the sending task among those of its vertex.
        operator: The name of the sending operator, for messages.
        operator_id: Its id.
        carriers: For each receiving subtask the next carrier on the way to it.
        in_band: Whether watermarks go in band: where this sender is the only one. Where there are others,
            the order of buffers says all that the receiver can use.
        send: Takes each finished buffer.

    Attributes:
        operator_id: The id of the sending operator.
    """

    copies_will_do = True

    def __init__(
        self,
        edge: NetworkEdge,
        partitioner: StreamPartitioner,
        *,
        sender: int,
        operator: str,
        carriers: Sequence[int],
        in_band: bool,
        send: Callable[[Buffer], None],
        operator_id: str = "",
    ) -> None:
        self.operator_id = operator_id
        self._edge = edge
        self._partitioner = partitioner
        self.runs_functions = partitioner.calls_functions
        self._operator = operator
        self._carriers = carriers
        self._in_band = in_band
        self._is_idle = False
        self._send = send
        self._channel = channel_number(edge.index, sender)
        self._pending = [_Pending() for _ in carriers]
        self._size = RecordSize()
        self._held = 0

    @property
    def progress(self) -> ChannelWatermark:
        """How far event time has come here."""
        return ChannelWatermark(self.watermark, self._is_idle)

    def begin_epoch(self, progress: ChannelWatermark) -> None:
        """Begin where the last epoch ended; forget what one that failed may have left."""
        self.watermark, self._is_idle = progress
        self._partitioner.begin_epoch()
        self._held = 0
        for pending in self._pending:
            pending.reset()

    def takes(self, tag: str | None) -> bool:
        return tag == self._edge.tag

    def collect(self, block: Block) -> None:
        if self._edge.tag is None:
            self._add(block)

    def collect_side(self, tag: str, block: Block) -> None:
        if tag == self._edge.tag:
            self._add(block)

    def _add(self, block: Block) -> None:
        size = self._size
        size.look_at(block)
        for target, part in self._partitioner.split(block):
            pending = self._pending[target]
            pending.add_block(part, self.watermark)
            self._held += len(part)
            if pending.records >= size.most_in_buffer:
                self._flush(target)
        if self._held > size.most_held:
            for target, pending in enumerate(self._pending):
                if pending.records:
                    self._flush(target)

    def emit_watermark(self, timestamp: int) -> None:
        if self._is_idle:
            return
        if self._in_band:
            self._broadcast(Watermark(timestamp))
        self.watermark = timestamp

    def emit_status(self, status: WatermarkStatus) -> None:
        self._is_idle = status is WatermarkStatus.IDLE
        self._broadcast(status)

    def end_input(self, end: EndOfInput) -> None:
        self._broadcast(end)

    def flush(self) -> None:
        """Nothing: the barrier that follows takes everything along."""

    def _broadcast(self, element: Element) -> None:
        for pending in self._pending:
            pending.add_element(element, self.watermark)

    def emit_barrier(
        self, epoch: int, attempt: str, splits: tuple[tuple[Any, ChannelWatermark], ...] = ()
    ) -> None:
        """End the epoch on every channel of this edge.

        Args:
            epoch: The number of the epoch.
            attempt: Tells the attempts of this sender apart.
            splits: How far the splits have come that this sender read.
        """
        barrier = CheckpointBarrier(epoch, attempt, self.progress, splits)
        # Most subtasks get the same in-band elements and no records: these are pickled once.
        encoded: dict[tuple[Element, ...], bytes] = {}
        for target, pending in enumerate(self._pending):
            pending.add_element(barrier, self.watermark)
            if pending.records:
                self._flush(target)
                continue
            elements = tuple(pending.take())
            if elements not in encoded:
                encoded[elements] = encode(list(elements), self._operator)
            self._send_payload(target, pending, encoded[elements])
            pending.watermark = None

    def _flush(self, target: int) -> None:
        """Send what waits for a subtask: as one buffer, or as several if the records are large."""
        pending = self._pending[target]
        records = pending.records
        self._held -= records
        self._send_pieces(target, pending.take(), records, self._size.pieces(records))
        pending.watermark = None

    def _send_pieces(self, target: int, elements: list[Element], records: int, pieces: int) -> None:
        for part in cut(elements, records, pieces):
            payload = encode(part, self._operator)
            count = records if pieces == 1 else record_count(part)
            if self._size.measured(count, len(payload)):
                check_size(payload, self._operator, part)
                self._send_payload(target, self._pending[target], payload)
            else:
                self._send_pieces(target, part, count, self._size.pieces(count))

    def _send_payload(self, target: int, pending: _Pending, payload: bytes) -> None:
        watermark = self.watermark if pending.watermark is None else pending.watermark
        self._send(
            Buffer(
                self._carriers[target],
                self._edge.target,
                target,
                0 if self._partitioner.is_broadcast else 1,
                watermark,
                self._channel,
                pending.sequence,
                payload,
            )
        )
        pending.sequence += 1


class _Pending:
    """What waits for one receiving subtask."""

    __slots__ = ("elements", "open", "records", "sequence", "watermark")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.elements: list[Element] = []
        self.open: Block | None = None
        self.records = 0
        self.sequence = 0
        self.watermark: int | None = None

    def add_block(self, block: Block, watermark: int) -> None:
        """Add records, to the block that is open if that is alike."""
        if self.watermark is None:
            self.watermark = watermark
        self.records += len(block)
        if self.open is None or not self.open.is_like(block):
            self.open = block.copy()
            self.elements.append(self.open)
        else:
            self.open.extend(block)

    def add_element(self, element: Element, watermark: int) -> None:
        if self.watermark is None:
            self.watermark = watermark
        self.open = None
        self.elements.append(element)

    def take(self) -> list[Element]:
        taken, self.elements = self.elements, []
        self.open = None
        self.records = 0
        return taken
