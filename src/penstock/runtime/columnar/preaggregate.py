"""Aggregates records before they are sent to the subtasks of their keys: columns, not records."""

from __future__ import annotations

from typing import Final

from penstock.runtime.columnar.plan import ColumnPlan
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.column_block import ColumnBlock
from penstock.runtime.exchange.elements import Block, WatermarkStatus
from penstock.runtime.operator import StreamOperator
from penstock.runtime.windows.panes import PaneWindows

_MOST_ROWS: Final = 1 << 16


class PreAggregateOperator(StreamOperator):
    """Sends on, in place of records, what those of one key and pane come to: `Partial`s.

    It holds records back to join more of them, but none so long that it would be late: what is held is
    sent before a watermark that ends a window of it, and at the end of the epoch.

    Args:
        plan: What is to be computed.
        size: How long a window is, in milliseconds.
        slide: How long after one window the next starts, in milliseconds.
        offset: When some window starts, in milliseconds.
    """

    takes_columns = True

    def __init__(self, plan: ColumnPlan, size: int, slide: int, offset: int) -> None:
        self._plan = plan
        self._windows = size, slide, offset

    def open(self) -> None:
        from penstock.runtime.columnar.partials import ColumnPartials

        self._panes = PaneWindows(*self._windows)
        self._partials = ColumnPartials(self._plan, self._panes)

    def begin_epoch(self, epoch: Epoch) -> None:
        self._held: list[ColumnBlock] = []
        self._rows = 0
        self._earliest: int | None = None

    def process_block(self, block: Block) -> None:
        import pyarrow.compute as pc

        assert isinstance(block, ColumnBlock)
        earliest: int = pc.min(block.times).as_py()
        self._earliest = earliest if self._earliest is None else min(earliest, self._earliest)
        self._held.append(block)
        self._rows += len(block)
        if self._rows >= _MOST_ROWS:
            self._send()

    def process_watermark(self, timestamp: int) -> None:
        if self._earliest is not None:
            first_end = self._panes.of(self._earliest)[-1].max_timestamp()
            if first_end <= timestamp:
                self._send()
        self.output.emit_watermark(timestamp)

    def process_status(self, status: WatermarkStatus) -> None:
        self._send()
        self.output.emit_status(status)

    def flush(self) -> None:
        self._send()

    def _send(self) -> None:
        if not self._held:
            return
        held, self._held = self._held, []
        self._rows = 0
        self._earliest = None
        self.output.collect(self._partials.of(held))
