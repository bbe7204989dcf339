"""What is to be computed of columns."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.runtime.columnar.aggregate import ColumnAggregate
from penstock.runtime.windows.operator.window_contents import AggregatedRecords, ReducedRecords


@dataclass(frozen=True)
class ColumnPlan:
    """What is to be computed of columns.

    Attributes:
        key: The name of the column that holds the key.
        fields: The name of the column of each aggregate; None for a count of all records.
        aggregates: The aggregates.
        contents: Says how the records of a window are kept.
        is_single: Whether an accumulator is that of the only aggregate, not a tuple of several.
    """

    key: str
    fields: tuple[str | None, ...]
    aggregates: tuple[ColumnAggregate, ...]
    contents: ReducedRecords | AggregatedRecords
    is_single: bool

    def description(self, pane_size: int) -> str:
        """Say what is computed, for plans.

        Example: `sum(amount), count(*) by item and pane of 60000 ms`.
        """
        pairs = zip(self.aggregates, self.fields, strict=True)
        what = ", ".join(f"{aggregate.kind}({field or '*'})" for aggregate, field in pairs)
        return f"{what} by {self.key} and pane of {pane_size} ms"
