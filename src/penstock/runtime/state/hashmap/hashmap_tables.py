"""Tables in memory: dictionaries, and which of their keys changed.

What is in them is held as `penstock.runtime.objects.mutability` says: what nobody can change as it is, all else
pickled, so that it stays what it was when it was put there.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

from penstock.runtime.keys.key_types import VOID_NAMESPACE, is_same_namespace, stable_hash
from penstock.runtime.objects.mutability import (
    IMMUTABLE_TYPES,
    Kept,
    all_immutable,
    given,
    kept,
    own,
)
from penstock.runtime.state.frames import read_pickles
from penstock.runtime.state.tables import (
    ABSENT,
    Change,
    Keep,
    MapView,
    StateTable,
    TablePart,
    ValueView,
    ignore,
)

_RUN: Final = 1024
_NO_MAP: Final[dict[Any, Any]] = {}


class HashMapTable(StateTable):
    """A table in memory: for each namespace a dictionary.

    Attributes:
        tracks_changes: Whether changes are noted.
    """

    are_pickled = False

    def __init__(self, operator: str, name: str, kind: str) -> None:
        super().__init__(operator, name, kind)
        self.tracks_changes = True
        self._namespaces: dict[Any, dict[Any, Any]] = {}
        self._changed: dict[Any, Any] = {}

    def release(self, namespace: Any) -> None:
        if self._namespaces.get(namespace, ABSENT):
            return
        if not is_same_namespace(namespace, self._entered):
            del self._namespaces[namespace]

    def entry_count(self) -> int:
        """Return how many keys there are, in all namespaces."""
        return sum(map(len, self._namespaces.values()))

    def clear(self) -> None:
        """Remove everything, without noting it."""
        for entries in self._namespaces.values():
            entries.clear()
        # Who has a view of one of these may still use it.
        self._namespaces = {
            namespace: entries
            for namespace, entries in self._namespaces.items()
            if namespace is VOID_NAMESPACE or is_same_namespace(namespace, self._entered)
        }
        self._changed = {}

    def forget_changes(self) -> None:
        self._changed = {}

    def changes(self) -> Iterator[Change]:
        return chain.from_iterable(
            self._changes_in(namespace, self._namespaces.get(namespace, {}), changed)
            for namespace, changed in self._changed.items()
        )

    def everything(self) -> Iterator[Change]:
        return chain.from_iterable(
            self._everything_in(namespace, entries, replaces=False)
            for namespace, entries in self._namespaces.items()
        )

    def namespaces(self) -> list[Any]:
        return list(self._namespaces)

    def findable_keys(self, namespace: Any) -> list[Any]:
        """Return the keys in a namespace.

        Raises:
            MutatedKeyError: If one was changed since state was kept under it.
        """
        keys = list(self._namespaces[namespace])
        self._require_findable(self._namespaces[namespace])
        return keys

    def replacements(self, namespace: Any, keys: list[Any]) -> Iterator[Change]:
        """Yield all there is under some keys of a namespace, in the place of what was."""
        entries = self._namespaces.get(namespace, {})
        found = {key: entries[key] for key in keys if key in entries}
        return self._everything_in(namespace, found, replaces=True)

    @abstractmethod
    def _changes_in(self, namespace: Any, entries: Any, changed: Any) -> Iterator[Change]:
        """Yield what changed in a namespace."""

    @abstractmethod
    def _everything_in(self, namespace: Any, entries: Any, *, replaces: bool) -> Iterator[Change]:
        """Yield entries of a namespace; where `replaces`, so that they can be applied over others."""

    def some_keys(self, after: Any, count: int) -> tuple[list[tuple[Any, Any]], Any]:
        if after is None:
            after = [
                (namespace, key)
                for namespace, entries in self._namespaces.items()
                for key in entries
            ]
        found = after[-count:]
        del after[-count:]
        return found, after or None

    def contents(self) -> Iterator[tuple[Any, Any, Any]]:
        for namespace, entries in self._namespaces.items():
            for key, held in entries.items():
                yield namespace, key, self._value_of(held)

    @abstractmethod
    def _value_of(self, held: Any) -> Any:
        """Return what is held under a key as an object of the caller's own."""


