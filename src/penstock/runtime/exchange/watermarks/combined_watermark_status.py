"""Joins the watermarks and statuses of the inputs of one operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.runtime.exchange.elements import ChannelWatermark, WatermarkStatus


class CombinedWatermarkStatus:
    """Joins the watermarks and statuses of the inputs of one operator.

    The watermark is the least of all active inputs, or the greatest of all if none is active; it never
    goes back. The operator is idle when all inputs are.

    Args:
        inputs: How far each input has come.
        watermark: What was emitted last, and whether the operator was idle.
        emit_watermark: Takes each new watermark, in milliseconds; each is greater than the one before.
        emit_status: Takes each change between active and idle.

    Example:
        >>> status = CombinedWatermarkStatus([ChannelWatermark()] * 2, ChannelWatermark(), print, print)
        >>> status.input_watermark(0, 7)
        >>> status.input_watermark(1, 5)
        5
        >>> status.input_status(1, WatermarkStatus.IDLE)
        7
    """

    def __init__(
        self,
        inputs: Sequence[ChannelWatermark],
        watermark: ChannelWatermark,
        emit_watermark: Callable[[int], None],
        emit_status: Callable[[WatermarkStatus], None],
    ) -> None:
        self._inputs = list(inputs)
        self._watermark, self._is_idle = watermark
        self._emit_watermark = emit_watermark
        self._emit_status = emit_status

    @property
    def inputs(self) -> tuple[ChannelWatermark, ...]:
        """How far each input has come."""
        return tuple(self._inputs)

    @property
    def progress(self) -> ChannelWatermark:
        """How far the operator has come."""
        return ChannelWatermark(self._watermark, self._is_idle)

    def input_watermark(self, number: int, timestamp: int) -> None:
        """Take a watermark (milliseconds) of an input, which is active then."""
        before = self._inputs[number].timestamp
        self._inputs[number] = ChannelWatermark(max(before, timestamp))
        self._update()

    def input_status(self, number: int, status: WatermarkStatus) -> None:
        """Take a change of an input between active and idle."""
        is_idle = status is WatermarkStatus.IDLE
        self._inputs[number] = self._inputs[number]._replace(is_idle=is_idle)
        self._update()

    def _update(self) -> None:
        active = [reached.timestamp for reached in self._inputs if not reached.is_idle]
        if active and self._is_idle:
            self._is_idle = False
            self._emit_status(WatermarkStatus.ACTIVE)
        timestamp = min(active) if active else max(reached.timestamp for reached in self._inputs)
        if timestamp > self._watermark:
            self._watermark = timestamp
            self._emit_watermark(timestamp)
        if not active and not self._is_idle:
            self._is_idle = True
            self._emit_status(WatermarkStatus.IDLE)
