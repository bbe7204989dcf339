"""Gathers single results into blocks, one for the main output and one for each side output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.runtime.elements import BLOCK_SIZE, Block
from penstock.runtime.output import Output
from penstock.runtime.output_tag import OutputTag


class Collector:
    """Gathers single results into blocks, one for the main output and one for each side output.

    A tuple of an `OutputTag` and a value goes to that side output.

    Args:
        output: Where the blocks go.
    """

    def __init__(self, output: Output) -> None:
        self._output = output
        self._main = Block([], [])
        self._sides: dict[str, Block] = {}

    def collect(self, results: Iterable[Any], timestamp: int | None) -> None:
        """Take the results of one record or timer, with its timestamp (milliseconds)."""
        values, timestamps = self._main.values, self._main.timestamps
        assert timestamps is not None
        for result in results:
            if type(result) is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                self._collect_side(result[0].tag_id, result[1], timestamp)
                continue
            values.append(result)
            timestamps.append(timestamp)
            if len(values) == BLOCK_SIZE:
                self._emit_main()
                values, timestamps = self._main.values, self._main.timestamps
                assert timestamps is not None

    def _collect_side(self, tag: str, value: Any, timestamp: int | None) -> None:
        block = self._sides.get(tag)
        if block is None:
            block = self._sides[tag] = Block([], [])
        assert block.timestamps is not None
        block.values.append(value)
        block.timestamps.append(timestamp)
        if len(block.values) == BLOCK_SIZE:
            self._output.collect_side(tag, _slim(self._sides.pop(tag)))

    def flush(self) -> None:
        """Emit what was gathered."""
        while self._sides:
            self._output.collect_side(*_slim_item(*self._sides.popitem()))
        if self._main.values:
            self._emit_main()

    def _emit_main(self) -> None:
        block, self._main = self._main, Block([], [])
        self._output.collect(_slim(block))


def _slim(block: Block) -> Block:
    """Drop the timestamps of a block if no record has one."""
    if block.timestamps is not None and set(block.timestamps) == {None}:
        return Block(block.values)
    return block


def _slim_item(tag: str, block: Block) -> tuple[str, Block]:
    return tag, _slim(block)
