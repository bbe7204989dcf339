"""The inputs of one subtask: a gate for each, and what their watermarks come to together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from penstock.runtime.buffer import edge_of_channel
from penstock.runtime.elements import ChannelWatermark, WatermarkStatus
from penstock.runtime.input_gate import InputGate
from penstock.runtime.program import Vertex
from penstock.runtime.progress import SubtaskProgress
from penstock.runtime.watermarks.combined_watermark_status import CombinedWatermarkStatus


class InputGates:
    """The inputs of one subtask in one epoch.

    Buffers of all inputs come in one order, by their senders' watermarks: so each buffer says of every
    input how far it has come at least.

    Args:
        task: The name of the receiving task, for messages.
        epoch: The number of the epoch.
        vertex: The vertex.
        progress: How far the subtask had come before.
        single: Whether there is but one channel: then watermarks count where they stand in band.
        shared: The edges whose senders all read one split.
        emit_watermark: Takes each new watermark of the subtask.
        emit_status: Takes each change between active and idle.
    """

    def __init__(
        self,
        task: str,
        epoch: int,
        vertex: Vertex,
        progress: SubtaskProgress,
        *,
        single: bool,
        shared: frozenset[int],
        emit_watermark: Callable[[int], None],
        emit_status: Callable[[WatermarkStatus], None],
    ) -> None:
        gate = partial(InputGate, task, epoch, single=single, shared=shared)
        self._input_of = {edge.index: edge.input for edge in vertex.inputs}
        self._combined: CombinedWatermarkStatus | None = None
        if vertex.input_count == 1:
            self._gates = [
                gate(progress.watermark, emit_watermark=emit_watermark, emit_status=emit_status)
            ]
            return
        inputs = progress.inputs or (ChannelWatermark(),) * vertex.input_count
        combined = self._combined = CombinedWatermarkStatus(
            inputs, progress.watermark, emit_watermark, emit_status
        )
        self._gates = [
            gate(
                reached,
                emit_watermark=partial(combined.input_watermark, number),
                emit_status=partial(combined.input_status, number),
            )
            for number, reached in enumerate(inputs)
        ]

    @property
    def progress(self) -> ChannelWatermark:
        """How far event time has come for this subtask."""
        return self._gates[0].progress if self._combined is None else self._combined.progress

    @property
    def inputs(self) -> tuple[ChannelWatermark, ...]:
        """How far event time has come on each input, if there are several."""
        return () if self._combined is None else self._combined.inputs

    def begin_buffer(self, channel: int, sequence: int, watermark: int) -> tuple[int, InputGate]:
        """Take note of the next buffer of a channel.

        Args:
            channel: The channel.
            sequence: The number of the buffer on its channel.
            watermark: A watermark (milliseconds) that no sender of this buffer or of one to come is
                behind.

        Returns:
            The number of the input that the channel belongs to, and its gate.

        Raises:
            LostBufferError: If a buffer is missing before it, or it comes a second time.
        """
        if self._combined is None:
            gate = self._gates[0]
            gate.begin_buffer(channel, sequence, watermark)
            return 0, gate
        number = self._input_of[edge_of_channel(channel)]
        for other, gate in enumerate(self._gates):
            if other == number:
                gate.begin_buffer(channel, sequence, watermark)
            else:
                gate.all_have_reached(watermark)
        return number, self._gates[number]

    def finish(self) -> dict[int, str]:
        """End the epoch, and bring the watermark to where the channels' ends allow it to be.

        Returns:
            The attempt that was read of each channel.

        Raises:
            LostBufferError: If a channel did not end.
        """
        attempts: dict[int, str] = {}
        for gate in self._gates:
            attempts.update(gate.finish())
        return attempts
