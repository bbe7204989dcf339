"""Which clock a timer follows."""

from __future__ import annotations

from enum import Enum


class TimeDomain(Enum):
    """Which clock a timer follows.

    Attributes:
        EVENT_TIME: The watermark.
        PROCESSING_TIME: The clock of the machine.
    """

    EVENT_TIME = 0
    PROCESSING_TIME = 1
