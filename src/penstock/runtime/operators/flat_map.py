"""Any number of results for each record."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from penstock.runtime.elements import BLOCK_SIZE, Block
from penstock.runtime.operators.function_operator import FunctionOperator
from penstock.runtime.user_code import FAILURES

_SIZED = (list, tuple)
"""Few results in one of these need no iterator to be cut into blocks."""


class FlatMapOperator(FunctionOperator):
    """Emits all that the user's function returns or yields; None stands for nothing."""

    method = "flat_map"

    def process_block(self, block: Block) -> None:
        collected: list[Any] = []
        sources: list[int | None] | None = None if block.timestamps is None else []
        rest = iter(block.values)
        call = self._call
        try:
            for index, value in enumerate(rest):
                results = call(value)
                if results is None:
                    continue
                timestamp = None if block.timestamps is None else block.timestamps[index]
                if type(results) in _SIZED and len(collected) + len(results) < BLOCK_SIZE:
                    collected += results
                    if sources is not None:
                        sources += [timestamp] * len(results)
                else:
                    self._gather(results, timestamp, collected, sources)
        except FAILURES as error:
            raise self._failure(error, block, rest) from error
        self._emit(collected, sources)

    def _gather(
        self,
        results: Iterable[Any],
        timestamp: int | None,
        collected: list[Any],
        timestamps: list[int | None] | None,
    ) -> None:
        """Add the results of one record, emitting whenever a block is full."""
        iterator = iter(results)
        while True:
            before = len(collected)
            collected.extend(islice(iterator, BLOCK_SIZE - before))
            if timestamps is not None:
                timestamps.extend([timestamp] * (len(collected) - before))
            if len(collected) < BLOCK_SIZE:
                return
            self._emit(collected.copy(), None if timestamps is None else timestamps.copy())
            collected.clear()
            if timestamps is not None:
                timestamps.clear()

    def _emit(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        self.output.collect(Block(values, timestamps))
