"""Arrow columns, as Spark hands them over, as the rows users see."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.data_frame_row import row_factory


def rows_of(struct: pa.StructArray, *, as_values: bool) -> list[Any]:
    """Return the rows of a struct column that holds a DataFrame's columns.

    Args:
        struct: The column.
        as_values: True to return the values of the only field, not rows.
    """
    columns = [column_values(column) for column in struct.flatten()]
    if as_values:
        return columns[0]
    return row_factory(struct.type.names).rows(columns)


def column_values(column: pa.Array) -> list[Any]:
    """Return the values of a column as Python objects.

    Timestamps become datetimes without zone, in the session's time zone, as everywhere in PySpark;
    by way of NumPy, which takes a twentieth of the time of `to_pylist`.
    """
    kind = column.type
    if pa.types.is_timestamp(kind):
        local = column if kind.tz is None else pc.local_timestamp(column)
        return local.to_numpy(zero_copy_only=False).astype("datetime64[us]").tolist()  # type: ignore[no-any-return]
    return column.to_pylist()  # type: ignore[no-any-return]
