"""Keyed state in RocksDB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from penstock.common.configuration.rocksdb_options import RocksDBSettings
from penstock.runtime.keys.key_groups import SubtaskByKey
from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.state.rocksdb.rocksdb_database import RocksDatabase
from penstock.runtime.state.rocksdb.rocksdb_lists import RocksLists
from penstock.runtime.state.rocksdb.rocksdb_rows import RocksRows
from penstock.runtime.state.rocksdb.rocksdb_tables import RocksMaps, RocksTable, RocksValues
from penstock.runtime.state.tables import Shape, TablePart, parts_of, shape_of
from penstock.runtime.timers.key_group_partitioned_queue import KeyGroupPartitionedPriorityQueue
from penstock.runtime.timers.rocksdb_caching_priority_queue_set import (
    RocksDBCachingPriorityQueueSet,
)

# No key group has this number, nor that above it, which is for notes about rows.
_TIMERS: Final = b"\xff\xfe"
_MOST_UNWRITTEN: Final = 1 << 12
_TABLES: Final[Mapping[Shape, type[RocksTable]]] = {
    Shape.VALUE: RocksValues,
    Shape.LIST: RocksLists,
    Shape.MAP: RocksMaps,
}


class RocksDBKeyedStateBackend(KeyedStateBackend):
    """Keeps state on the local disk: larger than memory, if need be.

    All backends of a thread share a database, where each has rows and timers of its own. An epoch's
    writes stay in caches until the epoch ends or the caches are full. In the latter case, rows that
    changed are noted in the database.

    Args:
        directory: Where the database is made; None for the directory of temporary files.
        memory: How many bytes the database may take in memory; None for what suits the machine.
        settings: How the database is set up; None for RocksDB as it is.
        **options: See `KeyedStateBackend`.

    Raises:
        RocksDBNotFoundError: If rocksdict is not installed.
        RocksDBFolderError: If it can have no files where the settings say.
    """

    def __init__(
        self,
        *,
        directory: str | None,
        memory: int | None = None,
        settings: RocksDBSettings | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        settings = RocksDBSettings() if settings is None else settings
        self.database = RocksDatabase.in_directory(directory, memory, settings)
        self._prefix = self.database.add_user(self._spill)
        self._tables: dict[str, RocksTable] = {}
        # With as many subtasks as key groups, a key's subtask is its key group.
        self._key_groups = SubtaskByKey(self.max_parallelism, self.max_parallelism)
        self._rows = RocksRows(
            self.database, self._prefix, self.max_parallelism, self.key_groups, self.write_caches
        )

    def ordered_store(self, prefix: bytes) -> RocksDBOrderedStore:
        """Return byte strings in order, apart from those of all other prefixes."""
        length = len(prefix).to_bytes(2, "big")
        return RocksDBOrderedStore(self.database, self._prefix + _TIMERS + length + prefix)

    def write_caches(self) -> None:
        """Write what is in the caches of all tables and not in the database."""
        batch = self.database.new_batch()
        for table in self._tables.values():
            table.write(batch, notes_changes=self._tracks_changes)
        self.database.write(batch)
        self._rows.has_notes = self._tracks_changes

    def _spill(self) -> None:
        self.write_caches()
        for table in self._tables.values():
            table.clear_cache()

    def _new_table(self, name: str, kind: str) -> RocksTable:
        make = _TABLES[shape_of(kind)]
        table = self._tables[name] = make(self._rows, len(self._tables), self.operator, name, kind)
        return table

    def mark_changed(self, name: str, keys: list[Any]) -> None:
        """Do nothing: tables note what is set."""

    def _make_queue(self, name: str) -> KeyGroupPartitionedPriorityQueue:
        store = self.ordered_store(name.encode())
        # No backend before this one had its prefix, and no queue before this one its name.
        return KeyGroupPartitionedPriorityQueue(
            self.key_groups,
            self._key_groups.__getitem__,
            lambda group: RocksDBCachingPriorityQueueSet(
                store, group.to_bytes(2, "big"), is_new=True
            ),
        )

    def _changed_parts(self) -> Iterator[TablePart]:
        for expiring in self._expiring:
            expiring.clean_after_epoch()
        if self._rows.has_notes:
            self.write_caches()
        yield from super()._changed_parts()

    def _parts(self) -> Iterator[TablePart]:
        self.write_caches()
        yield from super()._parts()

    def _parts_in(self, key_groups: range) -> Iterator[TablePart]:
        self.write_caches()
        for table in self._tables.values():
            changes = table.replacements(
                row for _, row in self._rows.of(table.number, key_groups=key_groups)
            )
            yield from parts_of(table, changes)

    def _forget(self) -> None:
        self._rows.forget_notes()
        super()._forget()

    def close(self) -> None:
        self._tables.clear()
        self._queues.clear()
        self.database.remove_user(self._prefix)


class RocksDBOrderedStore:
    """Byte strings in order; writes go to the database many at a time, before they are scanned.

    Args:
        database: The database.
        prefix: What the database's keys begin with that belong to this store.
    """

    def __init__(self, database: RocksDatabase, prefix: bytes) -> None:
        self._database = database
        self._prefix = prefix
        # Keys with their values, None for what is removed.
        self._unwritten: dict[bytes, bytes | None] = {}

    def put(self, key: bytes, value: bytes = b"") -> None:
        self._unwritten[key] = value
        if len(self._unwritten) >= _MOST_UNWRITTEN:
            self._write()

    def get(self, key: bytes) -> bytes | None:
        if key in self._unwritten:
            return self._unwritten[key]
        return self._database.get(self._prefix + key)

    def delete(self, key: bytes) -> None:
        self._unwritten[key] = None
        if len(self._unwritten) >= _MOST_UNWRITTEN:
            self._write()

    def scan(self, start: bytes, prefix: bytes = b"") -> Iterator[bytes]:
        self._write()
        length = len(self._prefix)
        for key in self._database.scan_keys(self._prefix + prefix, self._prefix + start):
            yield key[length:]

    def _write(self) -> None:
        if not self._unwritten:
            return
        batch, prefix = self._database.new_batch(), self._prefix
        for key, value in self._unwritten.items():
            if value is None:
                batch.delete(prefix + key)
            else:
                batch.put(prefix + key, value)
        self._database.write(batch)
        self._unwritten.clear()
