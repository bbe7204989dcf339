"""Computes what the records of each key and pane come to."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.columnar.aggregate import ColumnAggregate
from penstock.runtime.columnar.plan import ColumnPlan
from penstock.runtime.exchange.arrow_columns import column_values, rows_of
from penstock.runtime.exchange.arrow_numbers import floored
from penstock.runtime.exchange.column_block import ColumnBlock, joined
from penstock.runtime.exchange.elements import Block, Partial
from penstock.runtime.timestamp import MAX_TIMESTAMP
from penstock.runtime.windows.operator.window_contents import AggregatedRecords
from penstock.runtime.windows.panes import PaneWindows

_FAR: Final = 1 << 62
_AT_LEAST_ONE: Final = pc.ScalarAggregateOptions(skip_nulls=True, min_count=1)
_VALID: Final = pc.CountOptions(mode="only_valid")
_KEY, _PANE, _ROW = "key", "pane", "row"


class ColumnPartials:
    """Computes what the records of each key and pane come to, each as Python would compute it.

    Where Arrow would do otherwise than Python, which is where whole numbers would not fit into 64 bits,
    and with NaN in a minimum or null in a sum that knows none, each record is sent as it is.

    Args:
        plan: What is to be computed.
        panes: The panes.
    """

    def __init__(self, plan: ColumnPlan, panes: PaneWindows) -> None:
        self._plan = plan
        self._panes = panes
        self._counted = pa.array([], pa.int32())
        self._keeps_records = not isinstance(plan.contents, AggregatedRecords)

    def of(self, blocks: list[ColumnBlock]) -> Block:
        """Return the partials of some blocks, those that are records in the order of their first ones.

        The timestamp of each is the start of its pane.
        """
        rows, times = joined(blocks)
        if not self._is_regular(rows, times):
            return self._one_by_one(rows, times)
        panes = floored(times, self._panes.pane_size, self._panes.offset)
        columns = {_KEY: rows.field(self._plan.key), _PANE: panes}
        wanted: list[Any] = [([], "count_all")]
        if self._keeps_records:
            columns[_ROW] = self._numbers(len(rows))
            wanted.append((_ROW, "min"))
        for number, (name, aggregate) in enumerate(
            zip(self._plan.fields, self._plan.aggregates, strict=True)
        ):
            if name is not None:
                columns[f"{number}"] = rows.field(name)
                wanted += _kernels(f"{number}", aggregate)
        groups = pa.table(columns).group_by([_KEY, _PANE], use_threads=False).aggregate(wanted)
        if self._keeps_records:
            # Arrow gives groups in an order of its own, and of two records the first is kept.
            groups = groups.sort_by(f"{_ROW}_min")
        found = {name: groups.column(name).combine_chunks() for name in groups.column_names}
        counts = found["count_all"].to_pylist()
        values = self._records(rows, found) if self._keeps_records else self._accumulators(found)
        return Block(
            list(map(Partial, counts, values)),
            found[_PANE].to_pylist(),
            column_values(found[_KEY]),
        )

    def _numbers(self, count: int) -> pa.Int32Array:
        if count > len(self._counted):
            self._counted = pa.array(range(2 * count), pa.int32())
        return self._counted.slice(0, count)

    def _is_regular(self, rows: pa.StructArray, times: pa.Int64Array) -> bool:
        bounds = pc.min_max(times).as_py()
        if bounds["min"] < -_FAR or bounds["max"] > _FAR:
            return False
        return all(
            name is None or self._can_aggregate(rows.field(name), aggregate.kind)
            for name, aggregate in zip(self._plan.fields, self._plan.aggregates, strict=True)
        )

    def _can_aggregate(self, column: pa.Array, kind: str) -> bool:
        if kind == "count":
            return True
        if self._keeps_records and column.null_count:
            return False
        if pa.types.is_floating(column.type):
            has_nan: bool = pc.any(pc.is_nan(column)).as_py() is True
            return kind in ("sum", "mean") or not has_nan
        if kind in ("min", "max"):
            return True
        bounds = pc.min_max(column).as_py()
        greatest = max(abs(bounds["min"] or 0), abs(bounds["max"] or 0))
        return bool(greatest * len(column) <= MAX_TIMESTAMP)

    def _one_by_one(self, rows: pa.StructArray, times: pa.Int64Array) -> Block:
        contents = self._plan.contents
        values = rows_of(rows, as_values=False)
        if isinstance(contents, AggregatedRecords):
            values = [contents.joined([value]) for value in values]
        partials = [Partial(1, value) for value in values]
        return Block(partials, times.to_pylist(), column_values(rows.field(self._plan.key)))

    def _records(self, rows: pa.StructArray, found: dict[str, pa.Array]) -> list[Any]:
        """Return the first record of each group, with the aggregate in the place of its field."""
        (name,), (aggregate,) = self._plan.fields, self._plan.aggregates
        first = rows.take(found[f"{_ROW}_min"])
        columns = [
            found[f"0_{aggregate.kind}"] if field.name == name else first.field(field.name)
            for field in rows.type
        ]
        struct = pa.StructArray.from_arrays(columns, rows.type.names)
        return rows_of(struct, as_values=False)

    def _accumulators(self, found: dict[str, pa.Array]) -> list[Any]:
        parts = [
            _accumulators_of(f"{number}", name, aggregate.kind, found)
            for number, (name, aggregate) in enumerate(
                zip(self._plan.fields, self._plan.aggregates, strict=True)
            )
        ]
        return parts[0] if self._plan.is_single else list(zip(*parts, strict=True))


def _kernels(column: str, aggregate: ColumnAggregate) -> list[tuple[str, str, Any]]:
    if aggregate.kind == "count":
        return [(column, "count", _VALID)]
    if aggregate.kind == "mean":
        return [(column, "sum", _AT_LEAST_ONE), (column, "count", _VALID)]
    return [(column, aggregate.kind, _AT_LEAST_ONE)]


def _accumulators_of(
    column: str, name: str | None, kind: str, found: dict[str, pa.Array]
) -> list[Any]:
    if name is None:
        return found["count_all"].to_pylist()  # type: ignore[no-any-return]
    if kind != "mean":
        return found[f"{column}_{kind}"].to_pylist()  # type: ignore[no-any-return]
    sums, counts = found[f"{column}_sum"].to_pylist(), found[f"{column}_count"].to_pylist()
    return [
        None if total is None else (total, count) for total, count in zip(sums, counts, strict=True)
    ]
