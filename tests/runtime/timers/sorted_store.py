"""An ordered store in memory, which counts what is asked of it."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator
from itertools import takewhile


class SortedStore:
    def __init__(self) -> None:
        self.names: list[bytes] = []
        self.values: dict[bytes, bytes] = {}
        self.calls: Counter[str] = Counter()
        self.scanned_from: list[bytes] = []

    def put(self, key: bytes, value: bytes = b"") -> None:
        self.calls["put"] += 1
        if key not in self.values:
            insort(self.names, key)
        self.values[key] = value

    def get(self, key: bytes) -> bytes | None:
        self.calls["get"] += 1
        return self.values.get(key)

    def delete(self, key: bytes) -> None:
        self.calls["delete"] += 1
        if self.values.pop(key, None) is not None:
            del self.names[bisect_left(self.names, key)]

    def scan(self, start: bytes, prefix: bytes = b"") -> Iterator[bytes]:
        self.calls["scan"] += 1
        self.scanned_from.append(start)
        rest = self.names[bisect_left(self.names, start) :]
        return takewhile(lambda name: name.startswith(prefix), rest)
