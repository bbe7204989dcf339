"""What a subtask knows of the channels it reads: their order, their watermarks, their ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from penstock.errors import LostBufferError
from penstock.runtime.exchange.buffer import edge_of_channel
from penstock.runtime.exchange.elements import ChannelWatermark, CheckpointBarrier, WatermarkStatus
from penstock.runtime.exchange.watermarks.combined_watermark_status import CombinedWatermarkStatus
from penstock.runtime.exchange.watermarks.status_watermark_valve import StatusWatermarkValve
from penstock.runtime.program import Vertex
from penstock.runtime.progress import SubtaskProgress

_REST: Final = "rest"
"""Stands among the valve's channels for all that have not ended: buffers come in the order of their
senders' watermarks, so that the one just begun says how far the rest has come at least."""


@dataclass(slots=True)
class _Channel:
    next_sequence: int = 0
    attempt: str | None = None


class InputGate:
    """The channels of one subtask in one epoch.

    Channels need not be known beforehand: which tasks read a source is Spark's choice, anew in each
    epoch. A channel shows itself by its first buffer and ends with its barrier.

    Args:
        task: The name of the receiving task, for messages.
        epoch: The number of the epoch.
        watermark: The last watermark that this subtask was given, in an earlier epoch.
        single: Whether there is but one channel: then watermarks count where they stand in band.
        shared: The edges whose senders all read one split, a source that knows no splits: together they
            are as far as the one that came farthest.
        emit_watermark: Takes each new watermark of the subtask.
        emit_status: Takes each change between active and idle.
    """

    def __init__(
        self,
        task: str,
        epoch: int,
        watermark: ChannelWatermark,
        *,
        single: bool,
        shared: frozenset[int],
        emit_watermark: Callable[[int], None],
        emit_status: Callable[[WatermarkStatus], None],
    ) -> None:
        self._task = task
        self._epoch = epoch
        self._single = single
        self._shared = shared
        self._channels: dict[int, _Channel] = {}
        self._open: dict[Any, int] = {}
        self._ended: dict[Any, ChannelWatermark] = {}
        self._split: set[Any] = set()
        self._valve = StatusWatermarkValve(
            emit_watermark,
            emit_status,
            last_watermark=watermark.timestamp,
            is_idle=watermark.is_idle,
        )
        self._valve.add_channel(_REST, watermark=watermark.timestamp, is_idle=watermark.is_idle)

    @property
    def progress(self) -> ChannelWatermark:
        """How far event time has come for this subtask."""
        return ChannelWatermark(self._valve.last_watermark, self._valve.is_idle)

    def begin_buffer(self, channel: int, sequence: int, watermark: int) -> None:
        """Take note of the next buffer of a channel.

        Args:
            channel: The channel.
            sequence: The number of the buffer on its channel.
            watermark: A watermark (milliseconds) that no sender of this buffer or of one to come is
                behind.

        Raises:
            LostBufferError: If a buffer is missing before it, or it comes a second time.
        """
        state = self._channels.get(channel)
        if state is None:
            state = self._channels[channel] = _Channel()
            group = self._group(channel)
            self._open[group] = self._open.get(group, 0) + 1
        if sequence != state.next_sequence or state.attempt is not None:
            expected = (
                f"expected buffer {state.next_sequence}"
                if state.attempt is None
                else "the channel had ended"
            )
            raise LostBufferError(
                f"Task {self._task!r} got buffer {sequence} of channel {channel} in epoch "
                f"{self._epoch}, but {expected}.",
                hint="The exchange lost or repeated data. The epoch is not committed; run it again.",
            )
        state.next_sequence += 1
        self.all_have_reached(watermark)

    def all_have_reached(self, watermark: int) -> None:
        """Take note of a watermark (milliseconds) that no channel which has not ended is behind."""
        if not self._single:
            self._valve.input_watermark(_REST, watermark)

    def watermark(self, timestamp: int) -> None:
        """Take note of a watermark in band."""
        if self._single:
            self._valve.input_watermark(_REST, timestamp)

    def status(self, status: WatermarkStatus) -> None:
        """Take note of a change between active and idle in band."""
        if self._single or status is WatermarkStatus.ACTIVE:
            self._valve.input_status(_REST, status)

    def barrier(self, channel: int, barrier: CheckpointBarrier) -> None:
        """Take note of the end of the epoch on a channel."""
        self._channels[channel].attempt = barrier.attempt
        group = self._group(channel)
        self._open[group] -= 1
        edge = edge_of_channel(channel)
        if barrier.splits:
            self._split.add(group)
            for name, watermark in barrier.splits:
                self._end(("split", edge, name), watermark)
        else:
            self._end(group, barrier.watermark)

    def _group(self, channel: int) -> Any:
        """Return what a channel's watermark counts for: all senders of one split count as one."""
        edge = edge_of_channel(channel)
        return ("edge", edge) if edge in self._shared else channel

    def _end(self, group: Any, watermark: ChannelWatermark) -> None:
        known = self._ended.get(group)
        if known is not None:
            watermark = ChannelWatermark(
                max(known.timestamp, watermark.timestamp), known.is_idle and watermark.is_idle
            )
        self._ended[group] = watermark
        if not self._single and not self._open.get(group):
            self._show(group)

    def _show(self, group: Any) -> None:
        """Let the valve know how far a group came that has ended."""
        watermark = self._ended[group]
        if self._valve.has_channel(group):
            if not watermark.is_idle:
                self._valve.input_status(group, WatermarkStatus.ACTIVE)
            self._valve.input_watermark(group, watermark.timestamp)
        else:
            self._valve.add_channel(
                group,
                watermark=watermark.timestamp,
                is_idle=watermark.is_idle,
                holds_back=isinstance(group, tuple) and group[0] == "split",
            )

    def finish(self) -> dict[int, str]:
        """End the epoch, and bring the watermark to where the channels' ends allow it to be.

        Returns:
            The attempt that was read of each channel.

        Raises:
            LostBufferError: If a channel did not end.
        """
        attempts: dict[int, str] = {}
        for number, channel in self._channels.items():
            if channel.attempt is None:
                raise LostBufferError(
                    f"Task {self._task!r} missed the end of channel {number} in epoch "
                    f"{self._epoch}: {channel.next_sequence} buffers came, but no barrier.",
                    hint="The exchange lost data. The epoch is not committed; run it again.",
                )
            attempts[number] = channel.attempt
        if attempts:
            for group in self._ended:
                if group not in self._split:
                    self._show(group)
            for group in self._split:
                # Tasks that read no split say nothing of an edge whose splits are known.
                if self._valve.has_channel(group):
                    self._valve.remove_channel(group)
            self._valve.remove_channel(_REST)
        return attempts


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
