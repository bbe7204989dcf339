"""The values of a record in the order of columns, whatever kind of record it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.types import Row, field_names_of

__all__ = ["row_values"]


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
