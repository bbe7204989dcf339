"""Keeps the keyed state of one operator in one subtask: dictionaries, and what changed in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class KeyedStateBackend:
    """The keyed state of one operator in one subtask, in memory.

    State is a set of named tables, each from key to value. What an epoch changes is remembered, so
    that the epoch writes what changed and not what exists.

    Attributes:
        tracks_changes: False in a job's last epoch, whose changes nobody will read.
    """

    def __init__(self) -> None:
        self._tables: dict[str, dict[Any, Any]] = {}
        self._changed: dict[str, set[Any]] = {}
        self.tracks_changes = True

    def table(self, name: str) -> dict[Any, Any]:
        """Return the table with that name, made if new. Report changes by `mark_changed`."""
        return self._tables.setdefault(name, {})

    def mark_changed(self, name: str, keys: Iterable[Any]) -> None:
        """Note that the values of these keys changed, or were removed, in this epoch."""
        if self.tracks_changes:
            self._changed.setdefault(name, set()).update(keys)

    def changes(self) -> dict[str, tuple[list[Any], list[Any], list[Any]]]:
        """Return what changed since the last call of `forget_changes`.

        Returns:
            For each table the keys that have a value, their values, and the keys that were removed.
        """
        found = {}
        for name, changed in self._changed.items():
            table = self._tables[name]
            kept = [key for key in changed if key in table]
            removed = [key for key in changed if key not in table]
            found[name] = (kept, [table[key] for key in kept], removed)
        return found

    def forget_changes(self) -> None:
        """Begin to note changes anew."""
        self._changed.clear()

    def everything(self) -> dict[str, tuple[list[Any], list[Any], list[Any]]]:
        """Return all tables, in the form of `changes`."""
        return {
            name: (list(table), list(table.values()), []) for name, table in self._tables.items()
        }

    def apply(self, changes: dict[str, tuple[list[Any], list[Any], list[Any]]]) -> None:
        """Take over changes that `changes` or `everything` gave, without noting them as new."""
        for name, (keys, values, removed) in changes.items():
            table = self.table(name)
            table.update(zip(keys, values, strict=True))
            for key in removed:
                table.pop(key, None)

    def __len__(self) -> int:
        return sum(map(len, self._tables.values()))
