"""Process functions: any number of results for each record, to the main output and side outputs."""

from __future__ import annotations

from typing import Any

from penstock.runtime.elements import BLOCK_SIZE, Block
from penstock.runtime.operators.function_operator import FunctionOperator
from penstock.runtime.output_tag import OutputTag


class ProcessContext:
    """What a process function may ask about the record it is called with."""

    __slots__ = ("_key", "_timestamp")

    def timestamp(self) -> int | None:
        """Return the event timestamp of the record in milliseconds, or None if it has none."""
        return self._timestamp

    def get_current_key(self) -> Any:
        """Return the key of the record."""
        return self._key

    def _set(self, timestamp: int | None, key: Any) -> None:
        self._timestamp = timestamp
        self._key = key


class ProcessOperator(FunctionOperator):
    """Emits all that the user's function returns or yields.

    A tuple of an `OutputTag` and a value goes to that side output.
    """

    method = "process_element"

    def open(self) -> None:
        self._context = ProcessContext()
        super().open()

    def process_block(self, block: Block) -> None:
        collector = _Collector(self, block.timestamps is not None)
        context, call = self._context, self._call
        rest = iter(block.values)
        nothing = [None] * len(block.values)
        timestamps, keys = block.timestamps or nothing, block.keys or nothing
        try:
            for value, timestamp, key in zip(rest, timestamps, keys, strict=True):
                context._set(timestamp, key)  # noqa: SLF001 - hidden from users, not from here
                results = call(value, context)
                if results is not None:
                    for result in results:
                        collector.add(result, timestamp)
        except Exception as error:
            raise self._failure(error, block, rest) from error
        collector.flush()


class _Collector:
    """Gathers results into blocks, one for the main output and one for each side output."""

    def __init__(self, operator: ProcessOperator, has_timestamps: bool) -> None:
        self._operator = operator
        self._has_timestamps = has_timestamps
        self._blocks: dict[str | None, Block] = {}

    def add(self, result: Any, timestamp: int | None) -> None:
        tag: str | None = None
        if type(result) is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
            tag, result = result[0].tag_id, result[1]
        block = self._blocks.get(tag)
        if block is None:
            block = self._blocks[tag] = Block([], [] if self._has_timestamps else None)
        block.values.append(result)
        if block.timestamps is not None:
            block.timestamps.append(timestamp)
        if len(block.values) == BLOCK_SIZE:
            self._emit(tag, self._blocks.pop(tag))

    def flush(self) -> None:
        for tag, block in self._blocks.items():
            self._emit(tag, block)

    def _emit(self, tag: str | None, block: Block) -> None:
        if tag is None:
            self._operator.output.collect(block)
        else:
            self._operator.output.collect_side(tag, block)
