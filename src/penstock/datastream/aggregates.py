"""Aggregates of the records of a window that say what they compute, for `aggregate`.

They work in all windows. In tumbling and sliding windows of event time over the rows of a DataFrame
they are computed column by column: see the page on windows for when.
"""

from __future__ import annotations

from penstock.datastream.functions.aggregates import (
    Aggregate,
    Aggregates,
    Count,
    Max,
    Mean,
    Min,
    Sum,
)

__all__ = [
    "Aggregate",
    "Aggregates",
    "Count",
    "Max",
    "Mean",
    "Min",
    "Sum",
]
