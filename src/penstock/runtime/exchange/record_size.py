"""How large records are, so that buffers are cut by bytes: measured, and not for each record."""

from __future__ import annotations

import pickle
from typing import Final

from penstock.runtime.exchange.buffer import BUFFER_BYTES, BUFFER_SIZE
from penstock.runtime.exchange.elements import Block

_HELD_BYTES: Final = 32 << 20
_BETWEEN_SAMPLES: Final = 1024


class RecordSize:
    """How large the records of one sender are when they are pickled.

    Each payload that was sent tells it; and one record in a thousand is pickled for it before it is sent, so
    that larger ones are noticed before there are many of them. What was sent counts for more.

    Attributes:
        most_in_buffer: How many records a buffer takes.
        most_held: How many records may wait in all buffers of the sender together.
    """

    __slots__ = ("_bytes", "_until_sample", "most_held", "most_in_buffer")

    def __init__(self) -> None:
        self._until_sample = 0
        self._set(1.0)

    def _set(self, size: float) -> None:
        self._bytes = max(size, 1.0)
        self.most_in_buffer = max(1, min(BUFFER_SIZE, int(BUFFER_BYTES / self._bytes)))
        self.most_held = max(1, int(_HELD_BYTES / self._bytes))

    def look_at(self, block: Block) -> None:
        """Look at records that are about to wait, if it is time to."""
        self._until_sample -= len(block)
        if self._until_sample >= 0 or not len(block):
            return
        self._until_sample = _BETWEEN_SAMPLES
        try:
            size = len(pickle.dumps(block.part(0, 1), pickle.HIGHEST_PROTOCOL))
        except Exception:  # noqa: BLE001 - who sends it finds out, and says which record it is
            return
        if size > self._bytes:
            self._set(size)

    def measured(self, records: int, size: int) -> bool:
        """Take note of the bytes that records took, and return whether they may go as one buffer."""
        if records:
            self._set(size / records)
        return records <= 1 or size <= 2 * BUFFER_BYTES

    def pieces(self, records: int) -> int:
        """Return into how many buffers some records are to be cut."""
        size = records * self._bytes
        return 1 if size <= 2 * BUFFER_BYTES else min(records, -int(-size // BUFFER_BYTES))
