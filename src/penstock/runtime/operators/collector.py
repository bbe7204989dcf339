"""Gathers single results into blocks, one for the main output and one for each side output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.runtime.exchange.elements import BLOCK_SIZE, Block
from penstock.runtime.exchange.output import Output
from penstock.runtime.objects.mutability import IMMUTABLE_TYPES, is_immutable
from penstock.runtime.objects.unshared import to_wait
from penstock.runtime.output_tag import OutputTag


class Collector:
    """Gathers single results into blocks, one for the main output and one for each side output.

    A tuple of an `OutputTag` and a value goes to that side output. A result that can be changed waits with
    the others if nobody else has it, or a copy of it does, if that will do. Else it is emitted at once, and those
    before it: who made it may change it as soon as it is asked for the next.

    Args:
        output: Where the blocks go.
    """

    def __init__(self, output: Output) -> None:
        self._output = output
        self._is_timed = True
        self._has_mutable = False
        self._plain = 0
        self._main = Block([], [])
        self._sides: dict[str, Block] = {}

    def start(self, *, timed: bool) -> tuple[list[Any], list[int | None] | None]:
        """Emit what was gathered, and return the lists that take results and their timestamps from now on.

        They are good until the next call of any method but `collect_side`, and for results that nobody can
        change.

        Args:
            timed: Whether results have timestamps; without, there is no list for them.
        """
        self.flush()
        self._is_timed = timed
        self._main = Block([], [] if timed else None)
        return self.lists

    @property
    def lists(self) -> tuple[list[Any], list[int | None] | None]:
        """What takes results and their timestamps; see `start`."""
        return self._main.values, self._main.timestamps

    def is_to_gather(self, result: Any, timestamp: int | None) -> bool:
        """Whether a result can be added to `lists`; if not it is emitted, and `lists` are others then."""
        is_pair = type(result) is tuple and len(result) == 2
        if is_pair and isinstance(result[0], OutputTag):
            self.collect_side(result[0].tag_id, result[1], timestamp)
            return False
        if not is_immutable(result):
            self.emit_alone(result, timestamp, variables=3)
            return False
        return True

    def collect(self, results: Iterable[Any], timestamp: int | None) -> None:
        """Take the results of one record or timer, with its timestamp (milliseconds)."""
        values, timestamps = self._main.values, self._main.timestamps
        assert timestamps is not None
        for result in results:
            is_pair = type(result) is tuple and len(result) == 2
            if (
                is_pair
                and type(result[0]) in IMMUTABLE_TYPES
                and type(result[1]) in IMMUTABLE_TYPES
            ):
                is_fixed = True
            elif is_pair and isinstance(result[0], OutputTag):
                self.collect_side(result[0].tag_id, result[1], timestamp)
                continue
            else:
                is_fixed = type(result) in IMMUTABLE_TYPES or is_immutable(result)
            if is_fixed:
                values.append(result)
                timestamps.append(timestamp)
                if len(values) < BLOCK_SIZE:
                    continue
                self._emit_main()
            else:
                self.emit_alone(result, timestamp)
            values, timestamps = self._main.values, self._main.timestamps
            assert timestamps is not None

    def emit_alone(self, value: Any, timestamp: int | None, *, variables: int = 2) -> None:
        """Emit a result that can be changed, after those that were gathered; or gather it or a copy of it.

        Args:
            value: The result.
            timestamp: Its timestamp (milliseconds), if it has one.
            variables: How many variables it is in here and where it was collected.
        """
        waiting = to_wait(value, variables, may_copy=self._output.copies_will_do)
        if waiting is not None:
            held, is_plain = waiting
            self._plain += is_plain
            self._gather(held, timestamp)
            return
        if self._main.values:
            self._emit_main()
        timestamps: list[int | None] | None = None if timestamp is None else [timestamp]
        self._output.collect(Block([value], timestamps, is_immutable=False))

    def _gather(self, value: Any, timestamp: int | None) -> None:
        self._has_mutable = True
        main = self._main
        main.values.append(value)
        if main.timestamps is not None:
            main.timestamps.append(timestamp)
        if len(main.values) >= BLOCK_SIZE:
            self._emit_main()

    def collect_side(self, tag: str, value: Any, timestamp: int | None) -> None:
        """Take a result for a side output, with its timestamp (milliseconds)."""
        if not is_immutable(value):
            if tag in self._sides:
                self._emit_side(tag)
            timestamps: list[int | None] | None = None if timestamp is None else [timestamp]
            self._output.collect_side(tag, Block([value], timestamps, is_immutable=False))
            return
        block = self._sides.get(tag)
        if block is None:
            block = self._sides[tag] = Block([], [])
        assert block.timestamps is not None
        block.values.append(value)
        block.timestamps.append(timestamp)
        if len(block.values) == BLOCK_SIZE:
            self._emit_side(tag)

    def flush(self) -> None:
        """Emit what was gathered."""
        self._is_timed = True
        while self._sides:
            self._emit_side(next(reversed(self._sides)))
        if self._main.values or self._main.timestamps is None:
            self._emit_main()

    def _emit_side(self, tag: str) -> None:
        self._output.collect_side(tag, _slim(self._sides.pop(tag)))

    def _emit_main(self) -> None:
        block, self._main = self._main, Block([], [] if self._is_timed else None)
        is_immutable = None if self._has_mutable else True
        is_harmless = self._plain > 0 and self._plain == len(block.values)
        self._has_mutable, self._plain = False, 0
        if block.values:
            self._output.collect(_slim(block, is_immutable=is_immutable, is_harmless=is_harmless))


def _slim(block: Block, *, is_immutable: bool | None = True, is_harmless: bool = False) -> Block:
    """Drop the timestamps of a block if no record has one."""
    timestamps = block.timestamps
    if timestamps is not None and set(timestamps) == {None}:
        timestamps = None
    return Block(block.values, timestamps, is_immutable=is_immutable, is_harmless=is_harmless)
