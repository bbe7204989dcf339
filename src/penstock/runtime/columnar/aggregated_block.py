"""Rows each of which stands for all records of a key and pane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.runtime.exchange.column_block import ColumnBlock

if TYPE_CHECKING:
    import pyarrow as pa

SUBTASK: Final = "subtask_number"
"""The column that says which subtask the key of a row belongs to."""

KEY: Final = "group_key"
"""The column that holds the key."""

TIME: Final = "time_in_pane"
"""The column that holds a time in the pane, in milliseconds; null if the records' own is no timestamp."""

RECORDS: Final = "record_count"
"""The column that holds how many records a row stands for."""


class AggregatedBlock(ColumnBlock):
    """Rows each of which stands for all records of a key and pane.

    Args:
        rows: The columns named above, and those of the aggregates: see `given_partials`.
    """

    __slots__ = ("_record_count",)

    def __init__(self, rows: pa.StructArray) -> None:
        super().__init__(rows, rows.field(TIME))
        self._record_count: int | None = None

    def _again(self) -> ColumnBlock:
        return AggregatedBlock(self.rows)

    @property
    def record_count(self) -> int:
        """How many records the rows stand for."""
        import pyarrow.compute as pc

        if self._record_count is None:
            self._record_count = pc.sum(self.rows.field(RECORDS)).as_py() or 0
        return self._record_count
