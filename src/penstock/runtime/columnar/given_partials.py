"""What stands in the place of a pre-aggregation where Spark did it."""

from __future__ import annotations

from penstock.runtime.columnar.aggregated_block import AggregatedBlock
from penstock.runtime.columnar.plan import ColumnPlan
from penstock.runtime.exchange.column_block import ColumnBlock
from penstock.runtime.exchange.elements import Block
from penstock.runtime.operator import StreamOperator


class GivenPartialsOperator(StreamOperator):
    """Sends on what Spark made of the records of each key and pane.

    Args:
        plan: What was computed.
        are_whole: Whether each is all there is of a window: then they stay columns.
    """

    takes_columns = True

    def __init__(self, plan: ColumnPlan, *, are_whole: bool) -> None:
        self._plan = plan
        self._are_whole = are_whole

    def process_block(self, block: Block) -> None:
        from penstock.runtime.columnar.decoding import given_partials

        assert isinstance(block, AggregatedBlock)
        if self._are_whole:
            self.output.collect(ColumnBlock(block.rows, block.times))
        else:
            self.output.collect(given_partials(block.rows, self._plan))
