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

    def start(self, *, timed: bool) -> tuple[list[Any], list[int | None] | None]:
        """Emit what was gathered, and return the lists that take results and their timestamps from now on.

        They are good until the next call of any method but `collect_side`.

        Args:
            timed: Whether results have timestamps; without, there is no list for them.
        """
        self.flush()
        self._main = Block([], [] if timed else None)
        return self._main.values, self._main.timestamps

    def collect(self, results: Iterable[Any], timestamp: int | None) -> None:
        """Take the results of one record or timer, with its timestamp (milliseconds)."""
        values, timestamps = self._main.values, self._main.timestamps
        assert timestamps is not None
        for result in results:
            if type(result) is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                self.collect_side(result[0].tag_id, result[1], timestamp)
                continue
            values.append(result)
            timestamps.append(timestamp)
            if len(values) == BLOCK_SIZE:
                self._emit_main()
                values, timestamps = self._main.values, self._main.timestamps
                assert timestamps is not None

    def collect_side(self, tag: str, value: Any, timestamp: int | None) -> None:
        """Take a result for a side output, with its timestamp (milliseconds)."""
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
            tag, side = self._sides.popitem()
            self._output.collect_side(tag, _slim(side))
        self._emit_main()

    def _emit_main(self) -> None:
        block, self._main = self._main, Block([], [])
        if block.values:
            self._output.collect(_slim(block))


def _slim(block: Block) -> Block:
    """Drop the timestamps of a block if no record has one."""
    if block.timestamps is not None and set(block.timestamps) == {None}:
        return Block(block.values)
    return block
