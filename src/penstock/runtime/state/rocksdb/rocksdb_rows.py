"""Rows of tables in RocksDB: where they are, what is in them, and which of them changed."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from penstock.runtime.job_pickle import dumps, loads
from penstock.runtime.keys.key_groups import key_group
from penstock.runtime.keys.key_types import key_bytes
from penstock.runtime.state.rocksdb.rocksdb_database import RocksDatabase

if TYPE_CHECKING:
    from rocksdict import WriteBatch

Address = tuple[Any, ...]
"""Namespace and key, and in maps the key in the map."""

_LENGTH: Final = struct.Struct(">I")
_GROUP_AND_TABLE: Final = struct.Struct(">HH").pack
# No key group has this number, nor that below it, which is for timers.
_NOTES: Final = b"\xff\xff"
_KNOWN_KEYS: Final = 1 << 15


def row_value(address: Address, value: bytes) -> bytes:
    """Return what is written in a row: the address, then the value."""
    pickled = dumps(address)
    return _LENGTH.pack(len(pickled)) + pickled + value


def value_of(row: bytes) -> bytes:
    """Return the value in a row."""
    return row[4 + _LENGTH.unpack_from(row)[0] :]


def address_of(row: bytes) -> Address:
    """Return the address in a row."""
    return loads(row[4 : 4 + _LENGTH.unpack_from(row)[0]])  # type: ignore[no-any-return]


class RocksRows:
    """The rows of all tables of one backend.

    A row's key is: the backend's prefix, the key group, the table, then the namespace and the key, and in
    maps the key in the map.

    Args:
        database: The database.
        prefix: What all keys of the backend begin with.
        max_parallelism: The number of key groups of the operator.
        key_groups: Those that belong to the subtask.
        write_caches: Writes what is in the caches of all tables and not in the database.

    Attributes:
        has_notes: Whether notes in the database say which rows changed; if not, caches have all that did.
    """

    def __init__(
        self,
        database: RocksDatabase,
        prefix: bytes,
        max_parallelism: int,
        key_groups: range,
        write_caches: Callable[[], None],
    ) -> None:
        self.database = database
        self.write_caches = write_caches
        self.has_notes = False
        self._prefix = prefix
        self._max_parallelism = max_parallelism
        self._key_groups = key_groups
        self._known_keys: dict[Any, tuple[int, bytes]] = {}

    def prefix_of(self, key: Any, table: int, namespace: Any) -> bytes:
        """Return what the keys of all rows of a key begin with, in a table and namespace."""
        known = self._known_keys.get(key)
        if known is None:
            if len(self._known_keys) >= _KNOWN_KEYS:
                self._known_keys.clear()
            group = key_group(key, self._max_parallelism)
            known = self._known_keys[key] = group, key_bytes(key)
        group, as_bytes = known
        return self._prefix + _GROUP_AND_TABLE(group, table) + key_bytes(namespace) + as_bytes

    def of(
        self, table: int, start: bytes | None = None, key_groups: range | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows of a table with their keys, in order, from one on; of all key groups or some."""
        for group in self._key_groups if key_groups is None else key_groups:
            prefix = self._prefix + _GROUP_AND_TABLE(group, table)
            yield from self.database.scan(prefix, start or b"")

    def note_change(self, batch: WriteBatch, table: int, row: bytes, address: Address) -> None:
        """Note in the database that a row changed."""
        key = self._prefix + _NOTES + table.to_bytes(2, "big") + row
        batch.put(key, dumps(address))

    def notes(self, table: int) -> Iterator[tuple[bytes, Address]]:
        """Yield the notes of a table: their keys, and the addresses of the rows that changed."""
        prefix = self._prefix + _NOTES + table.to_bytes(2, "big")
        for note, address in self.database.scan(prefix):
            yield note, loads(address)

    def forget_notes(self) -> None:
        """Remove all notes."""
        if self.has_notes:
            self.database.delete_all(self._prefix + _NOTES)
            self.has_notes = False