class HashMapValues(HashMapTable):
    """One value a key."""

    def view(self, namespace: Any) -> ValueView:
        entries = self._namespaces.setdefault(namespace, {})
        if not self.tracks_changes:
            return ValueView(entries, ignore, self.hold)
        return ValueView(entries, self._changed.setdefault(namespace, set()).add, self.hold)

    def mark(self, namespace: Any, keys: Iterable[Any]) -> None:
        """Note that the values of these keys changed."""
        if self.tracks_changes:
            self._changed.setdefault(namespace, set()).update(keys)

    def apply(self, part: TablePart) -> None:
        entries = self._namespaces.setdefault(part.namespace, {})
        for key in part.removed:
            entries.pop(key, None)
        entries.update(zip(part.keys, map(kept, _values(part)), strict=True))
        self.release(part.namespace)

    def _value_of(self, held: Any) -> Any:
        return given(held)

    def _changes_in(
        self, namespace: Any, entries: dict[Any, Any], changed: set[Any]
    ) -> Iterator[Change]:
        self._require_findable(changed)
        for key in changed:
            value = given(entries.get(key, ABSENT))
            yield (namespace, key, value is ABSENT, value)

    def _everything_in(
        self, namespace: Any, entries: dict[Any, Any], *, replaces: bool
    ) -> Iterator[Change]:
        self._require_findable(entries)
        for key, held in entries.items():
            yield (namespace, key, False, given(held))


class HashMapLists(HashMapTable):
    """One list a key.

    A changed key is noted with how many elements its list had before, so that only the others have to
    be written; 0 if the list is another one.
    """

    def view(self, namespace: Any) -> _Lists:
        entries = self._namespaces.setdefault(namespace, {})
        changed = self._changed.setdefault(namespace, {}) if self.tracks_changes else None
        return _Lists(entries, changed, self.hold)

    def apply(self, part: TablePart) -> None:
        entries = self._namespaces.setdefault(part.namespace, {})
        for key in part.removed:
            entries.pop(key, None)
        for key, elements in zip(part.keys, part.values, strict=True):
            found = read_pickles(elements) if part.are_pickled else elements
            entries.setdefault(key, []).extend(map(kept, found))
        self.release(part.namespace)

    def _value_of(self, held: list[Any]) -> list[Any]:
        return list(map(given, held))

    def _changes_in(
        self, namespace: Any, entries: dict[Any, list[Any]], changed: dict[Any, int]
    ) -> Iterator[Change]:
        self._require_findable(changed)
        for key, known in changed.items():
            if known == 0:
                yield (namespace, key, True, ABSENT)
            yield from _runs(namespace, key, entries.get(key, [])[known:])

    def _everything_in(
        self, namespace: Any, entries: dict[Any, list[Any]], *, replaces: bool
    ) -> Iterator[Change]:
        self._require_findable(entries)
        for key, elements in entries.items():
            if replaces:
                yield (namespace, key, True, ABSENT)
            yield from _runs(namespace, key, elements)


def _runs(namespace: Any, key: Any, elements: list[Any]) -> Iterator[Change]:
    for start in range(0, len(elements), _RUN):
        yield (namespace, key, False, list(map(given, elements[start : start + _RUN])))


class _Lists:
    """A view of lists in memory."""

    def __init__(
        self,
        entries: dict[Any, list[Any]],
        changed: dict[Any, int] | None,
        hold: Keep,
    ) -> None:
        self._entries = entries
        self._changed = changed
        self._hold = hold

    def get(self, key: Any) -> list[Any]:
        elements = self._entries.get(key, ())
        return list(map(given, elements)) if Kept in set(map(type, elements)) else list(elements)

    def extend(self, key: Any, values: Collection[Any]) -> None:
        if not values:
            return
        # Many are looked at together, one alone in the time of a call.
        if len(values) > 1:
            are_held = all_immutable(values)
        else:
            are_held = type(next(iter(values))) in IMMUTABLE_TYPES
        if not are_held:
            values = [self._hold(value, key) for value in values]
        elements = self._entries.get(key)
        if elements is None:
            elements = self._entries[key] = []
        if self._changed is not None:
            self._changed.setdefault(key, len(elements))
        elements.extend(values)

    def remove(self, key: Any) -> None:
        if self._entries.pop(key, None) is not None and self._changed is not None:
            self._changed[key] = 0


