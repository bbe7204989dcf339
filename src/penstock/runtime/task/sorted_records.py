"""The records of keyed inputs in BATCH mode: held back, and then given key by key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.runtime.exchange.elements import BLOCK_SIZE, Block
from penstock.runtime.timestamp import MIN_TIMESTAMP

_Record = tuple[int, int, int, Any, int | None]
"""What it is sorted by (timestamp, input, arrival), value and timestamp."""


class SortedRecords:
    """The records of keyed inputs, held back until all are there, and then given key by key.

    Within a key they come by timestamp, those without one first; for equal timestamps those of the first
    input before those of the second.
    """

    def __init__(self) -> None:
        self._by_key: dict[Any, list[_Record]] = {}
        self._count = 0

    def add(self, number: int, block: Block) -> None:
        """Hold back a block of an input."""
        keys, by_key = block.keys or (), self._by_key
        timestamps = block.timestamps or [None] * len(keys)
        for key, value, timestamp in zip(keys, block.values, timestamps, strict=True):
            self._count += 1
            order = MIN_TIMESTAMP if timestamp is None else timestamp
            by_key.setdefault(key, []).append((order, number, self._count, value, timestamp))

    def take(self) -> Iterator[tuple[int, Block]]:
        """Yield all that was held back, in blocks of one input each."""
        by_key, self._by_key = self._by_key, {}
        current, block = 0, Block([], [], [])
        for key in list(by_key):
            # No two arrived at once, so that values are never compared.
            for _, number, _, value, timestamp in sorted(by_key.pop(key)):
                if number != current or len(block.values) == BLOCK_SIZE:
                    yield current, block
                    current, block = number, Block([], [], [])
                _append(block, value, timestamp, key)
        yield current, block


def _append(block: Block, value: Any, timestamp: int | None, key: Any) -> None:
    assert block.timestamps is not None
    assert block.keys is not None
    block.values.append(value)
    block.timestamps.append(timestamp)
    block.keys.append(key)
