"""Functions that change objects they gave out, or were given, in place and at every later call."""

from __future__ import annotations

import copy
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.common import Row


class Holder:
    """An object with attributes, as a user's class has them."""

    def __init__(self, content: Any) -> None:
        self.content = content


@dataclass(frozen=True)
class Parcel:
    """An object that is frozen, but for what is no field of it."""

    content: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "stamps", [])


ATOMS = frozenset({int, float, bool, str, bytes, type(None)})
"""What nothing can be changed in."""
CHANGEABLE = (list, bytearray, dict, Holder, np.ndarray, Row)


def text(value: Any) -> str:
    """Return all that a value holds."""
    if type(value) in ATOMS:
        return repr(value)
    if isinstance(value, Parcel):
        return f"Parcel({text(parts_of(value))})"
    if isinstance(value, Holder):
        return f"Holder({text(value.content)})"
    if isinstance(value, np.ndarray):
        return f"array({value.tolist()})"
    if isinstance(value, (list, tuple, Row)):
        return f"{type(value).__name__}({', '.join(map(text, value))})"
    if isinstance(value, dict):
        return f"dict({', '.join(f'{key!r}: {text(item)}' for key, item in value.items())})"
    return repr(value)


def parts_of(value: Any) -> list[Any]:
    """Return what a value holds."""
    if type(value) in (list, tuple):
        return list(value)
    if isinstance(value, Holder):
        return [value.content]
    if isinstance(value, Parcel):
        return list(vars(value).values())
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, Row) else []


def spoil(value: Any, but: frozenset[int] = frozenset()) -> None:
    """Change a value, and all in it, in place; but not the objects with these ids.

    However often that is done, it grows but once: what grows each time takes longer each time.
    """
    for part in parts_of(value):
        if type(part) not in ATOMS:
            spoil(part, but)
    if type(value) is tuple or id(value) in but:
        return
    if isinstance(value, list):
        _spoil_end(value)
    elif isinstance(value, bytearray):
        value.append(66)
    elif isinstance(value, dict):
        value["spoilt"] = value.get("spoilt", 0) + 1
    elif isinstance(value, Holder):
        content = value.content
        if not isinstance(content, CHANGEABLE) or id(content) in but:
            value.content = [content]
    elif isinstance(value, np.ndarray):
        value += 66
    elif isinstance(value, Row):
        value[0] = "spoilt"


def _spoil_end(value: list[Any]) -> None:
    if value and type(value[-1]) is int and value[-1] >= 66:
        value[-1] += 1
    else:
        value.append(66)


def ids_in(value: Any) -> frozenset[int]:
    """Return the ids of a value and of all in it that can be changed or holds what can be."""
    found: set[int] = set()
    _add_ids(value, found)
    return frozenset(found)


def _add_ids(value: Any, found: set[int]) -> None:
    found.add(id(value))
    for part in parts_of(value):
        if type(part) not in ATOMS:
            _add_ids(part, found)


class Spoiling:
    """Remembers the objects it was given and gave out, and changes the last of them at each call."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def remember(self, value: Any) -> Any:
        self.seen.append(value)
        return value

    def spoil_all(self, but: Any = None) -> None:
        """Change what is remembered, but nothing that is in a value that has only come."""
        for value in self.seen[-4:]:
            spoil(value, ids_in(but))


class Identity(Spoiling):
    """Gives out what it is given."""

    def __call__(self, value: Any) -> Iterator[Any]:
        self.spoil_all(but=value)
        yield self.remember(value)


class Buffer(Spoiling):
    """Gives out one and the same list again and again, also for one record."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer: list[Any] = []

    def __call__(self, value: Any) -> Iterator[Any]:
        now = text(value)
        self.spoil_all()
        for number in range(2):
            self.buffer[:] = [now, number, [number]]
            yield self.buffer


class Inside(Spoiling):
    """Gives out tuples, dicts and objects around what it still has."""

    def __init__(self) -> None:
        super().__init__()
        self.shared: list[Any] = []

    def __call__(self, value: Any) -> Iterator[Any]:
        now = copy.deepcopy(value)
        self.spoil_all()
        self.shared[:] = [len(text(now))]
        yield (text(now), self.shared)
        self.shared.append(1)
        yield {"now": self.remember(now), "shared": self.shared}
        self.shared.append(2)
        yield Holder(self.shared)


class Plain(Spoiling):
    """Gives out what nobody can change, and now and then what can be."""

    def __call__(self, value: Any) -> Iterator[Any]:
        now = text(value)
        self.spoil_all(but=value)
        self.remember(value)
        yield now
        if zlib.crc32(now.encode()) % 3 == 0:
            yield self.remember(bytearray(now.encode()))
        yield now, len(now)


class Fresh(Spoiling):
    """Gives out what it has just made, and keeps some of it, or of what is in it."""

    def __call__(self, value: Any) -> Iterator[Any]:
        now = text(value)
        self.spoil_all(but=value)
        yield {"now": now, "all": [[now], {"length": len(now)}, (now, [1])]}
        yield {"now": now, "all": [self.remember([now]), [1]]}
        if zlib.crc32(now.encode()) % 3 == 0:
            yield self.remember([now, {1}])
        yield [now, (1, self.remember({"now": now}))]
        yield [now, (1, {"now": now})]


class InPlace(Spoiling):
    """Changes what it is given and gives it out again, or a new dict around it."""

    def __call__(self, value: Any) -> Iterator[Any]:
        self.spoil_all(but=value)
        if zlib.crc32(text(value).encode()) % 3 == 0:
            self.remember(value)
        spoil(value)
        yield value if zlib.crc32(text(value).encode()) % 2 else {"value": value}


FUNCTIONS: list[type[Spoiling]] = [Identity, Buffer, Inside, Plain, Fresh, InPlace]
