"""One result for each record."""

from __future__ import annotations

from penstock.runtime.elements import Block
from penstock.runtime.operators.function_operator import FunctionOperator
from penstock.runtime.user_code import FAILURES, check_complete


class MapOperator(FunctionOperator):
    """Calls the user's function for each record and emits what it returns."""

    method = "map"

    def process_block(self, block: Block) -> None:
        rest = iter(block.values)
        try:
            values = list(map(self._call, rest))
            check_complete(values, block)
        except FAILURES as error:
            raise self._failure(error, block, rest) from error
        self.output.collect(Block(values, block.timestamps))
