"""What Flink says of several figures at once: the least, the greatest, some between."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final


def checkpoint_statistics(figures: Sequence[int]) -> dict[str, Any]:
    """Return them as the API has them of checkpoints; "NaN" stands for percentiles of none."""
    if not figures:
        return {"min": 0, "max": 0, "avg": 0, **dict.fromkeys(_PERCENTILES, "NaN")}
    return {
        "min": min(figures),
        "max": max(figures),
        "avg": sum(figures) // len(figures),
        **{name: percentile(figures, share) for name, share in _PERCENTILES.items()},
    }


_PERCENTILES: Final = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}


def percentile(figures: Sequence[float], share: float) -> float:
    """Return what this share (0 to 1) of some figures does not exceed, between two of them in proportion."""
    ordered = sorted(figures)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def task_statistics(figures: Sequence[int]) -> dict[str, int]:
    """Return them as the API has them of subtasks."""
    if not figures:
        return dict.fromkeys(("min", "max", "avg", "sum", "median", "p25", "p75", "p95"), 0)
    return {
        "min": min(figures),
        "max": max(figures),
        "avg": sum(figures) // len(figures),
        "sum": sum(figures),
        **{
            name: round(percentile(figures, share))
            for name, share in {"median": 0.5, "p25": 0.25, "p75": 0.75, "p95": 0.95}.items()
        },
    }


def _skew(figures: Sequence[float]) -> float:
    """Return by how much they differ from their mean on average, in percent of it, 100 at the most."""
    mean = statistics.fmean(figures)
    if not mean:
        return 0.0
    spread = statistics.fmean(abs(figure - mean) for figure in figures)
    return min(100.0, 100 * spread / abs(mean))


AGGREGATIONS: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "min": min,
    "max": max,
    "avg": statistics.fmean,
    "sum": sum,
    "skew": _skew,
}
"""How metrics of several subtasks or jobs are put together."""
