"""What sampling a task gave."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.common.cost import Cost

Samples = dict[tuple[str, Cost], float]
"""Seconds by the id of an operator, empty for none, and what was done for it."""


@dataclass(frozen=True)
class TaskProfile:
    """Where the time of one task of an epoch went.

    Attributes:
        level: The level that the task ran.
        started: When it began, in seconds since 1970.
        seconds: How long it took.
        samples: What the samples that were taken of it stand for.
        count: How many they are.
    """

    level: int
    started: float
    seconds: float
    samples: Samples = field(default_factory=dict)
    count: int = 0
