"""When records are due that come at a fixed rate by the clock, in milliseconds."""

from __future__ import annotations


def due(start: int, value: int, rate: int) -> int:
    """When a record is due, given when the stream began."""
    return start + value * 1_000 // rate


def count_due(start: int, now: int, rate: int) -> int:
    """How many records are due by now."""
    return max(0, -(-(now - start + 1) * rate // 1_000))