class HashMapMaps(HashMapTable):
    """One map a key; changes are noted for pairs of the key and the key in the map."""

    def view(self, namespace: Any) -> _Maps:
        entries = self._namespaces.setdefault(namespace, {})
        if not self.tracks_changes:
            return _Maps(entries, ignore, self.hold)
        return _Maps(entries, self._changed.setdefault(namespace, set()).add, self.hold)

    def apply(self, part: TablePart) -> None:
        view = _Maps(self._namespaces.setdefault(part.namespace, {}), ignore, self.hold)
        for key, map_key in part.removed:
            view.remove(key, map_key)
        for (key, map_key), value in zip(part.keys, _values(part), strict=True):
            view.put(key, map_key, value)
        self.release(part.namespace)

    def _value_of(self, held: dict[Any, Any]) -> dict[Any, Any]:
        return {own(map_key): given(value) for map_key, value in held.items()}

    def _changes_in(
        self, namespace: Any, entries: dict[Any, dict[Any, Any]], changed: set[tuple[Any, Any]]
    ) -> Iterator[Change]:
        self._require_findable(changed)
        for pair in changed:
            value = given(entries.get(pair[0], {}).get(pair[1], ABSENT))
            yield (namespace, pair, value is ABSENT, value)

    def _everything_in(
        self, namespace: Any, entries: dict[Any, dict[Any, Any]], *, replaces: bool
    ) -> Iterator[Change]:
        self._require_findable(entries)
        for key, found in entries.items():
            self._require_findable(found)
            for map_key, held in found.items():
                yield (namespace, (key, map_key), False, given(held))


class _Maps(MapView):
    """A view of maps in memory."""

    def __init__(
        self,
        entries: dict[Any, dict[Any, Any]],
        mark: Callable[[tuple[Any, Any]], object],
        hold: Keep,
    ) -> None:
        self._entries = entries
        self._mark = mark
        self._hold = hold

    def get(self, key: Any, map_key: Any, default: Any) -> Any:
        found = self._entries.get(key)
        held = default if found is None else found.get(map_key, default)
        return held.value() if type(held) is Kept else held

    def put(self, key: Any, map_key: Any, value: Any) -> None:
        found = self._entries.get(key, _NO_MAP)
        try:
            is_known = map_key in found
        except TypeError:
            is_known = False
        if not is_known:
            stable_hash(map_key)  # refuses what cannot be a key
            found = self._entries.setdefault(key, {})
        if type(map_key) not in IMMUTABLE_TYPES:
            map_key = own(map_key)
        found[map_key] = value if type(value) in IMMUTABLE_TYPES else self._hold(value, key)
        self._mark((key, map_key))

    def remove(self, key: Any, map_key: Any) -> None:
        found = self._entries.get(key)
        if found is not None and map_key in found:
            del found[map_key]
            if not found:
                del self._entries[key]
            self._mark((key, own(map_key)))

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        return [(own(map_key), given(held)) for map_key, held in self._entries.get(key, {}).items()]

    def is_empty(self, key: Any) -> bool:
        return key not in self._entries

    def getter(self, map_key: Any) -> Callable[[Any, Any], Any]:
        maps = self._entries

        def get(key: Any, default: Any) -> Any:
            found = maps.get(key)
            return default if found is None else found.get(map_key, default)

        return get

    def put_each(self, map_key: Any, values: Mapping[Any, Any]) -> None:
        stable_hash(map_key)  # refuses what cannot be a key
        maps, mark = self._entries, self._mark
        for key, value in values.items():
            found = maps.get(key)
            if found is None:
                maps[key] = {map_key: value}
            else:
                found[map_key] = value
            mark((key, map_key))


def _values(part: TablePart) -> Iterable[Any]:
    return map(next, map(read_pickles, part.values)) if part.are_pickled else part.values
