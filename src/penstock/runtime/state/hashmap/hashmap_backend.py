"""Keyed state in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from penstock.runtime.keys.key_groups import GroupIndex, key_group
from penstock.runtime.keys.key_types import VOID_NAMESPACE
from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.state.hashmap.hashmap_tables import (
    HashMapLists,
    HashMapMaps,
    HashMapTable,
    HashMapValues,
)
from penstock.runtime.state.tables import Shape, TablePart, parts_of, shape_of
from penstock.runtime.state.ttl_views import TtlTable
from penstock.runtime.timers.heap_priority_queue_set import HeapPriorityQueueSet

_KEYS_A_STEP: Final = 8192
"""How many keys an epoch looks at, about 6 ms, until it is known which belong to which key group."""
_TABLES: Final[Mapping[Shape, type[HashMapTable]]] = {
    Shape.VALUE: HashMapValues,
    Shape.LIST: HashMapLists,
    Shape.MAP: HashMapMaps,
}


class HashMapKeyedStateBackend(KeyedStateBackend):
    """Keeps state in dictionaries: fast, and no larger than memory.

    A value that nobody can change is the object itself, and pickled when the epoch ends. Any other is
    pickled at once.
    """

    is_in_memory = True

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._tables: dict[str, HashMapTable] = {}
        self._round: str | None = None
        # The keys in each table and namespace that were there as the round began, by key group.
        self._index: GroupIndex[tuple[HashMapTable, Any], Any] | None = None

    def _follow_tracking(self) -> None:
        for table in self._tables.values():
            table.tracks_changes = self._tracks_changes

    def _new_table(self, name: str, kind: str) -> HashMapTable:
        table = self._tables[name] = _TABLES[shape_of(kind)](self.operator, name, kind)
        table.tracks_changes = self._tracks_changes
        return table

    def mark_changed(self, name: str, keys: list[Any]) -> None:
        table = self._tables[name]
        assert isinstance(table, HashMapValues)
        table.mark(VOID_NAMESPACE, keys)

    def _begin_cleaning(self, table: TtlTable) -> None:
        clean_up = table.clean_when_used()
        if clean_up is not None:
            self._for_every_record.append(clean_up)

    def _make_queue(self, name: str) -> HeapPriorityQueueSet:
        return HeapPriorityQueueSet(partial(key_group, max_parallelism=self.max_parallelism))

    def follow_round(self, began: str | None, *, hurries: bool) -> bool:
        if began != self._round:
            self._round = began
            self._index = None if began is None else self._new_index()
            for queue in self._queues.values():
                queue.begin_index(begins=began is not None)
        if self._index is None:
            return False
        count = None if hurries else _KEYS_A_STEP
        are_ready = [queue.advance_index(count) for queue in self._queues.values()]
        return self._index.advance(count) and all(are_ready)

    def _new_index(self) -> GroupIndex[tuple[HashMapTable, Any], Any]:
        keys = [
            ((table, namespace), table.findable_keys(namespace))
            for table in self._tables.values()
            for namespace in table.namespaces()
        ]
        return GroupIndex(keys, partial(key_group, max_parallelism=self.max_parallelism))

    def _parts_in(self, key_groups: range) -> Iterator[TablePart]:
        assert self._index is not None
        for group in key_groups:
            for (table, namespace), keys in self._index.of(group):
                yield from parts_of(table, table.replacements(namespace, keys))

    def entry_count(self) -> int:
        tables = sum(table.entry_count() for table in self._tables.values())
        return tables + sum(queue.size() for queue in self._queues.values())

    def clear(self) -> None:
        for table in self._tables.values():
            table.clear()
        for queue in self._queues.values():
            queue.clear()
        self._round = self._index = None
        self._rebind()

    def close(self) -> None:
        self._tables.clear()
        self._queues.clear()
