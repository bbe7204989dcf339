"""One subtask of a vertex: its chain, what it reads, what it sends."""

from __future__ import annotations

import pickle
import time
from typing import Any

from penstock.runtime.buffer import Buffer, decode, not_serializable
from penstock.runtime.elements import (
    BLOCK_SIZE,
    MAX_TIMESTAMP,
    MIN_TIMESTAMP,
    Block,
    CheckpointBarrier,
    Watermark,
)
from penstock.runtime.epoch import Epoch
from penstock.runtime.input_gate import InputGate
from penstock.runtime.layout import Layout
from penstock.runtime.message import Message, OperatorCounts, SubtaskReport
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operator_chain import OperatorChain
from penstock.runtime.output import Output
from penstock.runtime.partitioners import StreamPartitioner
from penstock.runtime.program import DRIVER, NetworkEdge, OperatorSpec, Vertex
from penstock.runtime.record_writer import RecordWriterOutput
from penstock.runtime.subtask_state import SubtaskState
from penstock.runtime.user_code import function_failure

_PATIENCE = 0.2
"""How long, in seconds, a record may wait for its neighbours in a block: the watermark interval."""


class Subtask:
    """One subtask of a vertex, kept from epoch to epoch where its process lives.

    Args:
        layout: Where subtasks run.
        vertex: The vertex.
        sender: The number of this task among those of its vertex: the subtask's index, or, at a source
            that Spark reads, the number of Spark's partition.
    """

    def __init__(self, layout: Layout, vertex: Vertex, sender: int) -> None:
        self._layout = layout
        self._vertex = vertex
        self._sender = sender
        self._index = sender % vertex.parallelism
        self._writers: list[RecordWriterOutput] = []
        self._messages = 0
        self._is_half_way = False
        self._block_size = 1
        self._watermark = MIN_TIMESTAMP
        self._outbox: list[Buffer] = []
        self.chain = OperatorChain(
            layout.program, vertex, self._index, self._network_output, self._tell_driver
        )
        self._state = SubtaskState(
            {
                spec.operator_id: operator
                for spec, operator in zip(vertex.operators, self.chain.operators, strict=True)
                if operator.is_stateful
            }
        )
        self._is_stateful = any(operator.is_stateful for operator in self.chain.operators)
        self.chain.open()

    @property
    def name(self) -> str:
        """The name of the task, as in `Map -> Filter (1/4)`."""
        return f"{self._vertex.name} ({self._index + 1}/{self._vertex.parallelism})"

    def _network_output(self, edge: NetworkEdge, spec: OperatorSpec) -> Output:
        vertex, target = self._vertex, self._layout.program.vertices[edge.target]
        partitioner: StreamPartitioner = pickle.loads(edge.partitioner)
        writer = RecordWriterOutput(
            edge,
            partitioner.setup(
                operator=spec.name,
                subtask=self._index,
                parallelism=vertex.parallelism,
                targets=target.parallelism,
                max_parallelism=target.max_parallelism,
            ),
            sender=self._sender,
            operator=spec.name,
            carriers=[
                self._layout.next_carrier(vertex.level, target, subtask)
                for subtask in range(target.parallelism)
            ],
            send=self._send,
        )
        self._writers.append(writer)
        return writer

    def _send(self, buffer: Buffer) -> None:
        self._outbox.append(buffer)

    def _tell_driver(self, kind: str, content: Any) -> None:
        message = Message(kind, self._vertex.index, self._sender, content)
        self._outbox.append(driver_buffer(self._layout, message, self._vertex, self._messages))
        self._messages += 1

    def begin_epoch(self, epoch: Epoch, attempt: str, outbox: list[Buffer]) -> None:
        """Get ready for an epoch, whatever became of the one before.

        Args:
            epoch: The epoch.
            attempt: Tells the attempts of this task apart.
            outbox: Takes the buffers that are ready to be sent.
        """
        self._epoch = epoch
        self._attempt = attempt
        self._gate = InputGate(self.name, epoch.number)
        self._messages = 0
        self._outbox = outbox
        if self._is_stateful:
            handles = epoch.state.get((self._vertex.index, self._sender), ())
            self._state.begin_epoch(handles, tracks_changes=not epoch.is_last)
        for writer in self._writers:
            writer.begin_epoch()
        for operator in self.chain.operators:
            operator.metrics.begin_epoch()
            if self._is_half_way:
                # What an epoch counted that was given up does not count.
                operator.metrics.user.take_counts()
            operator.begin_epoch(epoch)
        self._is_half_way = True

    def receive(self, buffer: Buffer) -> None:
        """Process a buffer from another task."""
        channel = buffer.channel
        self._gate.begin_buffer(channel, buffer.sequence)
        for element in decode(buffer.payload):
            if isinstance(element, Block):
                self.process(element)
            elif isinstance(element, Watermark):
                self._gate.watermark(channel, element.timestamp)
            elif isinstance(element, CheckpointBarrier):
                self._gate.barrier(channel, element)

    def process(self, block: Block) -> None:
        """Send records through the chain, in blocks that a slow function has soon done with."""
        total = len(block.values)
        start = 0
        while start < total:
            size = self._block_size
            part = block if start == 0 and size >= total else block.part(start, start + size)
            before = time.perf_counter()
            self.chain.process(part)
            self._pace(len(part.values), time.perf_counter() - before)
            start += size

    def _pace(self, records: int, seconds: float) -> None:
        """Choose the size of the next block by what the last one took."""
        affordable = BLOCK_SIZE
        if seconds > 0:
            affordable = int(min(_PATIENCE / 2 * records / seconds, BLOCK_SIZE))
        self._block_size = max(1, min(affordable, self._block_size * 2))

    def end_epoch(self) -> None:
        """End the epoch: flush, write state, and send the barrier and the report."""
        watermark, attempts = self._gate.finish()
        self._advance(watermark)
        is_finishing = self._layout.is_finishing(self._vertex, self._epoch)
        if is_finishing:
            self._advance(MAX_TIMESTAMP)
            self.chain.end_input()
        self.chain.flush()
        handles = None
        if self._is_stateful:
            name = f"{self._vertex.vertex_id}-{self._sender}"
            handles = self._state.end_epoch(self._epoch, name)
        barrier = CheckpointBarrier(self._epoch.number, self._attempt)
        for writer in self._writers:
            writer.emit_barrier(barrier)
        metrics = [self._metrics_of(operator) for operator in self.chain.operators]
        self._is_half_way = False
        self._tell_driver("report", SubtaskReport(metrics, attempts, handles, self._attempt))
        if is_finishing:
            self.chain.close()

    def _metrics_of(self, operator: StreamOperator) -> OperatorCounts:
        entry = operator.metrics
        try:
            user = entry.user.take()
        except Exception as error:
            raise function_failure(error, operator.name, None) from error
        return (
            entry.records_in,
            entry.records_out,
            entry.input_watermark,
            entry.output_watermark,
            user,
        )

    def _advance(self, watermark: int) -> None:
        if watermark > self._watermark:
            self._watermark = watermark
            self.chain.entry.emit_watermark(watermark)


def driver_buffer(layout: Layout, message: Message, vertex: Vertex, sequence: int) -> Buffer:
    """Return the buffer that takes a message to the driver.

    Raises:
        ValueNotSerializableError: If the content of the message cannot be pickled.
    """
    try:
        payload = pickle.dumps(tuple(message), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        values = message.content[1] if message.kind == "collect" else [message.content]
        raise not_serializable(error, [Block(values)], vertex.name) from error
    return Buffer(
        layout.driver_carrier(vertex.level, message.sender),
        DRIVER,
        message.sender,
        1,
        MIN_TIMESTAMP,
        vertex.index,
        sequence,
        payload,
    )
