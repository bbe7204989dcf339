"""The head of a chain that begins at rows which Spark aggregated."""

from __future__ import annotations

from collections.abc import Hashable

from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.errors import InvalidTimestampError
from penstock.runtime.columnar.aggregated_block import KEY, TIME, AggregatedBlock
from penstock.runtime.exchange.column_block import ColumnBlock
from penstock.runtime.exchange.elements import Block
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.user_code import record_text


class AggregatedSourceOperator(SourceOperator):
    """Passes on rows each of which stands for all records of a key and pane.

    They come in the order of their panes, and are of the keys of its subtask.

    Args:
        strategy: Says how the stream gets watermarks.
        interval: The time between periodic watermarks, in milliseconds; 0 for none.
        time: The name of the column that held the timestamps.
    """

    takes_columns = True

    def __init__(self, strategy: WatermarkStrategy, interval: int, time: str) -> None:
        super().__init__(strategy=strategy, interval=interval)
        self._time = time

    def process_split(self, block: Block, split: Hashable) -> None:
        """Process rows. They were counted as they came, and are records of more."""
        assert isinstance(block, ColumnBlock)
        rows = AggregatedBlock(block.rows)
        self._check(rows)
        self.metrics.records_in += rows.record_count - len(rows)
        super().process_split(rows, split)

    def _check(self, block: AggregatedBlock) -> None:
        times = block.rows.field(TIME)
        if times.null_count:
            key = block.rows.field(KEY).filter(times.is_null())[0].as_py()
            raise InvalidTimestampError(
                f"Operator {self.name!r} needs the timestamp of a record with the key "
                f"{record_text(key)}: its column {self._time!r} holds null, or no number above -2**63.",
                hint="Give a frame without such rows to from_data_frame().",
            )
