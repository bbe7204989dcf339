"""What a restart guarantees of state."""

from __future__ import annotations

from enum import Enum

__all__ = ["CheckpointingMode"]


class CheckpointingMode(Enum):
    """How often a record changes state if a job fails in between.

    Here it is exactly once in either mode: an epoch is one transaction, so less would not be faster.
    """

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
