"""The outputs of operators inside a chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.errors import ValueNotCopyableError
from penstock.runtime.exchange.elements import BLOCK_SIZE, Block, EndOfInput, WatermarkStatus
from penstock.runtime.exchange.output import Output
from penstock.runtime.metrics import OperatorMetrics
from penstock.runtime.objects.mutability import copied
from penstock.runtime.operator import StreamOperator
from penstock.runtime.task.fused_operators import FusedOperators, can_join
from penstock.runtime.user_code import FAILURES, record_text


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
        if fused is None and can_join((), operator):
            fused = FusedOperators([operator])
        self._process_block = (operator if fused is None else fused).process_block
        self.copies_will_do = operator.keeps_to_itself
        self._may_show_values = fused is None
        self._metrics = operator.metrics
        self._tag = tag

    def takes(self, tag: str | None) -> bool:
        return tag == self._tag

    def collect(self, block: Block) -> None:
        if self._tag is None:
            self._push(block)

    def collect_side(self, tag: str, block: Block) -> None:
        if tag == self._tag:
            self._push(block)

    def _push(self, block: Block) -> None:
        records = len(block)
        self._metrics.records_in += block.record_count
        if self._may_show_values and not block.is_known_immutable:
            # To a user's function, before it passes them on in the same block.
            block.is_harmless = False
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
    """Passes a copy of each record that can be changed, so that operators do not change each other's."""

    def _push(self, block: Block) -> None:
        super()._push(_copied(block, self._operator.name))


class CountingOutput(Output):
    """What an operator emits to: counts, and passes on to any number of outputs.

    Values that can be changed are copied for all outputs but the last of those that take them.

    Args:
        outputs: Where the records go; none for an operator at the end of the program. Those that run
            functions on them come last.
        metrics: The metrics of the operator that emits here.
    """

    def __init__(self, outputs: Sequence[Output], metrics: OperatorMetrics) -> None:
        self._outputs = tuple(outputs)
        self._metrics = metrics
        self.runs_functions = any(output.runs_functions for output in outputs)
        self.copies_will_do = all(output.copies_will_do for output in outputs)
        main = self._takers(None)
        self._others, self._last = main[:-1], main[-1] if main else None
        self._sides: dict[str, tuple[Output, ...]] = {}

    def _takers(self, tag: str | None) -> tuple[Output, ...]:
        return tuple(output for output in self._outputs if output.takes(tag))

    def collect(self, block: Block) -> None:
        records = block.record_count
        if not records:
            return
        self._metrics.records_out += records
        for output in self._others:
            output.collect(self._apart(block))
        if self._last is not None:
            self._last.collect(block)

    def collect_side(self, tag: str, block: Block) -> None:
        if not block.values:
            return
        self._metrics.records_out += len(block.values)
        outputs = self._sides.get(tag)
        if outputs is None:
            outputs = self._sides[tag] = self._takers(tag)
        for output in outputs[:-1]:
            output.collect_side(tag, self._apart(block))
        for output in outputs[-1:]:
            output.collect_side(tag, block)

    def _apart(self, block: Block) -> Block:
        """Return what one of several outputs is given, of which others know nothing.

        What cannot be copied all of them share.
        """
        if not block.is_known_immutable:
            block.is_harmless = False
        return block.copied_if_possible() if self.runs_functions else block

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


def _copied(block: Block, operator: str) -> Block:
    """Copy the records of a block for an operator."""
    try:
        return block.copied()
    except FAILURES:
        for value in block.values:
            _check_copyable(value, operator)
        raise


def _check_copyable(value: Any, operator: str) -> None:
    try:
        copied(value)
    except FAILURES as error:
        raise ValueNotCopyableError(
            f"Operator {operator!r} is to get a copy of a record that cannot be copied: "
            f"{record_text(value)}\n{type(error).__name__}: {error}",
            hint="Emit plain data, or give the record's class a __deepcopy__.",
        ) from error
