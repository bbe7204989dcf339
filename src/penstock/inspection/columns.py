"""Python values as Arrow columns."""

from __future__ import annotations

import dataclasses
import enum
import pickle
import uuid
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from penstock.common.types import Row, field_names_of
from penstock.inspection.opaque import Opaque
from penstock.runtime.keys.window_values import Window, attributes

_NO_ARROW_FORM: Final = (pa.ArrowException, ValueError, TypeError, OverflowError)


def columns_of(name: str, values: Sequence[Any]) -> dict[str, pa.Array]:
    """Return the columns that values make.

    Tuples, rows, windows and dataclasses become structs, members of an enum their names. Where Arrow has
    no one type for all values there are two columns: their texts, and in `<name>_pickled` their pickles. A
    column without values is of texts.

    Example:
        >>> columns_of("value", [("a", 1)])["value"].to_pylist()
        [{'f0': 'a', 'f1': 1}]
        >>> {name: str(column.type) for name, column in columns_of("value", [1, "a"]).items()}
        {'value': 'string', 'value_pickled': 'binary'}
    """
    try:
        column = pa.array([_plain(value) for value in values])
        # Arrow takes bytes among texts for texts, whatever they are.
        column.validate(full=True)
        # Spark can write no column without a type.
        return {name: column.cast(pa.string()) if pa.types.is_null(column.type) else column}
    except _NO_ARROW_FORM:
        texts = [repr(value).encode("utf-8", "replace").decode() for value in values]
        return {
            name: pa.array(texts, pa.string()),
            f"{name}_pickled": pa.array(map(_pickled, values), pa.binary()),
        }


def _plain(value: Any) -> Any:
    """Return what Arrow takes for a value."""
    if value is None or type(value) in {str, int, float, bool, bytes}:
        return value
    if isinstance(value, Opaque):
        return repr(value)
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, uuid.UUID):
        return str(value)
    fields = _fields(value)
    if fields is not None:
        return {name: _plain(field) for name, field in fields.items()}
    if isinstance(value, dict):
        return [{"key": _plain(key), "value": _plain(found)} for key, found in value.items()]
    if isinstance(value, list | set | frozenset):
        return [_plain(item) for item in value]
    return value


def _fields(value: Any) -> dict[str, Any] | None:
    """Return the fields of a value by their names; None if it has none."""
    if isinstance(value, Row):
        names = field_names_of(value) or _numbered(len(value))
        return dict(zip(names, value, strict=True))
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None) or _numbered(len(value))
        return dict(zip(names, value, strict=True))
    if isinstance(value, Window):
        return dict(attributes(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, dict) and value and all(type(key) is str for key in value):
        return value
    return None


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"f{index}" for index in range(count))


def _pickled(value: Any) -> bytes | None:
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
