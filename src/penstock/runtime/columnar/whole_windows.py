"""Tumbling windows each of which comes as a whole."""

from __future__ import annotations

from penstock.runtime.columnar.aggregated_rows import given_accumulators
from penstock.runtime.columnar.plan import ColumnPlan
from penstock.runtime.exchange.column_block import ColumnBlock
from penstock.runtime.exchange.elements import Block
from penstock.runtime.metrics import LATE_RECORDS
from penstock.runtime.objects.mutability import copied_if_possible
from penstock.runtime.operator import StreamOperator
from penstock.runtime.windows.panes import PaneWindows


class WholeWindowsOperator(StreamOperator):
    """Emits the result of each tumbling window, of which one row is all there is.

    Nothing is kept, so there is no state.

    Args:
        plan: What the rows hold.
        windows: Length, slide and offset of the windows, in milliseconds.
    """

    takes_columns = True

    def __init__(self, plan: ColumnPlan, windows: tuple[int, int, int]) -> None:
        self._plan = plan
        self._windows = windows

    def open(self) -> None:
        self._panes = PaneWindows(*self._windows)
        # That none is late is worth knowing too.
        self.metrics.user.counter(LATE_RECORDS)

    def process_block(self, block: Block) -> None:
        assert isinstance(block, ColumnBlock)
        assert block.times is not None
        result = self._plan.contents.function.function.get_result
        accumulators = given_accumulators(block.rows, self._plan)
        results = [copied_if_possible(result(accumulator)) for accumulator in accumulators]
        ends = {
            time: self._panes.of(time)[0].max_timestamp()
            for time in block.times.unique().to_pylist()
        }
        whole = Block(results, list(map(ends.__getitem__, block.times.to_pylist())))
        if None in results:
            whole = whole.chosen([result is not None for result in results])
        for part in whole.cut():
            self.output.collect(part)
