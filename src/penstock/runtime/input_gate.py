"""What a subtask knows of the channels it reads: their order, their watermarks, their ends."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import LostBufferError
from penstock.runtime.elements import MIN_TIMESTAMP, CheckpointBarrier


@dataclass(slots=True)
class _Channel:
    next_sequence: int = 0
    watermark: int = MIN_TIMESTAMP
    attempt: str | None = None


class InputGate:
    """The channels of one subtask in one epoch.

    Channels need not be known beforehand: which tasks read a source is Spark's choice, anew in each
    epoch. A channel shows itself by its first buffer and ends with its barrier.

    Args:
        task: The name of the receiving task, for messages.
        epoch: The number of the epoch.
    """

    def __init__(self, task: str, epoch: int) -> None:
        self._task = task
        self._epoch = epoch
        self._channels: dict[int, _Channel] = {}

    def begin_buffer(self, channel: int, sequence: int) -> None:
        """Take note of the next buffer of a channel.

        Raises:
            LostBufferError: If a buffer is missing before it, or it comes a second time.
        """
        state = self._channels.setdefault(channel, _Channel())
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

    def watermark(self, channel: int, timestamp: int) -> None:
        """Take note of a watermark on a channel."""
        self._channels[channel].watermark = timestamp

    def barrier(self, channel: int, barrier: CheckpointBarrier) -> None:
        """Take note of the end of the epoch on a channel."""
        self._channels[channel].attempt = barrier.attempt

    def finish(self) -> tuple[int, dict[int, str]]:
        """End the epoch.

        Returns:
            The lowest watermark of all channels, and the attempt that was read of each.

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
        watermarks = [channel.watermark for channel in self._channels.values()]
        return min(watermarks, default=MIN_TIMESTAMP), attempts
