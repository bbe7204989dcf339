"""State is read where the classes of the job cannot be imported: others stand in their place."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterable, Iterator
from enum import EnumType
from functools import cache, partial
from reprlib import recursive_repr
from typing import Any, Final, Self

from penstock.runtime.job_pickle import UNPICKLER, JobUnpickler, is_class_of_main, module_now

_PLAIN: Final = {
    "builtins": {
        "bytearray",
        "complex",
        "dict",
        "float",
        "frozenset",
        "int",
        "list",
        "range",
        "set",
        "str",
    },
    "collections": {"Counter", "OrderedDict", "defaultdict", "deque"},
    "datetime": {"date", "datetime", "time", "timedelta", "timezone"},
    "decimal": {"Decimal"},
    "fractions": {"Fraction"},
    "uuid": {"UUID"},
    "penstock.common.rows.data_frame_row": {"row_factory"},
    "penstock.common.time": {"Duration", "Instant", "Time"},
    "penstock.common.types": {"RowKind", "_row_of_kind", "row_of"},
    "penstock.runtime.windows.evictors": {"TimestampedValue"},
    "penstock.runtime.windows.triggers.trigger": {"TriggerResult"},
    "penstock.runtime.keys.window_values": {"CountWindow", "GlobalWindow.get", "TimeWindow"},
}
"""What does nothing but make values of their parts, by modules."""


class _StandIn(type):
    """What a class that cannot be imported is itself: it has whatever attributes that has."""

    def __getattr__(cls, name: str) -> Any:
        """Return what stands for a member: some Pythons pickle those of enums by their names."""
        if name.startswith("_"):
            raise AttributeError(name)
        return cls(name)


class Opaque(tuple[Any, ...], metaclass=_StandIn):  # noqa: SLOT001 - it has attributes
    """Stands for an object whose class cannot be imported.

    It is the tuple of what the object was made with. Attributes that were set later, elements and entries
    are kept to be shown.
    """

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        """Take whatever the true class was made with."""
        stand_in = super().__new__(cls, arguments)
        stand_in._named = dict(named)
        stand_in._items = []
        return stand_in

    _named: dict[str, Any]
    _items: list[Any]

    def __setstate__(self, state: Any) -> None:
        for part in state if isinstance(state, tuple) else (state,):
            if isinstance(part, dict):
                self._named.update(part)
            elif part is not None:
                self._items.append(part)

    def __reduce__(self) -> tuple[Any, ...]:
        kind = type(self)
        return _rebuilt, (kind.__module__, kind.__qualname__, tuple(self), self._named, self._items)

    def append(self, item: Any) -> None:
        """Take an element, if the true class is a list."""
        self._items.append(item)

    def extend(self, items: Iterable[Any]) -> None:
        """Take elements, if the true class is a list."""
        self._items.extend(items)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Take an entry, if the true class is a dictionary."""
        self._items.append((key, value))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other) and super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(repr(self))

    @recursive_repr()
    def __repr__(self) -> str:
        named = (f"{name}={value!r}" for name, value in self._named.items())
        return (
            f"{type(self).__qualname__}({', '.join([*map(repr, (*self, *self._items)), *named])})"
        )


@cache
def _stand_in(module: str, name: str) -> type[Opaque]:
    return type(name, (Opaque,), {"__module__": module, "__qualname__": name})


def _rebuilt(
    module: str, name: str, arguments: tuple[Any, ...], named: dict[str, Any], items: list[Any]
) -> Opaque:
    stand_in = _stand_in(module, name)(*arguments, **named)
    stand_in.extend(items)
    return stand_in


def is_opaque(value: Any) -> bool:
    """Return whether the class of a key, or of a part of it, cannot be imported."""
    if isinstance(value, Opaque):
        return True
    return isinstance(value, tuple | frozenset) and any(map(is_opaque, value))


class _TolerantUnpickler(JobUnpickler):
    """Puts an `Opaque` where a class cannot be imported."""

    def find_class(self, module: str, name: str, /) -> Any:
        try:
            return super().find_class(module, name)
        except (ImportError, AttributeError):
            return _stand_in(module, name)


class _PlainUnpickler(pickle.Unpickler):
    """Makes plain data and what penstock keeps, and puts an `Opaque` where any other class would be.

    So nothing is imported or called that a checkpoint names, whoever wrote it.
    """

    def find_class(self, module: str, name: str, /) -> Any:
        if is_class_of_main(module, name):
            return partial(_stand_in, "__main__")
        if (module, name) == ("builtins", "getattr"):
            return _member
        now = module_now(module)
        if name in _PLAIN.get(now, ()):
            return super().find_class(now, name)
        return _stand_in(module, name)


def _member(kind: Any, name: str) -> Any:
    """Return a member of an enum that is plain data, or what stands for any other attribute of anything.

    By its name is how Pythons before 3.11.4 pickle it.
    """
    if isinstance(kind, EnumType) and name in kind.__members__:
        return kind[name]
    if isinstance(kind, _StandIn):
        return kind(name)
    return _stand_in("builtins", "getattr")(kind, name)


@contextlib.contextmanager
def without_classes(*, import_classes: bool = True) -> Iterator[None]:
    """Let state be read whether or not its classes can be imported.

    Args:
        import_classes: Whether those that can be are, which can run any code that the state names.
    """
    token = UNPICKLER.set(_TolerantUnpickler if import_classes else _PlainUnpickler)
    try:
        yield
    finally:
        UNPICKLER.reset(token)
