"""Reads reports where the classes of the job may not be known: nothing is imported that is not penstock's or plain."""

from __future__ import annotations

import builtins
import dataclasses
import io
import pickle
from collections.abc import Iterable
from enum import Enum
from typing import Any, Final

from penstock.errors import JobFailedError
from penstock.executors.spark.hosted.reports import Report

_PLAIN: Final = {
    "builtins": {"bytearray", "complex", "frozenset", "set"},
    "collections": {"Counter", "OrderedDict", "defaultdict", "deque"},
    "datetime": {"date", "datetime", "time", "timedelta", "timezone"},
    "decimal": {"Decimal"},
    "penstock.errors": {"_rebuild"},
}
"""What does nothing but make values of their parts, by modules."""
_MADE_OF_PARTS: Final = (BaseException, Enum, tuple)


class Unknown(JobFailedError):
    """Stands for what is made of a class that is not known here: it can be raised, as that may be an error."""

    message = ""
    hint = None

    def __init__(self, *parts: Any, **_: Any) -> None:
        """Take whatever it was made with."""
        kind = type(self)
        said = ", ".join(map(str, parts))
        super().__init__(f"{kind.__module__}.{kind.__qualname__}{said and f': {said}'}")

    def __setstate__(self, state: Any) -> None:
        """Take whatever was set later."""

    def __setitem__(self, key: Any, value: Any) -> None:
        """Take an entry."""

    def append(self, item: Any) -> None:
        """Take an element."""

    def extend(self, items: Iterable[Any]) -> None:
        """Take elements."""


class _PlainUnpickler(pickle.Unpickler):
    """Makes what reports are made of, and puts an `Unknown` where anything else would be."""

    def find_class(self, module: str, name: str, /) -> Any:
        if (module, name) == ("builtins", "getattr"):
            return _member
        if name in _PLAIN.get(module, ()):
            return super().find_class(module, name)
        found = None
        if module == "builtins":
            found = getattr(builtins, name, None)
        elif module.partition(".")[0] == "penstock":
            found = super().find_class(module, name)
        return found if _is_made_of_parts(found) else _unknown(module, name)


def _member(found: Any, name: str) -> Any:
    """Return a member of an Enum, which early releases of Python 3.11 pickle as an attribute of its class."""
    is_enum = isinstance(found, type) and issubclass(found, Enum)
    return found[name] if is_enum else _unknown("builtins", "getattr")(found, name)


def _is_made_of_parts(found: Any) -> bool:
    if not isinstance(found, type):
        return False
    return dataclasses.is_dataclass(found) or issubclass(found, _MADE_OF_PARTS)


def _unknown(module: str, name: str) -> type[Unknown]:
    return type(name, (Unknown,), {"__module__": module, "__qualname__": name})


def plain_report(content: bytes) -> Report:
    """Return a report, without what the classes of the job are needed for.

    Args:
        content: What is in its file.
    """
    found: Report = plain(content)
    return found


def plain(content: bytes) -> Any:
    """Return what is in a pickle, without what is neither penstock's nor plain."""
    return _PlainUnpickler(io.BytesIO(content)).load()
