"""What a timer queue asks of a store that keeps its bytes in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol


class OrderedStore(Protocol):
    """Byte strings in order, each with a value; what was written a moment ago is seen at once."""

    def put(self, key: bytes, value: bytes = b"") -> None:
        """Add a key, or replace its value."""

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, None if the key is not there."""

    def delete(self, key: bytes) -> None:
        """Remove a key; removing one that is not there changes nothing."""

    def scan(self, start: bytes, prefix: bytes = b"") -> Iterator[bytes]:
        """Yield the keys that begin with a prefix, from `start` on, in ascending order.

        The iterator is for use at once: it may miss what is written after it began.
        """
