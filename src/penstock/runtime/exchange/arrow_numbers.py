"""Whole numbers in Arrow columns: what `pyarrow.compute` has no function for."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def floored(numbers: pa.Int64Array, step: int, offset: int = 0) -> pa.Int64Array:
    """Return the greatest multiples of a step, counted from an offset, not above the numbers.

    Example:
        >>> floored(pa.array([-1, 0, 7]), 5).to_pylist()
        [-5, 0, 5]
    """
    moved = pc.subtract(numbers, offset) if offset else numbers
    # Division rounds towards zero.
    multiples = pc.multiply(pc.divide(moved, step), step)
    if (pc.min(moved).as_py() or 0) < 0:
        is_above = pc.greater(multiples, moved)
        multiples = pc.if_else(is_above, pc.subtract(multiples, step), multiples)
    return pc.add(multiples, offset) if offset else multiples


def milliseconds(column: pa.Array) -> pa.Int64Array | None:
    """Return a column of times as milliseconds since the epoch; None if its type tells no time.

    Whole numbers are milliseconds. Timestamps without a time zone are taken as UTC.
    """
    kind = column.type
    if pa.types.is_integer(kind):
        return column.cast(pa.int64())
    if not pa.types.is_timestamp(kind):
        return None
    if kind.unit == "s":
        return column.cast(pa.timestamp("ms", kind.tz)).cast(pa.int64())
    units = {"ms": 1, "us": 1_000, "ns": 1_000_000}[kind.unit]
    numbers = column.view(pa.int64())
    if units > 1 and (pc.min(numbers).as_py() or 0) < 0:
        numbers = floored(numbers, units)
    return pc.divide(numbers, units) if units > 1 else numbers
