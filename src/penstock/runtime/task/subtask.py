"""One subtask of a vertex: its chain, what it reads, what it sends."""

from __future__ import annotations

import time
from collections.abc import Hashable
from typing import Any

from penstock.checkpoint.handles import StateHandle
from penstock.runtime.epoch import SHARED, Epoch
from penstock.runtime.exchange.buffer import (
    BUFFER_BYTES,
    Buffer,
    check_size,
    decode,
    not_serializable,
)
from penstock.runtime.exchange.elements import (
    BLOCK_SIZE,
    Block,
    ChannelWatermark,
    CheckpointBarrier,
    Watermark,
    WatermarkStatus,
)
from penstock.runtime.exchange.gates import InputGates
from penstock.runtime.exchange.output import Output
from penstock.runtime.exchange.partitioners import StreamPartitioner
from penstock.runtime.exchange.watermarks.event_time import combined
from penstock.runtime.exchange.writer import RecordWriterOutput
from penstock.runtime.job_pickle import dumps, load_code
from penstock.runtime.keys.key_groups import key_group_range
from penstock.runtime.layout import Layout
from penstock.runtime.operator import BatchOrder
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.program import DRIVER, NetworkEdge, OperatorSpec, Vertex
from penstock.runtime.progress import SubtaskProgress
from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.state.factory import create_backend
from penstock.runtime.state.memory import StateMemory
from penstock.runtime.task.chain import OperatorChain
from penstock.runtime.task.message import Message, SubtaskReport
from penstock.runtime.task.sorted_records import SortedRecords
from penstock.runtime.task.stored_snapshots import Snapshot, StoredSnapshots
from penstock.runtime.task.subtask_state import SubtaskState
from penstock.runtime.task.watch import Watch
from penstock.runtime.task_place import TaskPlace
from penstock.runtime.timers.processing_time_service import (
    Clock,
    MonotonicClock,
    SystemProcessingTimeService,
    system_clock,
)
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.runtime.user_code import naming_operator

_PATIENCE = 0.2
"""How long, in seconds, a record may wait for its neighbours in a block: the watermark interval."""


