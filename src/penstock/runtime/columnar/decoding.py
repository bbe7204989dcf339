"""Reads what Spark made of the records of each key and pane."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import UnsupportedOperationError
from penstock.runtime.columnar.aggregated_block import KEY, RECORDS, TIME
from penstock.runtime.columnar.plan import ColumnPlan
from penstock.runtime.exchange.arrow_columns import column_values
from penstock.runtime.exchange.elements import Block, Partial

HALF: Final = 32
"""Of numbers with 64 bits the upper and the lower half are summed apart, as the sum may have more: so
many bits are in the lower one."""

_MOST_RECORDS: Final = 1 << 31
_SMALL: Final = 1 << 29


def given_partials(rows: pa.StructArray, plan: ColumnPlan) -> Block:
    """Return as `Partial`s what rows hold; their columns are those of an `AggregatedBlock`.

    Raises:
        UnsupportedOperationError: See `given_accumulators`.
    """
    partials = list(map(Partial, rows.field(RECORDS).to_pylist(), given_accumulators(rows, plan)))
    return Block(partials, rows.field(TIME).to_pylist(), column_values(rows.field(KEY)))


def given_accumulators(rows: pa.StructArray, plan: ColumnPlan) -> list[Any]:
    """Return the accumulators that rows hold.

    The columns of aggregate `n` are `n_sum`, or `n_high` and `n_low`, for a sum; `n_count`; `n_min`;
    `n_max`; for a mean those of a sum and a count. A count of all records has none of its own.

    Raises:
        UnsupportedOperationError: If a row stands for so many records that a sum may be wrong.
    """
    counts = rows.field(RECORDS)
    parts = [
        counts.to_pylist() if name is None else _accumulators(rows, number, aggregate.kind)
        for number, (name, aggregate) in enumerate(zip(plan.fields, plan.aggregates, strict=True))
    ]
    return parts[0] if plan.is_single else list(zip(*parts, strict=True))


def _accumulators(rows: pa.StructArray, number: int, kind: str) -> list[Any]:
    if kind in ("sum", "mean"):
        sums = _sums(rows, number)
        if kind == "sum":
            return sums
        counts = rows.field(f"{number}_count").to_pylist()
        pairs = zip(sums, counts, strict=True)
        return [None if total is None else (total, count) for total, count in pairs]
    return rows.field(f"{number}_{kind}").to_pylist()  # type: ignore[no-any-return]


def _sums(rows: pa.StructArray, number: int) -> list[Any]:
    name = f"{number}_high"
    if rows.type.get_field_index(name) < 0:
        return rows.field(f"{number}_sum").to_pylist()  # type: ignore[no-any-return]
    most = pc.max(rows.field(RECORDS)).as_py() or 0
    if most >= _MOST_RECORDS:
        raise UnsupportedOperationError(
            f"A key has {most:,} records in one pane of its windows: Spark adds up whole numbers of less "
            f"than {_MOST_RECORDS:,}.",
            hint="Take shorter windows, or set execution.columnar.in-spark to false.",
        )
    high, low = rows.field(name), rows.field(f"{number}_low")
    bounds = pc.min_max(high).as_py()
    least, most = bounds["min"] or 0, bounds["max"] or 0
    if least >= -_SMALL and most < _SMALL and (pc.max(low).as_py() or 0) < _SMALL << HALF:
        return pc.add(pc.shift_left(high, HALF), low).to_pylist()  # type: ignore[no-any-return]
    pairs = zip(high.to_pylist(), low.to_pylist(), strict=True)
    return [None if upper is None else (upper << HALF) + lower for upper, lower in pairs]
