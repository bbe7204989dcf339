"""Rows of Python values as Arrow tables."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.types import Row, field_names_of

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
        pyarrow.ArrowException: If a value is not of its column's type.
    """
    import pyarrow as pa

    names = schema.names
    tuples = [_as_tuple(row, names) for row in rows]
    columns = zip(*tuples, strict=True) if tuples else [()] * len(names)
    arrays = [_array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(column: Sequence[Any], kind: pa.DataType) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_timestamp(kind) and kind.tz is not None:
        first = next((value for value in column if value is not None), None)
        if isinstance(first, datetime.datetime) and first.tzinfo is None:
            # A datetime without zone is one of the session's time zone, as everywhere in PySpark.
            local = pa.array(column, type=pa.timestamp(kind.unit))
            return pc.assume_timezone(local, kind.tz, ambiguous="earliest", nonexistent="earliest")
    return pa.array(column, type=kind)


def _as_tuple(row: Any, names: list[str]) -> tuple[Any, ...]:
    if isinstance(row, dict):
        return tuple(row[name] for name in names)
    if isinstance(row, Row):
        if set(field_names_of(row) or ()) == set(names):
            return tuple(row[name] for name in names)
        return tuple(row)
    if isinstance(row, (tuple, list)):
        return tuple(row)
    return (row,)
