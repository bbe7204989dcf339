"""Only the records that the user's function accepts."""

from __future__ import annotations

from itertools import compress

from penstock.runtime.elements import Block
from penstock.runtime.operators.function_operator import FunctionOperator


class FilterOperator(FunctionOperator):
    """Emits the records for which the user's function returns true."""

    method = "filter"

    def process_block(self, block: Block) -> None:
        rest = iter(block.values)
        timestamps = block.timestamps
        try:
            if timestamps is None:
                accepted = Block(list(filter(self._call, rest)))
            else:
                mask = list(map(self._call, rest))
                accepted = Block(
                    list(compress(block.values, mask)), list(compress(timestamps, mask))
                )
        except Exception as error:
            raise self._failure(error, block, rest) from error
        self.output.collect(accepted)
