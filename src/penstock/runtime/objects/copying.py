"""Copies of lists, dicts, sets and tuples, in a fraction of the time that pickling takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.common.types import Row, copy_of_row

_MOST_NESTED: Final = 100
"""How many values are copied one by one; pickle is faster for more, and knows how to go deep."""

_UNDER_WAY: Final = object()
"""Stands for the copy of a tuple that holds itself, which cannot be made before what it holds."""

Copies = dict[int, Any]
"""The copies so far of what is in a value, by the ids of what they are copies of.

It stays empty for a value that holds nothing which has to be copied.
"""


class Copier:
    """Copies lists, dicts, sets and tuples of values that may be shared, and of others like them.

    What a value holds several times, the copy holds several times too.

    Args:
        leaves: The types of values that may be shared.
    """

    def __init__(self, leaves: frozenset[type]) -> None:
        self._leaves = leaves
        self._kinds: dict[type, Callable[[Any, Copies], Any]] = {
            dict: self.copy_of_dict,
            list: self._copy_of_list,
            tuple: self._copy_of_tuple,
            set: self._copy_of_set,
        }

    def copy(self, value: Any, copies: Copies) -> Any:
        """Return a copy; None for all that this one does not know how to copy."""
        return self._kinds.get(type(value), self._copy_of_other)(value, copies)

    def copy_of_dict(self, value: dict[Any, Any], copies: Copies) -> Any:
        """Return a copy of a dict; None if this one does not know how to copy all that is in it."""
        leaves = self._leaves
        found = value.copy()
        for key, item in value.items():
            if type(key) not in leaves:
                return None
            if type(item) not in leaves:
                copies[id(value)] = found
                inner = self._copy_of_item(item, copies)
                if inner is None:
                    return None
                found[key] = inner
        return found

    def _copy_of_list(self, value: list[Any], copies: Copies) -> Any:
        leaves = self._leaves
        found = value.copy()
        if leaves.issuperset(map(type, value)):
            return found
        copies[id(value)] = found
        for place, item in enumerate(value):
            if type(item) not in leaves:
                inner = self._copy_of_item(item, copies)
                if inner is None:
                    return None
                found[place] = inner
        return found

    def _copy_of_tuple(self, value: tuple[Any, ...], copies: Copies) -> Any:
        leaves = self._leaves
        if leaves.issuperset(map(type, value)):
            return value
        copies[id(value)] = _UNDER_WAY
        found = []
        for item in value:
            inner = item if type(item) in leaves else self._copy_of_item(item, copies)
            if inner is None and item is not None:
                return None
            found.append(inner)
        return tuple(found)

    def _copy_of_set(self, value: set[Any], _: Copies) -> Any:
        return value.copy() if self._leaves.issuperset(map(type, value)) else None

    def _copy_of_other(self, value: Any, copies: Copies) -> Any:
        return None

    def _copy_of_item(self, item: Any, copies: Copies) -> Any:
        known = copies.get(id(item))
        if known is not None:
            return None if known is _UNDER_WAY else known
        if len(copies) >= _MOST_NESTED:
            return None
        found = self._kinds.get(type(item), self._copy_of_other)(item, copies)
        copies[id(item)] = found
        return found


class RowCopier(Copier):
    """Copies rows of values that may be shared, and byte arrays, as well."""

    def __init__(self, leaves: frozenset[type]) -> None:
        super().__init__(leaves)
        self._kinds |= {Row: self._copy_of_row, bytearray: lambda value, _: value.copy()}

    def _copy_of_row(self, value: Row, _: Copies) -> Any:
        return copy_of_row(value) if self._leaves.issuperset(map(type, value)) else None
