"""Rows of Python values as Arrow tables."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from penstock.common.rows.row_values import row_values
from penstock.common.time import Instant
from penstock.errors import InvalidArgumentError
from penstock.runtime.user_code import record_text

if TYPE_CHECKING:
    import pyarrow as pa


def rows_to_table(rows: list[Any], schema: pa.Schema) -> pa.Table:
    """Build an Arrow table of a schema from rows.

    Args:
        rows: Rows, tuples, lists or dicts; or plain values, if the schema has one column.
        schema: The schema. Rows with names and dicts are taken by name, all others by position.

    Raises:
        ValueError: If a row has another number of fields than the schema.
        KeyError: If a row lacks a field.
        pyarrow.ArrowException: If a value is not of its column's type; a number with a fraction is not
            of one of integers.
    """
    import pyarrow as pa

    return pa.Table.from_arrays(_columns(rows, list(schema)), schema=schema)


def results_to_table(
    rows: list[Any], schema: pa.Schema, operation: str, advice: str = ""
) -> pa.Table:
    """Build an Arrow table from a user's results.

    Args:
        rows: The results.
        schema: The schema.
        operation: What the user called.
        advice: What else to say where they are not of the schema.

    Raises:
        InvalidArgumentError: If the rows are not of the schema.
    """
    import pyarrow as pa

    try:
        return rows_to_table(rows, schema)
    except (pa.ArrowException, TypeError, ValueError, LookupError, OverflowError) as error:
        raise InvalidArgumentError(
            f"{operation} got rows that are not of its schema: {error}",
            hint=f"Its columns are: {columns_text(schema)}.{advice}",
        ) from error


def columns_text(schema: pa.Schema) -> str:
    """Return the names and types of a schema's columns for a message."""
    return ", ".join(f"{field.name}: {field.type}" for field in schema)


def _columns(rows: Sequence[Any], fields: list[pa.Field]) -> list[pa.Array]:
    names = [field.name for field in fields]
    tuples = [row_values(row, names) for row in rows]
    if set(map(len, tuples)) - {len(names)}:
        index = next(i for i, values in enumerate(tuples) if len(values) != len(names))
        raise ValueError(
            f"{record_text(rows[index])} has {len(tuples[index])} values, not {len(names)}."
        )
    columns = zip(*tuples, strict=True) if tuples else [()] * len(names)
    return [_column(column, field) for column, field in zip(columns, fields, strict=True)]


def _column(column: Sequence[Any], field: pa.Field) -> pa.Array:
    import pyarrow as pa

    try:
        return _array(column, field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise pa.ArrowInvalid(f"column {field.name!r}: {error}") from error


def _array(column: Sequence[Any], kind: pa.DataType) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_timestamp(kind) and kind.tz is not None:
        first = next((value for value in column if value is not None), None)
        if isinstance(first, Instant):
            return _instants(column, kind)
        if isinstance(first, datetime.datetime) and first.tzinfo is None:
            # A datetime without zone is one of the session's time zone, as everywhere in PySpark.
            local = pa.array(column, type=pa.timestamp(kind.unit))
            return pc.assume_timezone(local, kind.tz, ambiguous="earliest", nonexistent="earliest")
    if pa.types.is_struct(kind):
        return _structs(column, kind)
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        return _lists(column, kind)
    array = pa.array(column, type=kind)
    if pa.types.is_integer(kind):
        _check_whole(column, array)
    return array


def _instants(column: Sequence[Instant | None], kind: pa.TimestampType) -> pa.Array:
    import pyarrow as pa

    if others := {type(at) for at in column} - {Instant, type(None)}:
        raise TypeError(f"{others.pop().__name__} beside Instant")
    a_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    counts = [
        None if at is None else at.seconds * a_second + at.nanos * a_second // 10**9
        for at in column
    ]
    return pa.array(counts, type=kind)


def _check_whole(column: Sequence[Any], integers: pa.Array) -> None:
    """Refuse numbers that Arrow has cut to whole ones, as it does without a word."""
    if set(map(type, column)) - {int, type(None)}:
        for value, kept in zip(column, integers.to_pylist(), strict=True):
            if value != kept:
                raise ValueError(f"{value!r} is no whole number.")


def _structs(column: Sequence[Any], kind: pa.StructType) -> pa.Array:
    import pyarrow as pa

    nothing = (None,) * kind.num_fields
    children = _columns([nothing if value is None else value for value in column], list(kind))
    mask = pa.array([value is None for value in column], pa.bool_())
    return pa.StructArray.from_arrays(children, fields=list(kind), mask=mask)


def _lists(column: Sequence[Any], kind: pa.ListType | pa.MapType) -> pa.Array:
    import pyarrow as pa

    lists = [None if value is None else _items(value) for value in column]
    ends = list(accumulate((len(items or ()) for items in lists), initial=0))
    # A list without a start is null.
    starts = [None if items is None else end for items, end in zip(lists, ends, strict=False)]
    offsets = pa.array([*starts, ends[-1]], pa.int32())
    flat = [item for items in lists for item in items or ()]
    if pa.types.is_map(kind):
        keys = _array([key for key, _ in flat], kind.key_type)
        return pa.MapArray.from_arrays(
            offsets, keys, _array([v for _, v in flat], kind.item_type), kind
        )
    return pa.ListArray.from_arrays(offsets, _array(flat, kind.value_type), kind)


def _items(value: Any) -> list[Any]:
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{value!r} is no list.")
    return list(value.items() if isinstance(value, dict) else value)
