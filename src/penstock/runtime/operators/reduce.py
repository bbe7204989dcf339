"""A rolling result for each key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, repeat
from typing import Any, Final

from penstock.runtime.exchange.elements import BLOCK_SIZE, Block
from penstock.runtime.objects.mutability import IMMUTABLE_TYPES, Kept, given
from penstock.runtime.operator import BatchOrder
from penstock.runtime.operators.collector import Collector
from penstock.runtime.operators.function_operator import FunctionOperator
from penstock.runtime.state.tables import Keep, RawTable
from penstock.runtime.timestamp import MAX_TIMESTAMP
from penstock.runtime.user_code import FAILURES

_TABLE: Final = "reduce"
_NOTHING: Final = object()


class ReduceOperator(FunctionOperator):
    """Joins each record with what came before it under its key.

    STREAMING mode emits the new result for each record; BATCH mode emits each key's final result, at
    the end of time and with its timestamp. It comes before the last watermark, so that it is late nowhere.

    Args:
        function: The user's function.
        shows_keys: Whether the function may show that in BATCH mode keys come one after the other. If not,
            only records with a timestamp are held in memory to be sorted.
    """

    method = "reduce"
    is_stateful = True

    holds_fixed: bool = True
    """Whether all in the table is known to be plain, and such as nobody can change."""

    may_hold_kept: bool = False
    """Whether anything in the table may be held as a `Kept`: so it is where `keep` was called."""

    def __init__(self, function: Any, *, shows_keys: bool = True) -> None:
        super().__init__(function)
        self.batch_order = BatchOrder.BY_KEY if shows_keys else BatchOrder.TIMED_BY_KEY

    def process_block(self, block: Block) -> None:
        collector = Collector(self.output)
        timestamps = block.timestamps or repeat(None)
        for result, timestamp in zip(self._results(block), timestamps, strict=False):
            if not self.batch:
                collector.collect((result,), timestamp)
        collector.flush()
        self.mark_changed(block)

    def _results(self, block: Block) -> Iterator[Any]:
        """Yield the new result for each record."""
        keys, table, keep = self.keys_of(block), self.table, self.keep
        known, call = table.get, self._call
        rest = iter(block.values)
        try:
            for key, value in zip(self._in_turn(keys), rest, strict=True):
                before = known(key, _NOTHING)
                if before is not _NOTHING:
                    if type(before) is Kept:
                        before = before.taken()
                    value = call(before, value)  # noqa: PLW2901
                table[key] = value if type(value) in IMMUTABLE_TYPES else keep(value, key)
                yield value
        except FAILURES as error:
            raise self._failure(error, block, rest) from error

    def _in_turn(self, keys: list[Any]) -> Iterable[Any]:
        """Return the keys; each is asked for before the function is called for its record."""
        return keys

    def keys_of(self, block: Block) -> list[Any]:
        if block.keys is None:
            raise TypeError(f"{self.name!r} got records without keys.")
        return block.keys

    @property
    def table(self) -> RawTable:
        """What the records of each key come to so far, as it is held: `keep` says how."""
        return self.state.table(_TABLE)

    def look_at_table(self, *, sets_fixed: bool) -> None:
        """Find out what is known of the table; called before each block.

        Args:
            sets_fixed: Whether nothing will be set but what is plain, and such as nobody can change.
        """
        if self.state.was_applied(_TABLE):
            self.holds_fixed, self.may_hold_kept = False, True
        self.holds_fixed = self.holds_fixed and sets_fixed

    @property
    def keep(self) -> Keep:
        """What makes of a value that may be changed later what is set for it in the table."""
        return self.state.keep_in(_TABLE)

    def mark_changed(self, block: Block) -> None:
        """Note that what is in the table for the keys of these records was set."""
        self.state.mark_changed(_TABLE, self.keys_of(block))

    def process_watermark(self, timestamp: int) -> None:
        if self.batch and timestamp == MAX_TIMESTAMP:
            self._emit_finals()
        super().process_watermark(timestamp)

    def _emit_finals(self) -> None:
        values = map(given, self.table.values())
        while block := list(islice(values, BLOCK_SIZE)):
            self.output.collect(Block(block, [MAX_TIMESTAMP] * len(block)))


class ReduceWithStateOperator(ReduceOperator):
    """Reduces with a function that may have state, which is that of the key of the record."""

    def _in_turn(self, keys: list[Any]) -> Iterator[Any]:
        set_current_key = self.state.set_current_key
        for key in keys:
            set_current_key(key)
            yield key
