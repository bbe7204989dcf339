"""The outputs of operators inside a chain."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from penstock.runtime.elements import BLOCK_SIZE, Block, EndOfInput, WatermarkStatus
from penstock.runtime.fused_operators import FusedOperators
from penstock.runtime.metrics import OperatorMetrics
from penstock.runtime.operator import StreamOperator
from penstock.runtime.output import Output
from penstock.runtime.user_code import failing_record, function_failure


class ChainingOutput(Output):
    """Passes records to the next operator of the chain by a plain call.

    Args:
        operator: The next operator.
        tag: The id of the side output that passes; None for the main output.
        fused: Takes the blocks in its place, and those of operators behind it.
    """

    def __init__(
        self,
        operator: StreamOperator,
        tag: str | None = None,
        fused: FusedOperators | None = None,
    ) -> None:
        self._operator = operator
        self._process_block = (operator if fused is None else fused).process_block
        self._metrics = operator.metrics
        self._tag = tag

    def collect(self, block: Block) -> None:
        if self._tag is None:
            self._push(block)

    def collect_side(self, tag: str, block: Block) -> None:
        if tag == self._tag:
            self._push(block)

    def _push(self, block: Block) -> None:
        records = len(block)
        self._metrics.records_in += block.record_count
        if records <= BLOCK_SIZE or self._operator.takes_columns:
            self._process_block(block)
            return
        for part in block.cut():
            self._process_block(part)

    def emit_watermark(self, timestamp: int) -> None:
        self.watermark = timestamp
        self._metrics.input_watermark = timestamp
        self._operator.process_watermark(timestamp)

    def emit_status(self, status: WatermarkStatus) -> None:
        self._operator.process_status(status)

    def end_input(self, end: EndOfInput) -> None:
        self._operator.end_input()
        self._operator.output.end_input(end)

    def flush(self) -> None:
        self._operator.flush()
        self._operator.output.flush()


class CopyingChainingOutput(ChainingOutput):
    """Passes a deep copy of each record, so that operators cannot change each other's values."""

    def _push(self, block: Block) -> None:
        rest = iter(block.values)
        try:
            values = [copy.deepcopy(value) for value in rest]
        except Exception as error:
            record = failing_record(block, rest)
            raise function_failure(error, self._operator.name, record) from error
        super()._push(Block(values, block.timestamps, block.keys))


class CountingOutput(Output):
    """What an operator emits to: counts, and passes on to any number of outputs.

    Args:
        outputs: Where the records go; none for an operator at the end of the program.
        metrics: The metrics of the operator that emits here.
    """

    def __init__(self, outputs: Sequence[Output], metrics: OperatorMetrics) -> None:
        self._outputs = tuple(outputs)
        self._metrics = metrics

    def collect(self, block: Block) -> None:
        if not len(block):
            return
        self._metrics.records_out += block.record_count
        for output in self._outputs:
            output.collect(block)

    def collect_side(self, tag: str, block: Block) -> None:
        if not block.values:
            return
        self._metrics.records_out += len(block.values)
        for output in self._outputs:
            output.collect_side(tag, block)

    def emit_watermark(self, timestamp: int) -> None:
        self.watermark = timestamp
        self._metrics.output_watermark = timestamp
        for output in self._outputs:
            output.emit_watermark(timestamp)

    def emit_status(self, status: WatermarkStatus) -> None:
        for output in self._outputs:
            output.emit_status(status)

    def end_input(self, end: EndOfInput) -> None:
        for output in self._outputs:
            output.end_input(end)

    def flush(self) -> None:
        for output in self._outputs:
            output.flush()
