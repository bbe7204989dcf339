"""Lists in RocksDB: a row for each run of elements that was written at once."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from penstock.runtime.job_pickle import dumps
from penstock.runtime.state.frames import pickle_value, read_pickles
from penstock.runtime.state.rocksdb.rocksdb_rows import (
    Address,
    RocksRows,
    address_of,
    row_value,
    value_of,
)
from penstock.runtime.state.rocksdb.rocksdb_tables import ENTRY_SIZE, RocksTable
from penstock.runtime.state.tables import ABSENT, Change, TablePart

if TYPE_CHECKING:
    from rocksdict import WriteBatch

_CHUNK: Final = struct.Struct(">Q").pack
_REPLACED: Final = b"0"
_EXTENDED: Final = b"1"


class RocksLists(RocksTable):
    """One list a key: a row for each run of elements that was written at once, in their order."""

    def __init__(self, rows: RocksRows, number: int, operator: str, name: str, kind: str) -> None:
        super().__init__(rows, number, operator, name, kind)
        self._removed: set[Address] = set()
        self._added: dict[Address, list[bytes]] = {}
        self._next_chunk = self._first_new_chunk = 0

    def view(self, namespace: Any) -> _Lists:
        return _Lists(self, namespace)

    def read(self, address: Address) -> list[Any]:
        """Return the elements at an address."""
        written = b"" if address in self._removed else b"".join(self._chunks(address, 0))
        return list(read_pickles(written + b"".join(self._added.get(address, ()))))

    def extend(self, address: Address, values: Iterable[Any]) -> None:
        """Add elements at an address."""
        operator, name, key = self.operator, self.name, address[1]
        pickled = [pickle_value(value, operator, name, key) for value in values]
        if pickled:
            self._added.setdefault(address, []).extend(pickled)
            self._database.note_cached(ENTRY_SIZE + sum(map(len, pickled)))

    def remove(self, address: Address) -> None:
        """Remove all elements at an address."""
        self._added.pop(address, None)
        self._removed.add(address)

    def write(self, batch: WriteBatch, *, notes_changes: bool) -> None:
        self._require_findable(self._removed)
        self._require_findable(self._added)
        note = self._rows.note_change
        for address in self._removed:
            key = self._row_key(address)
            for chunk, _ in self._database.scan(key):
                batch.delete(chunk)
            if notes_changes:
                note(batch, self.number, key + _REPLACED, address)
        for address, pickled in self._added.items():
            key = self._row_key(address)
            self._put_chunk(batch, address, key, b"".join(pickled))
            if notes_changes:
                note(batch, self.number, key + _EXTENDED, address)
        self._removed.clear()
        self._added.clear()

    def _put_chunk(self, batch: WriteBatch, address: Address, key: bytes, elements: bytes) -> None:
        batch.put(key + _CHUNK(self._next_chunk), row_value(address, elements))
        self._next_chunk += 1

    def _chunks(self, address: Address, first: int) -> Iterator[bytes]:
        key = self._row_key(address)
        for _, row in self._database.scan(key, key + _CHUNK(first)):
            yield value_of(row)

    def clear_cache(self) -> None:
        """Do nothing: what was written is not cached."""

    def forget_changes(self) -> None:
        batch = self._database.new_batch()
        self.write(batch, notes_changes=False)
        self._database.write(batch)
        self._first_new_chunk = self._next_chunk

    def _cached_changes(self) -> Iterator[Change]:
        self._require_findable(self._removed)
        self._require_findable(self._added)
        for namespace, key in self._removed:
            yield (namespace, key, True, ABSENT)
        for (namespace, key), pickled in self._added.items():
            yield (namespace, key, False, b"".join(pickled))

    def _noted(self, note: bytes, address: Address) -> Iterator[Change]:
        namespace, key = address
        if note.endswith(_REPLACED):
            yield (namespace, key, True, ABSENT)
        else:
            for elements in self._chunks(address, self._first_new_chunk):
                yield (namespace, key, False, elements)

    def replacements(self, rows: Iterable[bytes]) -> Iterator[Change]:
        for (namespace, key), of_key in itertools.groupby(rows, address_of):
            yield (namespace, key, True, ABSENT)
            yield from map(self.change_of, of_key)

    def _write_part(self, part: TablePart, batch: WriteBatch) -> None:
        for key in part.removed:
            for chunk, _ in self._database.scan(self._row_key((part.namespace, key))):
                batch.delete(chunk)
        for key, elements in zip(part.keys, part.values, strict=True):
            address = (part.namespace, key)
            pickled = (
                elements if part.are_pickled else b"".join(dumps(element) for element in elements)
            )
            self._put_chunk(batch, address, self._row_key(address), pickled)
        self._first_new_chunk = self._next_chunk

    def contents(self) -> Iterator[tuple[Any, Any, Any]]:
        self._rows.write_caches()
        rows = (row for _, row in self._rows.of(self.number))
        for (namespace, key), of_key in itertools.groupby(rows, address_of):
            yield namespace, key, list(read_pickles(b"".join(map(value_of, of_key))))


class _Lists:
    """A view of lists in RocksDB."""

    def __init__(self, table: RocksLists, namespace: Any) -> None:
        self._table = table
        self._namespace = namespace

    def get(self, key: Any) -> list[Any]:
        return self._table.read((self._namespace, key))

    def extend(self, key: Any, values: Iterable[Any]) -> None:
        self._table.extend((self._namespace, key), values)

    def remove(self, key: Any) -> None:
        self._table.remove((self._namespace, key))
