"""Only the records that the user's function accepts."""

from __future__ import annotations

from itertools import compress

from penstock.runtime.elements import Block
from penstock.runtime.operators.function_operator import FunctionOperator
from penstock.runtime.user_code import FAILURES, check_complete


class FilterOperator(FunctionOperator):
    """Emits the records for which the user's function returns true."""

    method = "filter"

    def process_block(self, block: Block) -> None:
        rest = iter(block.values)
        try:
            accepted = list(map(self._call, rest))
            check_complete(accepted, block)
            # Whether an answer is true is for the answer to say, and that may raise too.
            values = list(compress(block.values, accepted))
        except FAILURES as error:
            raise self._failure(error, block, rest) from error
        timestamps = block.timestamps
        if timestamps is not None:
            timestamps = list(compress(timestamps, accepted))
        self.output.collect(Block(values, timestamps))
