"""The head of a chain that begins at rows which Spark aggregated."""

from __future__ import annotations

from collections.abc import Hashable

from penstock.errors import InvalidTimestampError
from penstock.runtime.aggregated_block import KEY, AggregatedBlock
from penstock.runtime.column_block import ColumnBlock
from penstock.runtime.elements import Block
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.user_code import record_text


class AggregatedSourceOperator(SourceOperator):
    """Passes on rows each of which stands for all records of a key and pane.

    They come in the order of their panes, and are of the keys of its subtask.
    """

    takes_columns = True

    def process_split(self, block: Block, split: Hashable) -> None:
        """Process rows. They were counted as they came, and are records of more."""
        assert isinstance(block, ColumnBlock)
        rows = AggregatedBlock(block.rows)
        self._check(rows)
        self.metrics.records_in += rows.record_count - len(rows)
        super().process_split(rows, split)

    def _check(self, block: AggregatedBlock) -> None:
        times = block.rows.field("time")
        if times.null_count:
            keys = block.rows.field(KEY).filter(times.is_null())
            raise InvalidTimestampError(
                f"Operator {self.name!r} needs the timestamp of a record with the key "
                f"{record_text(keys[0].as_py())}, which has none, or none above -2**63.",
                hint="Leave such rows out of the DataFrame: frame.where('time IS NOT NULL').",
            )
