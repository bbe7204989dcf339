"""Aggregates records before they are sent to the subtasks of their keys: columns, not records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.runtime.column_aggregate import ColumnAggregate
from penstock.runtime.column_block import ColumnBlock
from penstock.runtime.elements import Block, WatermarkStatus
from penstock.runtime.epoch import Epoch
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.window_contents import AggregatedRecords, ReducedRecords
from penstock.runtime.windowing.pane_windows import PaneWindows

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_ROWS: Final = 1 << 16


@dataclass(frozen=True)
class ColumnPlan:
    """What is to be computed of columns.

    Attributes:
        key: The name of the column that holds the key.
        fields: The name of the column of each aggregate; None for a count of all records.
        aggregates: The aggregates.
        contents: Says how the records of a window are kept.
        is_single: Whether an accumulator is that of the only aggregate, not a tuple of several.
    """

    key: str
    fields: tuple[str | None, ...]
    aggregates: tuple[ColumnAggregate, ...]
    contents: ReducedRecords | AggregatedRecords
    is_single: bool

    def description(self, pane_size: int) -> str:
        """Say what is computed, for plans.

        Example: `sum(amount), count(*) by item and pane of 60000 ms`.
        """
        pairs = zip(self.aggregates, self.fields, strict=True)
        what = ", ".join(f"{aggregate.kind}({field or '*'})" for aggregate, field in pairs)
        return f"{what} by {self.key} and pane of {pane_size} ms"


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
        from penstock.runtime.column_partials import ColumnPartials

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


def joined(blocks: list[ColumnBlock]) -> tuple[pa.StructArray, pa.Int64Array]:
    """Return the rows and timestamps of several blocks."""
    import pyarrow as pa

    if len(blocks) == 1:
        return blocks[0].rows, blocks[0].times
    rows = pa.concat_arrays([block.rows for block in blocks])
    return rows, pa.concat_arrays([block.times for block in blocks])
