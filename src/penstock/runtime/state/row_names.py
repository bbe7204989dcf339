"""Rows among keys, and in which order their names are: told to the driver where that was another in an earlier version.

Rows are equal if their names are in the same order. Versions before sorted the names of rows made of keyword
arguments. So what a program kept under `Row(b=1, a=2)` is kept under the row (a, b), and is not found under the
row (b, a) that the same program makes now. Which of the two the old keys were made as, they do not say. But
what comes now does: names that are those of old keys in another order. No subtask sees all keys of an
operator, so subtasks tell what they have seen, and the driver refuses the epoch.

Nor did rows of a type that is declared without names have any, which are (f0, f1) now. Rows without names are noted
with empty ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from typing import Any

from penstock.checkpoint.epoch_record import RowNames
from penstock.common.types import Row, default_names, field_names_of
from penstock.runtime.objects.mutability import IMMUTABLE_TYPES
from penstock.runtime.state.frames import TimerPart
from penstock.runtime.state.tables import MapView, Shape, TablePart, shape_of
from penstock.runtime.timers.internal_timer import read_timers

Names = tuple[str, ...]


class RowsAmongKeys:
    """The names of rows among the keys of one operator in one subtask.

    Args:
        store: What the operator's state is kept in.

    Attributes:
        kept: Those of keys that state was read for.
        seen: Those of keys that were asked for, or that records came with.
    """

    def __init__(self, store: str) -> None:
        self._store = store
        self.kept: set[RowNames] = set()
        self.seen: set[RowNames] = set()

    def keep(self, part: TablePart | TimerPart) -> None:
        """Note the keys in a part of a state file."""
        if isinstance(part, TimerPart):
            timers = read_timers(part.frame) if part.frame else ()
            self._note(self.kept, "", [timer.key for timer, _ in timers])
        elif shape_of(part.kind) is Shape.MAP:
            self._note(self.kept, "", [key for key, _ in part.keys])
            self._note(self.kept, part.table, [map_key for _, map_key in part.keys])
        else:
            self._note(self.kept, "", part.keys)

    def see(self, keys: Collection[Any], state: str = "") -> None:
        """Note keys that records came with, or, of a state, keys in its maps."""
        self._note(self.seen, state, keys)

    def _note(self, found: set[RowNames], state: str, keys: Collection[Any]) -> None:
        if not IMMUTABLE_TYPES.issuperset(map(type, keys)):
            found.update(RowNames(self._store, state, names) for names in _names_in(keys))


def _names_in(keys: Iterable[Any]) -> Iterator[Names]:
    for key in keys:
        if type(key) in IMMUTABLE_TYPES:
            continue
        if isinstance(key, Row):
            names = field_names_of(key)
            if names is None:
                names = ("",) * len(key)
            if _may_be_another(names) and all(type(name) is str for name in names):
                yield names
        if isinstance(key, (Row, tuple, frozenset)):
            yield from _names_in(key)
        elif dataclasses.is_dataclass(key):
            yield from _names_in(
                getattr(key, field.name) for field in dataclasses.fields(key) if field.compare
            )


def _may_be_another(names: Names) -> bool:
    """Whether a row with such names may have had others, or none."""
    return len(names) > 1 or names in {("",), default_names(1)}


class SeenMaps(MapView):
    """Maps that note which keys are asked for.

    Args:
        view: The maps.
        rows: Where they are noted.
        state: The name of the state.
    """

    def __init__(self, view: MapView, rows: RowsAmongKeys, state: str) -> None:
        self._view = view
        self._rows = rows
        self._state = state

    def get(self, key: Any, map_key: Any, default: Any) -> Any:
        self._rows.see((map_key,), self._state)
        return self._view.get(key, map_key, default)

    def put(self, key: Any, map_key: Any, value: Any) -> None:
        self._rows.see((map_key,), self._state)
        self._view.put(key, map_key, value)

    def remove(self, key: Any, map_key: Any) -> None:
        self._rows.see((map_key,), self._state)
        self._view.remove(key, map_key)

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        return self._view.items(key)

    def is_empty(self, key: Any) -> bool:
        return self._view.is_empty(key)

    def put_each(self, map_key: Any, values: Mapping[Any, Any]) -> None:
        self._view.put_each(map_key, values)


def in_another_order(old: Set[RowNames], seen: Set[RowNames]) -> tuple[RowNames, RowNames] | None:
    """Return names that were seen and those of old keys which now come so; None if there are none.

    They are the same in another order, or none where (f0, f1) are seen.

    Args:
        old: The names of rows among the keys that state was kept under.
        seen: Those among keys that came since.
    """
    by_content = {(store, state, frozenset(names)): names for store, state, names in old}
    for found in sorted(seen - old):
        nameless = found._replace(names=("",) * len(found.names))
        if nameless in old and found.names == default_names(len(found.names)):
            return found, nameless
        known = by_content.get((found.store, found.state, frozenset(found.names)))
        if known is not None and len(known) == len(found.names):
            return found, found._replace(names=known)
    return None