class Subtask:
    """One subtask of a vertex, kept from epoch to epoch where its process lives.

    Args:
        layout: Where subtasks run.
        vertex: The vertex.
        sender: The number of this task among those of its vertex: the subtask's index, or, at a source
            that Spark reads, the number of Spark's partition.
        clock: The processing time, in milliseconds; it may go back, but what operators see does not.
        memory: Bounds the state that the process holds.

    Attributes:
        last_epoch: The number of the last epoch that it began; -1 for none.
        watch: Measures how it spends an epoch.
    """

    def __init__(
        self,
        layout: Layout,
        vertex: Vertex,
        sender: int,
        clock: Clock = system_clock,
        *,
        memory: StateMemory | None = None,
    ) -> None:
        self._layout = layout
        self._last: Epoch | None = None
        self._vertex = vertex
        self._sender = sender
        self._index = sender % vertex.parallelism
        self._shared = frozenset(
            edge.index for edge in vertex.inputs if layout.program.vertices[edge.source].is_shared
        )
        # Broadcast buffers come first, so they say nothing of how far the others are.
        self._highest_rank = 0 if all(edge.is_broadcast for edge in vertex.inputs) else 1
        self._writers: list[tuple[int, RecordWriterOutput]] = []
        self._messages = 0
        self._is_half_way = False
        self._block_size = 1
        self._outbox: list[Buffer] = []
        self.last_epoch = -1
        self.watch = Watch()
        self._clock = MonotonicClock(clock)
        self._processing_time = SystemProcessingTimeService(self._clock)
        self.chain = OperatorChain(
            layout.program,
            vertex,
            self._index,
            self._network_output,
            self._tell_driver,
            self._processing_time,
            self._create_keyed_state,
        )
        self._operators = {
            spec.operator_id: operator
            for spec, operator in zip(vertex.operators, self.chain.operators, strict=True)
        }
        self._state = self._create_state(memory)
        self._snapshots = StoredSnapshots()
        self.chain.open()

    def _create_state(self, memory: StateMemory | None) -> SubtaskState | None:
        stores = {
            name: store
            for operator_id, operator in self._operators.items()
            for name, store in operator.stores(operator_id).items()
        }
        limit = self._layout.program.state_memory
        return SubtaskState(stores, memory, limit) if stores else None

    def _create_keyed_state(self, operator: str) -> KeyedStateBackend:
        vertex = self._vertex
        return create_backend(
            self._layout.program.state_backend,
            max_parallelism=vertex.max_parallelism,
            key_groups=key_group_range(self._index, vertex.parallelism, vertex.max_parallelism),
            clock=self._clock,
            operator=operator,
            memory=self._layout.program.state_memory,
            rocksdb=self._layout.program.rocksdb,
        )

    def can_run(self, epoch: Epoch) -> bool:
        """Whether this copy of the subtask can take part in an epoch, or another has to be made."""
        return self._state is None or self._state.can_catch_up(self._handles_in(epoch))

    def _handles_in(self, epoch: Epoch) -> tuple[StateHandle, ...]:
        return epoch.state.get((self._vertex.index, self._sender), ())

    def close(self) -> None:
        """Close the functions, and let go of the state."""
        try:
            self.chain.close()
        finally:
            if self._state is not None:
                self._state.close()

    def give_up(self) -> None:
        """Take no further part in the epoch, which has failed."""
        if self._state is not None:
            self._state.is_in_use = False

    def interrupt(self) -> None:
        """Let no operator wait any longer; called from another thread."""
        for operator in self.chain.operators:
            operator.interrupt()

    @property
    def name(self) -> str:
        """The name of the task, as in `Map -> Filter (1/4)`."""
        return f"{self._vertex.name} ({self._index + 1}/{self._vertex.parallelism})"

    def place(self, operator_id: str | None, epoch: Epoch | None = None) -> TaskPlace:
        """Return where it is.

        Args:
            operator_id: The operator of its chain that is meant. Default: none, but all of them.
            epoch: The epoch, if it has not begun it. Default: its last one.
        """
        vertex = self._vertex
        names = (spec.name for spec in vertex.operators if spec.operator_id == operator_id)
        epoch = epoch or self._last
        return TaskPlace(
            None if epoch is None else epoch.job_id,
            next(names, vertex.name),
            self._index,
            vertex.parallelism,
            None if epoch is None else epoch.number,
        )

    def _network_output(self, edge: NetworkEdge, spec: OperatorSpec) -> Output:
        vertex, target = self._vertex, self._layout.program.vertices[edge.target]
        partitioner: StreamPartitioner = load_code(edge.partitioner)
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
            in_band=self._layout.is_single_channel(target),
            send=self._send,
            operator_id=spec.operator_id,
        )
        self._writers.append((edge.index, writer))
        return writer

    def _send(self, buffer: Buffer) -> None:
        self.watch.bytes_out += len(buffer.payload)
        self._outbox.append(buffer)

    def _tell_driver(self, kind: str, content: Any) -> None:
        self._tell(Message(kind, self._vertex.index, self._sender, content))

    def _tell(self, message: Message) -> None:
        buffer = driver_buffer(self._layout, message, self._vertex, self._messages)
        pieces = len(buffer.payload) // BUFFER_BYTES
        if pieces > 1 and len(message.values) > 1:
            for part in message.cut(pieces):
                self._tell(part)
            return
        self._outbox.append(buffer)
        self._messages += 1

    def begin_epoch(self, epoch: Epoch, attempt: str, outbox: list[Buffer]) -> None:
        """Get ready for an epoch, whatever became of the one before.

        Args:
            epoch: The epoch.
            attempt: Tells the attempts of this task apart.
            outbox: Takes the buffers that are ready to be sent.
        """
        self._epoch = self._last = epoch
        self.last_epoch = epoch.number
        self._attempt = attempt
        self._messages = 0
        self._outbox = outbox
        progress = epoch.progress.get((self._vertex.index, self._progress_owner))
        self._take_up(progress or SubtaskProgress())
        # Tail to head, so that none emits to one that has not begun.
        for operator in reversed(self.chain.operators):
            operator.metrics.begin_epoch()
            if self._is_half_way:
                # What an epoch counted that was given up does not count.
                operator.metrics.user.take_counts()
                operator.metrics.user.samples.take()
            with naming_operator(operator.name):
                operator.begin_epoch(epoch)
        self._is_half_way = True
        self._processing_time.fire_due()

    @property
    def _progress_owner(self) -> int:
        """Whose progress this task takes up: that of all tasks of a source which Spark reads."""
        return SHARED if self._vertex.is_shared else self._sender

    def _take_up(self, progress: SubtaskProgress) -> None:
        """Begin where the last epoch ended."""
        epoch = self._epoch
        self._clock.previous = max(self._clock.previous, progress.clock)
        head = self.chain.operators[0]
        sorts = self._layout.program.batch and head.batch_order is not BatchOrder.AS_THEY_CAME
        self._sorted = SortedRecords() if sorts else None
        self._takes_untimed = head.batch_order is BatchOrder.TIMED_BY_KEY
        self._gates = InputGates(
            self.name,
            epoch.number,
            self._vertex,
            progress,
            single=self._sorted is None and self._layout.is_single_channel(self._vertex),
            shared=self._shared,
            emit_watermark=self.chain.entry.emit_watermark,
            emit_status=self.chain.entry.emit_status,
        )
        if self._state is not None:
            self._state.begin_epoch(epoch, self._handles_in(epoch))
        gauges = progress.gauges or [(MIN_TIMESTAMP, MIN_TIMESTAMP)] * len(self.chain.metrics)
        for metrics, shown in zip(self.chain.metrics, gauges, strict=True):
            metrics.input_watermark, metrics.output_watermark = shown
        snapshots = self._snapshots.load(epoch, progress.operators)
        for operator_id, operator in self._operators.items():
            with naming_operator(operator.name):
                operator.restore(snapshots.get(operator_id))
            if operator.timers is not None:
                operator.timers.resume(operator.metrics.input_watermark)
        outputs = dict(progress.outputs)
        splits = self.chain.split_progress()
        for edge, writer in self._writers:
            # Of a source with splits, no task alone knew how far it is.
            known = combined(at for _, at in splits) if splits else outputs.get(edge)
            writer.begin_epoch(known or ChannelWatermark())

    def receive(self, buffer: Buffer) -> None:
        """Process a buffer from another task."""
        self.watch.bytes_in += len(buffer.payload)
        # Records that are held back to be sorted come before any watermark.
        tells = self._sorted is None and buffer.rank >= self._highest_rank
        watermark = buffer.watermark if tells else MIN_TIMESTAMP
        number, gate = self._gates.begin_buffer(buffer.channel, buffer.sequence, watermark)
        for element in decode(buffer.payload):
            if isinstance(element, Block):
                self._note_rows(element)
                held = None if element.keys is None else self._sorted
                if held is not None and not (self._takes_untimed and element.timestamps is None):
                    held.add(number, element)
                else:
                    self.process(element, number=number)
            elif isinstance(element, Watermark):
                gate.watermark(element.timestamp)
            elif isinstance(element, WatermarkStatus):
                gate.status(element)
            elif isinstance(element, CheckpointBarrier):
                gate.barrier(buffer.channel, element)

    def _note_rows(self, block: Block) -> None:
        head = self.chain.operators[0]
        if block.keys is not None and head.is_stateful and head.state.row_keys is not None:
            head.state.row_keys.see(block.keys)

    def process(self, block: Block, *, number: int = 0) -> None:
        """Send records through the chain.

        Args:
            block: The records.
            number: The number of the input they come through.
        """
        start = 0
        while start < len(block):
            start = self.process_part(block, start, number=number)

    def process_part(
        self, block: Block, start: int, split: Hashable = None, *, number: int = 0
    ) -> int:
        """Send as many records through the chain as a slow function has soon done with.

        Args:
            block: The records.
            start: Where in the block those begin that are still to be sent.
            split: The split they are of, at a source whose splits are known.
            number: The number of the input they come through.

        Returns:
            Where the next ones begin; the length of the block, or more, if there are none.
        """
        total = len(block)
        if self.chain.operators[0].takes_columns:
            self.chain.process(block, split, number)
            self._processing_time.fire_due()
            return total
        size = self._block_size
        part = block if start == 0 and size >= total else block.part(start, start + size)
        before = time.perf_counter()
        self.chain.process(part, split, number)
        self._pace(len(part), time.perf_counter() - before)
        self._processing_time.fire_due()
        return start + size

    def begin_split(self, split: Hashable) -> None:
        """Let the watermarks of the source wait for a split that is about to be read."""
        head = self.chain.operators[0]
        assert isinstance(head, SourceOperator)
        head.begin_split(split)

    def process_watermark(self, timestamp: int) -> None:
        """Send a watermark (milliseconds) of the source's own through the chain."""
        self.chain.entry.emit_watermark(timestamp)

    def _pace(self, records: int, seconds: float) -> None:
        """Choose the size of the next block by what the last one took."""
        affordable = BLOCK_SIZE
        if seconds > 0:
            affordable = int(min(_PATIENCE / 2 * records / seconds, BLOCK_SIZE))
        self._block_size = max(1, min(affordable, self._block_size * 2))

    def end_epoch(self) -> None:
        """End the epoch: flush, write state, and send the barrier and the report."""
        if self._sorted is not None:
            for number, block in self._sorted.take():
                self.process(block, number=number)
        attempts = self._gates.finish()
        is_finishing = self._layout.is_finishing(self._vertex, self._epoch)
        if is_finishing:
            if self.chain.entry.watermark < MAX_TIMESTAMP:
                self.chain.entry.emit_watermark(MAX_TIMESTAMP)
            self.chain.end_input()
            self._processing_time.quiesce()
        self._processing_time.fire_due()
        self.chain.flush()
        handles = None
        if self._state is not None:
            handles = self._state.end_epoch(self._epoch, self._id)
        splits = self.chain.split_progress()
        for _, writer in self._writers:
            writer.emit_barrier(self._epoch.number, self._attempt, splits)
        metrics = [operator.metrics.report() for operator in self.chain.operators]
        self._is_half_way = False
        timers = tuple(
            0 if operator.timers is None else operator.timers.size()
            for operator in self.chain.operators
        )
        fired = tuple(
            0 if operator.timers is None else operator.timers.take_fired()
            for operator in self.chain.operators
        )
        progress = self._progress()
        state = self._state
        names = () if state is None else (*state.row_names(), state.asked_for())
        samples = tuple(
            (place, sample)
            for place, counted in enumerate(self.chain.metrics)
            for sample in counted.user.samples.take()
        )
        # A plain tuple: the class of another would be looked up for each of them when it is unpickled.
        spent = self.watch.spent()[:]
        report = SubtaskReport(
            metrics,
            attempts,
            handles,
            self._attempt,
            progress,
            timers,
            fired,
            splits,
            spent,
            samples,
            *names,
        )
        self._tell_driver("report", report)
        if is_finishing:
            self.close()

    def _progress(self) -> SubtaskProgress:
        snapshots: dict[str, bytes] = {}
        if not self._epoch.is_last:
            found = [(key, operator.snapshot()) for key, operator in self._operators.items()]
            snapshots = {key: snapshot for key, snapshot in found if snapshot is not None}
        return SubtaskProgress(
            self._gates.progress,
            tuple((edge, writer.progress) for edge, writer in self._writers),
            self._clock.previous,
            self._stored(snapshots),
            tuple(
                (metrics.input_watermark, metrics.output_watermark)
                for metrics in self.chain.metrics
            ),
            self._next_wake_up(),
            self._gates.inputs,
        )

    def _stored(self, snapshots: dict[str, bytes]) -> tuple[tuple[str, Snapshot], ...]:
        if self._vertex.is_shared:
            # The driver merges those of all tasks.
            return tuple(snapshots.items())
        return self._snapshots.store(self._epoch, self._epoch.state_name(self._id), snapshots)

    @property
    def _id(self) -> str:
        return f"{self._vertex.vertex_id}-{self._sender}"

    def _next_wake_up(self) -> int | None:
        if self._layout.is_finishing(self._vertex, self._epoch):
            return None
        times = [operator.next_wake_up() for operator in self.chain.operators]
        timer = self._processing_time.next_timestamp()
        # A timer is due when the clock has passed its time.
        times.append(None if timer is None else timer + 1)
        return min((time for time in times if time is not None), default=None)


def driver_buffer(layout: Layout, message: Message, vertex: Vertex, sequence: int) -> Buffer:
    """Return the buffer that takes a message to the driver.

    Raises:
        ValueNotSerializableError: If the content of the message cannot be pickled.
        RecordTooLargeError: If it is too large.
    """
    try:
        payload = dumps(tuple(message))
    except Exception as error:
        raise not_serializable(error, [Block(message.values)], vertex.name) from error
    check_size(payload, vertex.name, [Block(message.values)])
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
