"""What is to be computed of columns, and what records come to that are computed together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple


@dataclass(frozen=True)
class ColumnAggregate:
    """What a field of the records of a window comes to.

    Attributes:
        kind: How. A mean is kept as the sum and how many.
        field: The position or name of the field; None to count records, whatever they hold.
    """

    kind: Literal["sum", "count", "mean", "min", "max"]
    field: int | str | None


class Partial(NamedTuple):
    """What some records of a key come to that belong to the same windows.

    Attributes:
        records: How many they are.
        value: What they come to: a record, or an accumulator.
    """

    records: int
    value: Any
