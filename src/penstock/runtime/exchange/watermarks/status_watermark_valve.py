"""Joins the watermarks and statuses of several channels into one.

The rules are those of Flink's `StatusWatermarkValve`: the watermark is the least of all active, aligned
channels and never goes back; idle channels are left out; a channel that is active again is left out until
it has caught up; when the last active channel goes idle, the watermark is first brought to the greatest of
all channels.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from penstock.runtime.exchange.elements import WatermarkStatus
from penstock.runtime.timers.heap_priority_queue import NOT_IN_QUEUE, HeapPriorityQueue
from penstock.runtime.timestamp import MIN_TIMESTAMP


class _Channel:
    """What the valve knows of a channel. Aligned channels are those in the valve's queue."""

    __slots__ = ("heap_index", "is_active", "watermark")

    def __init__(self) -> None:
        self.heap_index = NOT_IN_QUEUE
        self.is_active = True
        self.watermark = MIN_TIMESTAMP

    @property
    def is_aligned(self) -> bool:
        return self.heap_index != NOT_IN_QUEUE


def _watermark_of(channel: _Channel) -> int:
    return channel.watermark


class StatusWatermarkValve:
    """Joins the watermarks and statuses of several channels into one.

    Channels may be added and removed at any time. A new channel is active, at the lowest watermark, and
    aligned: it holds the watermark back.

    Args:
        emit_watermark: Takes each new watermark, in milliseconds; each is greater than the one before.
        emit_status: Takes each change between active and idle.
        last_watermark: The watermark that was emitted last, by a valve whose place this one takes.
        is_idle: Whether that valve was idle.

    Example:
        >>> valve = StatusWatermarkValve(print, print)
        >>> valve.add_channel("a")
        >>> valve.add_channel("b")
        >>> valve.input_watermark("a", 7)
        >>> valve.input_watermark("b", 5)
        5
        >>> valve.input_status("b", WatermarkStatus.IDLE)
        7
    """

    def __init__(
        self,
        emit_watermark: Callable[[int], None],
        emit_status: Callable[[WatermarkStatus], None],
        *,
        last_watermark: int = MIN_TIMESTAMP,
        is_idle: bool = False,
    ) -> None:
        self._emit_watermark = emit_watermark
        self._emit_status = emit_status
        self._last_watermark = last_watermark
        self._is_idle = is_idle
        self._channels: dict[Hashable, _Channel] = {}
        self._aligned: HeapPriorityQueue[_Channel] = HeapPriorityQueue(_watermark_of)
        self._active = 0

    @property
    def last_watermark(self) -> int:
        """The watermark that was emitted last, in milliseconds."""
        return self._last_watermark

    @property
    def is_idle(self) -> bool:
        """Whether all channels are idle."""
        return self._is_idle

    def has_channel(self, name: Hashable) -> bool:
        """Return whether there is a channel with that name."""
        return name in self._channels

    def add_channel(
        self,
        name: Hashable,
        *,
        watermark: int = MIN_TIMESTAMP,
        is_idle: bool = False,
        holds_back: bool = False,
    ) -> None:
        """Add a channel.

        Args:
            name: Its name.
            watermark: Its watermark, in milliseconds.
            is_idle: Whether it is idle.
            holds_back: Whether it is aligned even if it is behind the last watermark, as a channel at the
                lowest watermark always is.
        """
        channel = self._channels[name] = _Channel()
        channel.watermark = watermark
        if is_idle:
            channel.is_active = False
            self._settle(channel)
            return
        self._active += 1
        if holds_back or watermark >= self._last_watermark or watermark == MIN_TIMESTAMP:
            self._aligned.add(channel)
        self._become_active()
        self._advance()

    def remove_channel(self, name: Hashable) -> None:
        """Remove a channel: it holds nothing back any more."""
        channel = self._channels[name]
        if channel.is_active:
            self._deactivate(channel)
        del self._channels[name]
        self._settle(channel)

    def input_watermark(self, name: Hashable, timestamp: int) -> None:
        """Take a watermark (milliseconds) of a channel; those of idle channels do not count."""
        channel = self._channels[name]
        if not channel.is_active or timestamp <= channel.watermark:
            return
        channel.watermark = timestamp
        if channel.is_aligned:
            self._aligned.adjust(channel)
        elif timestamp >= self._last_watermark:
            self._aligned.add(channel)
        self._advance()

    def input_status(self, name: Hashable, status: WatermarkStatus) -> None:
        """Take a change of a channel between active and idle."""
        channel = self._channels[name]
        if status is WatermarkStatus.IDLE:
            if channel.is_active:
                self._deactivate(channel)
                self._settle(channel)
        elif not channel.is_active:
            channel.is_active = True
            self._active += 1
            if channel.watermark >= self._last_watermark:
                self._aligned.add(channel)
            self._become_active()

    def _deactivate(self, channel: _Channel) -> None:
        channel.is_active = False
        self._active -= 1
        self._aligned.remove(channel)

    def _settle(self, gone: _Channel) -> None:
        """Do what follows when a channel has gone idle, or away."""
        if self._active:
            # The one that left may have been all that held the watermark back.
            self._advance()
        elif not self._is_idle:
            if gone.watermark == self._last_watermark or not self._channels:
                self._flush(gone)
            self._is_idle = True
            self._emit_status(WatermarkStatus.IDLE)

    def _flush(self, gone: _Channel) -> None:
        """Bring the watermark to the greatest of all channels, as none is active."""
        watermarks = [channel.watermark for channel in self._channels.values()]
        self._emit(max([gone.watermark, *watermarks]))

    def _become_active(self) -> None:
        if self._is_idle:
            self._is_idle = False
            self._emit_status(WatermarkStatus.ACTIVE)

    def _advance(self) -> None:
        """Emit the least watermark of the aligned channels, if it is a new one."""
        slowest = self._aligned.peek()
        if slowest is not None:
            self._emit(slowest.watermark)

    def _emit(self, watermark: int) -> None:
        if watermark > self._last_watermark:
            self._last_watermark = watermark
            self._emit_watermark(watermark)
