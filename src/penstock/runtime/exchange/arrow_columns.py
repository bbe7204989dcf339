"""Arrow columns, as Spark hands them over, as the rows users see."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.rows.data_frame_row import row_factory


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


def parts_by_split(
    struct: pa.StructArray, split: str | None
) -> Iterator[tuple[Any, pa.StructArray]]:
    """Yield the rows of each split, with its name, in the order of their first rows.

    Args:
        struct: The rows.
        split: The field that names the split of a row; None if all are of one, which has no name.
    """
    if not len(struct):
        return
    if split is None:
        yield None, struct
        return
    names = struct.field(split)
    found = pc.unique(names)
    for name in found:
        part = struct
        if len(found) > 1:
            is_of_split = names.is_null() if not name.is_valid else pc.equal(names, name)
            part = struct.filter(is_of_split)
        yield ("null" if not name.is_valid else name.as_py()), part


def column_values(column: pa.Array) -> list[Any]:
    """Return the values of a column as Python objects.

    Timestamps become datetimes without zone, in the session's time zone, as everywhere in PySpark;
    by way of NumPy, which takes a twentieth of the time of `to_pylist`. Structs become rows, maps
    dicts.
    """
    kind = column.type
    if pa.types.is_timestamp(kind):
        local = column if kind.tz is None else pc.local_timestamp(column)
        return local.to_numpy(zero_copy_only=False).astype("datetime64[us]").tolist()  # type: ignore[no-any-return]
    if pa.types.is_struct(kind):
        rows = row_factory(kind.names).rows(map(column_values, column.flatten()))
        return [row if valid else None for row, valid in zip(rows, _validity(column), strict=True)]
    if pa.types.is_list(kind):
        values = column_values(column.values)
        return [None if part is None else values[part] for part in _parts(column)]
    if pa.types.is_map(kind):
        pairs = list(zip(column_values(column.keys), column_values(column.items), strict=True))
        return [None if part is None else dict(pairs[part]) for part in _parts(column)]
    return column.to_pylist()  # type: ignore[no-any-return]


def _validity(column: pa.Array) -> list[bool]:
    return column.is_valid().to_pylist()  # type: ignore[no-any-return]


def _parts(column: pa.ListArray | pa.MapArray) -> Iterator[slice | None]:
    """Yield for each list of a column the part of the column's values that it has; None for null."""
    bounds = pairwise(column.offsets.to_pylist())
    for (start, end), valid in zip(bounds, _validity(column), strict=True):
        yield slice(start, end) if valid else None
