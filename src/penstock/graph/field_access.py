"""Recognizes functions that do no more than read a field of a record."""

from __future__ import annotations

import dis
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from penstock.common.rows.field_reader import FieldReader
from penstock.common.types import Row

_READING: Final = frozenset(
    {
        "BINARY_OP",
        "BINARY_SUBSCR",
        "CACHE",
        "LOAD_ATTR",
        "LOAD_CONST",
        "LOAD_FAST",
        "LOAD_FAST_BORROW",
        "LOAD_SMALL_INT",
        "NOP",
        "PRECALL",
        "RESUME",
        "RETURN_VALUE",
    }
)
"""What reading a field is made of: nothing here calls, jumps or looks at anything but the record."""


def accessed_field(function: Any, arguments: int) -> int | str | None:
    """Return the position or name of the field that a function of a record reads; None if it does more.

    Of a user's function only the code is looked at; it runs on a stand-in for a record, if it can do
    nothing but read from it.

    Args:
        function: The function.
        arguments: With how many arguments it is called; the first is the record.

    Example:
        >>> accessed_field(lambda row: row.word, 1), accessed_field(lambda row: row[0] + 1, 1)
        ('word', None)
    """
    if isinstance(function, FieldReader):
        return function.field
    if type(function) in (operator.itemgetter, operator.attrgetter) and arguments == 1:
        field = _only(function.__reduce__()[1])
        return field if type(function) is operator.itemgetter else _attribute(field)
    if type(function) is FunctionType and _only_reads(function, arguments):
        return _read_by(function, arguments)
    return None


def _only(fields: tuple[Any, ...]) -> int | str | None:
    return fields[0] if len(fields) == 1 and type(fields[0]) in (int, str) else None


def _attribute(name: Any) -> str | None:
    """Return the name, if the attribute of a row by that name is its field."""
    is_field = isinstance(name, str) and name.isidentifier()
    return name if is_field and not name.startswith("_") and not hasattr(Row, name) else None


def _only_reads(function: FunctionType, arguments: int) -> bool:
    """Whether a function only reads what it is given; what is merely harmless may call and loop."""
    code = function.__code__
    return (
        code.co_argcount == arguments
        and not code.co_kwonlyargcount
        and not code.co_freevars
        and not code.co_cellvars
        and all(step.opname in _READING for step in dis.get_instructions(code))
    )


def _read_by(function: Callable[..., Any], arguments: int) -> int | str | None:
    record = _StandIn()
    try:
        found = function(record, *[None] * (arguments - 1))
    except Exception:  # noqa: BLE001 - whatever it is, the function does more than read a field
        return None
    if found is not _FOUND or len(record.reads) != 1:
        return None
    ((is_attribute, field),) = record.reads
    return _attribute(field) if is_attribute else _only((field,))


class _StandIn:
    """Stands for a record, and notes what is read from it."""

    def __init__(self) -> None:
        self.reads: list[tuple[bool, Any]] = []

    def __getitem__(self, item: Any) -> object:
        self.reads.append((False, item))
        return _FOUND

    def __getattr__(self, name: str) -> object:
        self.reads.append((True, name))
        return _FOUND


_FOUND: Final = object()
