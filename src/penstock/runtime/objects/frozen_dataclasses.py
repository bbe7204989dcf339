"""Which frozen dataclasses make objects that nobody changes, and what is in one.

A frozen dataclass refuses that its fields are set. Its objects can hold more than these: what `__post_init__` set by
`object.__setattr__`, and what slots of its bases have. Some gain attributes later, which
`functools.cached_property` or a method of theirs sets: such are taken for objects as any other. That
nobody else sets attributes of a frozen object by `object.__setattr__` is what the class promises.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from itertools import chain
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Any, Final

_POINTER: Final = tuple.__itemsize__
"""The bytes that an object takes for what one slot refers to."""

_MAKING: Final = frozenset(
    {"__init__", "__post_init__", "__new__", "__setattr__", "__delattr__", "__setstate__"}
)
"""The methods that are called while an object is made, or raise."""

_SETTING: Final = frozenset({"__setattr__", "__delattr__", "__dict__", "vars"})
"""The names by which a method gets past what a frozen class refuses."""


def contents_of(kind: Any) -> Callable[[Any], Iterable[Any]] | None:
    """Return what yields all that an object of a frozen dataclass holds; None if the object itself can be changed.

    It raises an AttributeError for an object with a field or slot that is not set yet.
    """
    parameters = vars(kind).get("__dataclass_params__")
    slots = tuple(_slots_of(kind))
    if (
        parameters is None
        or not parameters.frozen
        or not _is_made_of_attributes(kind, len(slots))
        or kind.__getattribute__ is not object.__getattribute__
        or _gains_attributes(kind)
    ):
        return None
    if not slots:
        return _attributes_of(kind) if kind.__dictoffset__ else lambda _: ()
    in_slots = _values_of(slots)
    if not kind.__dictoffset__:
        return in_slots
    attributes = _attributes_of(kind)
    return lambda value: chain(in_slots(value), attributes(value))


def _attributes_of(kind: Any) -> Callable[[Any], Iterable[Any]]:
    needed = frozenset(field.name for field in fields(kind) if not hasattr(kind, field.name))

    def attributes(value: Any) -> Iterable[Any]:
        found: dict[str, Any] = value.__dict__
        if not needed.issubset(found):
            raise AttributeError
        return found.values()

    return attributes


def _values_of(slots: tuple[str, ...]) -> Callable[[Any], Iterable[Any]]:
    if len(slots) > 1:
        return attrgetter(*slots)
    name = slots[0]
    return lambda value: (getattr(value, name),)


def _slots_of(kind: type) -> Iterator[str]:
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in {"__dict__", "__weakref__"}:
                is_private = name.startswith("__") and not name.endswith("__")
                owner = base.__name__.lstrip("_")
                yield f"_{owner}{name}" if is_private and owner else name


def _is_made_of_attributes(kind: type, slots: int) -> bool:
    """Whether an object is no list, exception or the like besides."""
    places = slots + (kind.__dictoffset__ > 0) + (kind.__weakrefoffset__ > 0)
    size = object.__basicsize__ + places * _POINTER
    return kind.__itemsize__ == 0 and kind.__basicsize__ == size


def _gains_attributes(kind: type) -> bool:
    """Whether an object may have other attributes after it was made."""
    return any(
        name not in _MAKING and _may_set(member)
        for base in kind.__mro__
        if base is not object
        for name, member in vars(base).items()
    )


def _may_set(member: Any) -> bool:
    kind = type(member)
    if kind is property:
        return any(map(_may_set, (member.fget, member.fset, member.fdel)))
    if kind is functools._lru_cache_wrapper:  # noqa: SLF001 - it has no other name
        return _may_set(member.__wrapped__)
    if kind is FunctionType:
        wrapped = getattr(member, "__wrapped__", None)
        return _names_setting(member.__code__) or (wrapped is not None and _may_set(wrapped))
    if member is None or kind in _HARMLESS:
        return False
    # Whatever else is asked for an attribute may set one.
    return hasattr(kind, "__get__")


def _names_setting(code: CodeType) -> bool:
    return not _SETTING.isdisjoint(code.co_names) or any(
        _names_setting(constant) for constant in code.co_consts if isinstance(constant, CodeType)
    )


class _Slotted:
    __slots__ = ("slot",)


_HARMLESS: Final = frozenset(
    {staticmethod, classmethod, type(_Slotted.slot), type(type.__dict__["__dict__"])}  # type: ignore[attr-defined]
    | {type(object.__repr__), type(str.join), type(dict.__dict__["fromkeys"])}
)
"""What is in classes besides functions and properties: it knows nothing of one object, or sets no attribute."""
