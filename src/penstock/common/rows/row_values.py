"""The values of a record in the order of columns, whatever kind of record it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.types import Row, field_names_of
from penstock.errors import TypeMismatchError

__all__ = ["row_fields", "row_values"]


def row_values(row: Any, names: Sequence[str]) -> tuple[Any, ...]:
    """Return the values of a record in the order of columns.

    Args:
        row: A dict or a row with names is taken by name; a tuple, a list or a row without names by
            position; any other value is the value of an only column.
        names: The names of the columns.

    Raises:
        KeyError: If a field is missing.
        ValueError: If a row with names has more fields than there are columns, or fewer. Of other
            records the caller counts the values.

    Example:
        >>> row_values({"name": "a", "id": 1}, ["id", "name"])
        (1, 'a')
    """
    if isinstance(row, dict):
        return tuple(row[name] for name in names)
    if isinstance(row, Row):
        own = field_names_of(row)
        if own is None:
            return tuple(row)
        if len(own) != len(names):
            raise ValueError(f"{row!r} has {len(own)} fields, not {len(names)}.")
        return tuple(row[name] for name in names)
    if isinstance(row, (tuple, list)):
        return tuple(row)
    return (row,)


def row_fields(row: Any, names: Sequence[str]) -> Sequence[Any]:
    """Return the fields of a record that is written as a row with these names.

    Args:
        row: A dict is taken by name, and what it lacks is None; a row by name if it has all the names, else, as a
            tuple or a list, by position; any other value is the value of an only field.
        names: The names of the fields.

    Raises:
        TypeMismatchError: If it has another number of fields.

    Example:
        >>> row_fields({"name": "a"}, ["id", "name"]), row_fields(Row(f0=1, f1="a"), ["id", "name"])
        ([None, 'a'], (1, 'a'))
    """
    if isinstance(row, dict):
        return [row.get(name) for name in names]
    if isinstance(row, Row):
        own = field_names_of(row)
        if own is not None and own != tuple(names) and set(names) <= set(own):
            return [row[name] for name in names]
        row = tuple(row)
    fields = row if isinstance(row, (tuple, list)) else (row,)
    if len(fields) != len(names):
        raise TypeMismatchError(
            f"{row!r} is no row with the fields {', '.join(names)}.",
            hint="Let the stream before have rows, tuples or dicts with these fields.",
        )
    return fields
