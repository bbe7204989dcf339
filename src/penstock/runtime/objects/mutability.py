"""Which values can be changed, and how one is kept as it is now.

Operators work block by block, but what comes out has to be what one record after the other would give. A
value that nobody can change may wait in a list while the user's function is called again. Any other goes
on at once, or a copy of it waits, or it is kept pickled: whoever holds the object may change it later, and
whoever is handed a value that was kept gets one of its own.
"""

from __future__ import annotations

import copy
import copyreg
import datetime
import decimal
import enum
import fractions
import types
import uuid
import zoneinfo
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from penstock.common.types import Row, copy_of_row
from penstock.runtime.job_pickle import dumps, loads
from penstock.runtime.keys.list_key import ListKey
from penstock.runtime.objects.copying import Copier, Copies, RowCopier
from penstock.runtime.objects.frozen_dataclasses import contents_of
from penstock.runtime.objects.harmless import PLAIN_TYPES

IMMUTABLE_TYPES: Final[frozenset[type]] = frozenset(
    {int, float, str, bytes, bool, type(None), complex, datetime.datetime, datetime.date}
    | {datetime.time, datetime.timedelta, datetime.timezone, decimal.Decimal, fractions.Fraction}
    | {uuid.UUID, zoneinfo.ZoneInfo, range, type(...)}
)
"""Types of which no instance can be changed; for a first look, as `type(value) in IMMUTABLE_TYPES`."""

CONTAINERS: Final[frozenset[type]] = frozenset({dict, list, set, Row, bytearray})
"""Types of which each instance can be changed; for a first look, too."""

NO_PAIR: Final = (object(), object())
"""Stands for what is no pair, where the two values of pairs are looked at one by one: for nothing is asked as often."""

_are_of_immutable_types: Final = IMMUTABLE_TYPES.issuperset


def is_immutable(value: Any) -> bool:
    """Whether neither a value nor anything in it can be changed.

    Example:
        >>> is_immutable(("pen", 2)), is_immutable(("pen", [2]))
        (True, False)
    """
    kind: Any = type(value)
    if kind in IMMUTABLE_TYPES:
        return True
    if kind is tuple and _are_of_immutable_types(map(type, value)):
        return True
    if kind in CONTAINERS:
        return False
    contents = _contents_of(kind)
    return contents is not None and (contents is _nothing or _holds_immutables_only(value))


def _holds_immutables_only(value: Any) -> bool:
    """Whether nothing in a value that is a container can be changed.

    However deep it is, and however often it holds the same: each container is looked at once.
    """
    seen = {id(value): value}
    waiting = [value]
    while waiting:
        container = waiting.pop()
        kind: Any = type(container)
        contents = _contents_of(kind)
        if contents is None:
            return False
        try:
            for item in contents(container):
                if type(item) not in IMMUTABLE_TYPES and id(item) not in seen:
                    seen[id(item)] = item
                    waiting.append(item)
        except AttributeError:  # a field that is not set yet
            return False
    return True


def are_immutable(values: Iterable[Any]) -> bool:
    """Whether none of some values can be changed."""
    return all(type(value) in IMMUTABLE_TYPES or is_immutable(value) for value in values)


def all_immutable(values: Collection[Any]) -> bool:
    """As `are_immutable`, in a fifth of the time for many values of few types."""
    kinds = set(map(type, values))
    if kinds <= IMMUTABLE_TYPES:
        return True
    if all(issubclass(kind, tuple) and kind.__dictoffset__ == 0 for kind in kinds):
        columns = chain.from_iterable(map(tuple.__iter__, values))
        if _are_of_immutable_types(set(map(type, columns))):
            return True
    return are_immutable(values)


def copied(value: Any) -> Any:
    """Return a copy of a value that shares nothing that can be changed with it.

    What the value holds several times, the copy holds several times too.

    Raises:
        Exception: Whatever the value raises that can neither be pickled nor copied.

    Example:
        >>> basket = ["pen", ["red", "blue"]]
        >>> copied(basket) == basket, copied(basket)[1] is basket[1]
        (True, False)
    """
    if type(value) in IMMUTABLE_TYPES:
        return value
    found = _copy_of_object(value, {})
    if found is not None:
        return found
    try:
        return loads(dumps(value))
    except Exception:  # noqa: BLE001 - classes of functions, for instance, are copied, but not pickled
        return copy.deepcopy(value)


def copied_if_possible(value: Any) -> Any:
    """Return a copy as `copied` does; the value itself if it cannot be copied."""
    try:
        return copied(value)
    except Exception:  # noqa: BLE001 - a copy runs code of the value's class
        return value


def copied_if_plain(value: Any) -> Any:
    """Return a copy of a list, dict, set or tuple of plain values or of others like it; None for all else.

    What is plain, `penstock.runtime.objects.harmless` says.

    Example:
        >>> copied_if_plain({"all": [1, 2]}), copied_if_plain({"all": [1, 2j]})
        ({'all': [1, 2]}, None)
    """
    return _copy_of_plain(value, {})


