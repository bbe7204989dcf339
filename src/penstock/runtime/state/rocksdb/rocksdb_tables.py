"""Tables in RocksDB, with a cache that is written when it is full.

Values are pickled when they are set, so that what is read is a copy, as it is in Flink; only numbers,
which nobody can change, are in the cache as they are. A row of
the database is the bytes of an address (the namespace, the key and more), and with its value stands
the address itself, which its bytes do not tell.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from penstock.runtime.job_pickle import dumps, loads
from penstock.runtime.keys.key_types import key_bytes
from penstock.runtime.objects.mutability import IMMUTABLE_TYPES, Kept, own
from penstock.runtime.state.frames import pickle_value
from penstock.runtime.state.rocksdb.rocksdb_rows import (
    Address,
    RocksRows,
    address_of,
    row_value,
    value_of,
)
from penstock.runtime.state.tables import (
    ABSENT,
    Change,
    MapView,
    StateTable,
    TablePart,
    ValueView,
    as_it_is,
    ignore,
)

if TYPE_CHECKING:
    from rocksdict import WriteBatch

ENTRY_SIZE: Final = 300
"""About how many bytes an entry takes in a cache beside its value."""

_MOST_UNWRITTEN: Final = 1 << 12
_WRITTEN_AT_A_TIME: Final = 1 << 11

_LARGE: Final = 1 << 63

Cached = bytes | float | bool | None
"""A value in a cache: pickled, or a number as it is; None for no value."""


def _key_of(address: Address) -> Any:
    """Return the key as frames have it: in maps it is a pair."""
    return address[1] if len(address) == 2 else address[1:]


class RocksTable(StateTable):
    """A table in RocksDB. Keys of what is in its cache are addresses.

    Args:
        rows: The rows of all tables of the backend.
        number: The number of the table among those.
        operator: The name of the operator, for messages.
        name: The name of the state.
        kind: The kind of the state.
    """

    are_pickled = True

    def __init__(self, rows: RocksRows, number: int, operator: str, name: str, kind: str) -> None:
        super().__init__(operator, name, kind)
        self._rows = rows
        self._database = rows.database
        self.number = number

    def _row_key(self, address: Address) -> bytes:
        namespace, key, *rest = address
        return b"".join((self._rows.prefix_of(key, self.number, namespace), *map(key_bytes, rest)))

    @abstractmethod
    def write(self, batch: WriteBatch, *, notes_changes: bool) -> None:
        """Write what the cache has not written yet.

        Args:
            batch: Takes the writes.
            notes_changes: Whether the database shall note which rows changed.
        """

    @abstractmethod
    def clear_cache(self) -> None:
        """Empty the cache, which has been written."""

    def changes(self) -> Iterator[Change]:
        if not self._rows.has_notes:
            return self._cached_changes()
        notes = self._rows.notes(self.number)
        return itertools.chain.from_iterable(self._noted(*note) for note in notes)

    @abstractmethod
    def _cached_changes(self) -> Iterator[Change]:
        """Yield the changes that are in the cache."""

    @abstractmethod
    def _noted(self, note: bytes, address: Address) -> Iterator[Change]:
        """Yield the changes that stand behind a note in the database."""

    def everything(self) -> Iterator[Change]:
        return (self.change_of(row) for _, row in self._rows.of(self.number))

    def apply(self, part: TablePart) -> None:
        batch = self._database.new_batch()
        self._write_part(part, batch)
        self._database.write(batch)

    @abstractmethod
    def _write_part(self, part: TablePart, batch: WriteBatch) -> None:
        """Let the batch write what changed, in the form of this kind of table."""

    def change_of(self, row: bytes) -> Change:
        """Return a row as a change that makes it."""
        address = address_of(row)
        return (address[0], _key_of(address), False, value_of(row))

    def replacements(self, rows: Iterable[bytes]) -> Iterator[Change]:
        """Yield rows as changes that make them, also where something else was there."""
        return map(self.change_of, rows)

    def some_keys(self, after: Any, count: int) -> tuple[list[tuple[Any, Any]], Any]:
        self._rows.write_caches()
        rows = list(itertools.islice(self._rows.of(self.number, after), count))
        keys = dict.fromkeys(address_of(row)[:2] for _, row in rows)
        return list(keys), rows[-1][0] + b"\0" if len(rows) == count else None

    def _shown(self, key: Any) -> Any:
        return key[1:]


def _pickled(kept: Cached) -> bytes | None:
    if kept is None or type(kept) is bytes:
        return kept
    return dumps(kept)


def _size(kept: Cached) -> int:
    """Return how many bytes a value takes beside its entry, for which what is not there stands."""
    if type(kept) is bytes:
        return len(kept)
    return -ENTRY_SIZE if kept is None else 0


class RocksEntries(RocksTable):
    """Base of the tables that keep one value an address."""

    def __init__(self, rows: RocksRows, number: int, operator: str, name: str, kind: str) -> None:
        super().__init__(rows, number, operator, name, kind)
        self._cache: dict[Address, Cached] = {}
        self._changed: set[Address] = set()
        # What changed in earlier epochs, and is in the cache alone.
        self._unwritten: set[Address] = set()

    @property
    def cached(self) -> Callable[[Address], Cached]:
        """What returns what the cache has at an address; None if that is nothing."""
        return self._cache.get

    def read(self, address: Address, default: Any) -> Any:
        """Return the value at an address, or the default."""
        found = self._cache.get(address, ABSENT)
        if found is ABSENT:
            row = self._database.get(self._row_key(address))
            found = None if row is None else value_of(row)
            self._cache[address] = found
            self._database.note_cached(ENTRY_SIZE + (0 if found is None else len(found)))
        if found is None:
            return default
        return loads(found) if type(found) is bytes else found

    def set(self, address: Address, value: Any) -> None:
        """Set the value at an address."""
        kept: Cached
        kind = type(value)
        if kind is float or kind is bool or (kind is int and -_LARGE < value < _LARGE):
            kept = value
        elif kind is Kept:
            kept = value.data
        else:
            try:
                kept = dumps(value)
            except Exception:  # noqa: BLE001 - pickling runs code of the value's class
                kept = pickle_value(value, self.operator, self.name, address[1])
        before = self._cache.get(address)
        self._cache[address] = kept
        self._mark(address)
        if type(before) is bytes and type(kept) is bytes:
            if len(before) != len(kept):
                self._database.note_cached(len(kept) - len(before))
        elif before is None or type(before) is bytes or type(kept) is bytes:
            self._database.note_cached(_size(kept) - _size(before))

    def remove(self, address: Address) -> None:
        """Remove the value at an address."""
        self._cache[address] = None
        self._mark(address)

    def _mark(self, address: Address) -> None:
        self._changed.add(address)

    def write(self, batch: WriteBatch, *, notes_changes: bool) -> None:
        self._require_findable(self._changed)
        for address in self._changed | self._unwritten:
            key = self._row_key(address)
            self._put(batch, address, key)
            if notes_changes and address in self._changed:
                self._rows.note_change(batch, self.number, key, address)
        self._unwritten.clear()
        self._changed.clear()

    def forget_changes(self) -> None:
        count = max(_WRITTEN_AT_A_TIME, 2 * len(self._changed))
        self._unwritten |= self._changed
        self._changed.clear()
        if len(self._unwritten) > _MOST_UNWRITTEN:
            # So that no later epoch has to write very much at once.
            batch = self._database.new_batch()
            for _ in range(min(count, len(self._unwritten))):
                address = self._unwritten.pop()
                self._put(batch, address, self._row_key(address))
            self._database.write(batch)

    def _put(self, batch: WriteBatch, address: Address, key: bytes) -> None:
        value = _pickled(self._cache[address])
        if value is None:
            batch.delete(key)
        else:
            batch.put(key, row_value(address, value))

    def clear_cache(self) -> None:
        self._cache.clear()

    def _cached_changes(self) -> Iterator[Change]:
        self._require_findable(self._changed)
        for address in self._changed:
            value = _pickled(self._cache[address])
            change = ABSENT if value is None else value
            yield (address[0], _key_of(address), value is None, change)

    def _noted(self, note: bytes, address: Address) -> Iterator[Change]:
        row = self._database.get(self._row_key(address))
        if row is not None:
            yield self.change_of(row)
        else:
            yield (address[0], _key_of(address), True, ABSENT)

    def _write_part(self, part: TablePart, batch: WriteBatch) -> None:
        for key in part.removed:
            address = self._address(part.namespace, key)
            self._forget_cached(address)
            batch.delete(self._row_key(address))
        for key, value in zip(part.keys, part.values, strict=True):
            address = self._address(part.namespace, key)
            self._forget_cached(address)
            pickled = value if part.are_pickled else dumps(value)
            batch.put(self._row_key(address), row_value(address, pickled))

    def _forget_cached(self, address: Address) -> None:
        self._cache.pop(address, None)
        self._unwritten.discard(address)

    def _address(self, namespace: Any, key: Any) -> Address:
        return (namespace, key)


class RocksValues(RocksEntries):
    """One value a key."""

    def apply(self, part: TablePart) -> None:
        """Take over changes into the cache, which is written when it is full."""
        namespace, cache, size = part.namespace, self._cache, 0
        for key in part.removed:
            cache[namespace, key] = None
        for key, value in zip(part.keys, part.values, strict=True):
            pickled = value if part.are_pickled else dumps(value)
            cache[namespace, key] = pickled
            size += ENTRY_SIZE + len(pickled)
        self._unwritten.update((namespace, key) for key in (*part.removed, *part.keys))
        self._database.note_cached(size)

    def view(self, namespace: Any) -> ValueView:
        return ValueView(_Values(self, namespace), ignore, as_it_is)

    def values(self) -> Iterator[Any]:
        return (value for _, _, value in self.contents())

    def contents(self) -> Iterator[tuple[Any, Any, Any]]:
        self._rows.write_caches()
        for _, row in self._rows.of(self.number):
            namespace, key = address_of(row)
            yield namespace, key, loads(value_of(row))


class _Values:
    """A view of values in RocksDB."""

    def __init__(self, table: RocksValues, namespace: Any) -> None:
        self._read, self._set, self._remove = table.read, table.set, table.remove
        self._cached = table.cached
        self._namespace = namespace
        self.values = table.values

    def get(self, key: Any, default: Any = None, /) -> Any:
        address = (self._namespace, key)
        # Most are in the cache: a call less for them.
        found = self._cached(address)
        if found is None:
            return self._read(address, default)
        return loads(found) if type(found) is bytes else found

    def __setitem__(self, key: Any, value: Any, /) -> None:
        self._set((self._namespace, key), value)

    def pop(self, key: Any, default: Any, /) -> Any:
        address = (self._namespace, key)
        before = self._read(address, ABSENT)
        if before is ABSENT:
            return default
        self._remove(address)
        return before


class RocksMaps(RocksEntries):
    """One map a key: each of its entries is a row."""

    def __init__(self, rows: RocksRows, number: int, operator: str, name: str, kind: str) -> None:
        super().__init__(rows, number, operator, name, kind)
        self._unwritten_maps: dict[Address, set[Any]] = {}

    def view(self, namespace: Any) -> _Maps:
        return _Maps(self, namespace)

    def set(self, address: Address, value: Any) -> None:
        try:
            is_known = address in self._cache
        except TypeError:
            is_known = False
        if not is_known:
            key_bytes(address[2])  # refuses what cannot be a key
        if type(address[2]) not in IMMUTABLE_TYPES:
            address = (*address[:2], own(address[2]))
        super().set(address, value)

    def _mark(self, address: Address) -> None:
        super()._mark(address)
        self._unwritten_maps.setdefault(address[:2], set()).add(address[2])

    def _forget_cached(self, address: Address) -> None:
        super()._forget_cached(address)
        unwritten = self._unwritten_maps.get(address[:2])
        if unwritten is not None:
            unwritten.discard(address[2])

    def write(self, batch: WriteBatch, *, notes_changes: bool) -> None:
        super().write(batch, notes_changes=notes_changes)
        self._unwritten_maps.clear()

    def _put(self, batch: WriteBatch, address: Address, key: bytes) -> None:
        super()._put(batch, address, key)
        unwritten = self._unwritten_maps.get(address[:2])
        if unwritten is not None:
            unwritten.discard(address[2])
            if not unwritten:
                del self._unwritten_maps[address[:2]]

    def map_keys(self, namespace: Any, key: Any) -> Iterator[Any]:
        """Yield the keys of the map under a key."""
        unwritten = self._unwritten_maps.get((namespace, key), ())
        for map_key in unwritten:
            if self._cache[namespace, key, map_key] is not None:
                yield map_key
        for _, row in self._database.scan(self._row_key((namespace, key))):
            map_key = address_of(row)[2]
            if map_key not in unwritten:
                yield map_key

    def contents(self) -> Iterator[tuple[Any, Any, Any]]:
        self._rows.write_caches()
        rows = (row for _, row in self._rows.of(self.number))
        for (namespace, key), of_key in itertools.groupby(rows, lambda row: address_of(row)[:2]):
            yield (
                namespace,
                key,
                {address_of(row)[2]: loads(value_of(row)) for row in of_key},
            )

    def _address(self, namespace: Any, key: Any) -> Address:
        return (namespace, *key)


class _Maps(MapView):
    """A view of maps in RocksDB."""

    def __init__(self, table: RocksMaps, namespace: Any) -> None:
        self._table = table
        self._namespace = namespace

    def get(self, key: Any, map_key: Any, default: Any) -> Any:
        return self._table.read((self._namespace, key, map_key), default)

    def put(self, key: Any, map_key: Any, value: Any) -> None:
        self._table.set((self._namespace, key, map_key), value)

    def remove(self, key: Any, map_key: Any) -> None:
        self._table.remove((self._namespace, key, own(map_key)))

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        map_keys = list(self._table.map_keys(self._namespace, key))
        return [(own(map_key), self.get(key, map_key, None)) for map_key in map_keys]

    def is_empty(self, key: Any) -> bool:
        return next(self._table.map_keys(self._namespace, key), ABSENT) is ABSENT
