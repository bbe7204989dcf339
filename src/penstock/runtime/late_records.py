"""The records that an operator drops since they come too late: how many they are, and how late they come."""

from __future__ import annotations

from typing import Final

from penstock.runtime.metrics import LATE_RECORDS, MetricGroup

LATENESS: Final = "late_records_lateness_ms"
"""The distribution of by how much they are late."""


class LateRecords:
    """Counts the records that an operator drops, in the metrics of its functions.

    Args:
        metrics: These metrics.

    Example:
        >>> metrics = MetricGroup()
        >>> late = LateRecords(metrics)
        >>> late.drop(2, lateness=1500)
        >>> metrics.take()[LATE_RECORDS]
        2
    """

    def __init__(self, metrics: MetricGroup) -> None:
        self._metrics = metrics
        # That there are none is worth knowing too.
        self._count = metrics.counter(LATE_RECORDS)

    def drop(self, count: int, lateness: int | None) -> None:
        """Count records that are dropped.

        Args:
            count: How many records.
            lateness: How much more the watermark would have had to stay behind for none of them to be late, in
                milliseconds; None if nothing would have kept them.
        """
        self._count.inc(count)
        if lateness is not None:
            self._metrics.distribution(LATENESS).update(lateness)