class _ObjectCopier(RowCopier):
    """Copies as well what is an object of a class as most are, and shares what nobody can change."""

    def _copy_of_other(self, value: Any, copies: Copies) -> Any:
        kind: Any = type(value)
        if is_immutable(value):
            return value
        if not _is_all_in_attributes(kind):
            return None
        found = copies[id(value)] = object.__new__(kind)
        attributes = self.copy_of_dict(value.__dict__, copies)
        if attributes is None:
            return None
        found.__dict__.update(attributes)
        return found


_copy_of_plain: Final = Copier(PLAIN_TYPES).copy
_copy_of_container: Final = RowCopier(IMMUTABLE_TYPES).copy
_copy_of_object: Final = _ObjectCopier(IMMUTABLE_TYPES).copy


class Kept:
    """A value that could be changed, as it was when it was kept."""

    __slots__ = ("_copy", "_held")

    def __init__(self, value: Any) -> None:
        copies: Copies = {}
        self._held = _copy_of_container(value, copies)
        self._copy: Callable[[Any], Any] = (
            _copied_again if copies else _COPY.get(type(value), loads)
        )
        if self._held is None:
            self._copy, self._held = loads, dumps(value)

    @property
    def data(self) -> bytes:
        """The value, pickled."""
        return self._held if self._copy is loads else dumps(self._held)

    def value(self) -> Any:
        """Return the value, as an object that nobody else has."""
        return self._copy(self._held)

    def taken(self) -> Any:
        """Return the value, as an object that nobody else has; this one is not to be asked again."""
        return loads(self._held) if self._copy is loads else self._held


_COPY: Final[dict[type, Callable[[Any], Any]]] = {
    dict: dict.copy,
    list: list.copy,
    set: set.copy,
    Row: copy_of_row,
    bytearray: bytearray.copy,
}
"""What copies a container that holds nothing which can be changed."""


def _copied_again(value: Any) -> Any:
    return _copy_of_container(value, {})


def kept(value: Any) -> Any:
    """Return what to hold of a value: the value itself, or a `Kept` if it can be changed."""
    kind = type(value)
    # Nothing else is asked for as often as tuples.
    if (
        kind in IMMUTABLE_TYPES
        or (kind is tuple and _are_of_immutable_types(map(type, value)))
        or (kind not in CONTAINERS and is_immutable(value))
    ):
        return value
    return Kept(value)


def given(held: Any) -> Any:
    """Return the value of what `kept` returned, an object of the caller's own if it can be changed."""
    return held.value() if type(held) is Kept else held


def own(value: Any) -> Any:
    """Return a value, or a copy of it if it can be changed."""
    return given(kept(value))


@lru_cache(maxsize=4096)
def _contents_of(kind: Any) -> Callable[[Any], Iterable[Any]] | None:
    """Return what yields all that a value of a type could be changed in; None if it can be itself."""
    if issubclass(kind, type):
        return _nothing
    if _is_scalar(kind):
        return _attributes if kind.__dictoffset__ else _nothing
    if issubclass(kind, enum.Enum):
        return _nothing if all(map(_is_fixed_member, kind.__members__.values())) else _attributes
    if kind is types.BuiltinFunctionType:
        return _owner
    for base in (tuple, frozenset):
        if issubclass(kind, base) and _adds_nothing(kind, base):
            return base.__iter__
    if kind is ListKey:
        return list.__iter__
    return contents_of(kind)


def _is_fixed_member(member: enum.Enum) -> bool:
    """Whether no attribute of a member of an enumeration can be changed itself."""
    return are_immutable(_attributes(member))


def _attributes(value: Any) -> Iterable[Any]:
    attributes: dict[str, Any] = vars(value)
    return attributes.values()


def _owner(method: Any) -> tuple[Any, ...]:
    """Return what a built-in function is a method of."""
    owner = method.__self__
    return () if isinstance(owner, types.ModuleType) else (owner,)


def _adds_nothing(kind: type, base: type) -> bool:
    """Whether objects of a subclass have no attributes of their own."""
    return not kind.__dictoffset__ and kind.__basicsize__ == base.__basicsize__


class _Plain:
    """A class as most are."""


_PICKLING: Final = (
    *("__new__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"),
    *("__getnewargs__", "__getnewargs_ex__", "__getattribute__"),
)


@lru_cache(maxsize=4096)
def _is_all_in_attributes(kind: Any) -> bool:
    """Whether an object with the same attributes is a copy of one of a class, as pickle sees it."""
    return (
        kind.__basicsize__ == _Plain.__basicsize__
        and kind.__itemsize__ == 0
        and kind.__dictoffset__ == _Plain.__dictoffset__
        and kind.__weakrefoffset__ == _Plain.__weakrefoffset__
        and kind not in copyreg.dispatch_table
        and all(getattr(kind, name, None) is getattr(_Plain, name, None) for name in _PICKLING)
    )


def _nothing(_: Any) -> tuple[()]:
    return ()


def _is_scalar(kind: type) -> bool:
    """Whether a type is one of NumPy's scalars, or a time of pandas; neither is imported for that."""
    names = {f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__}
    if "numpy.generic" in names:
        has_attributes = kind.__dictoffset__ or any(
            "__slots__" in vars(base) for base in kind.__mro__
        )
        return not has_attributes and names.isdisjoint({"numpy.void", "numpy.object_"})
    return kind.__module__.startswith("pandas.") and kind.__name__ in {
        "NaTType",
        "Timedelta",
        "Timestamp",
    }
