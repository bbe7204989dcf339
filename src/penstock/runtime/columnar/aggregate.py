"""What is to be computed of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ColumnAggregate:
    """What a field of the records of a window comes to.

    Attributes:
        kind: How. A mean is kept as the sum and how many.
        field: The position or name of the field; None to count records, whatever they hold.
    """

    kind: Literal["sum", "count", "mean", "min", "max"]
    field: int | str | None
