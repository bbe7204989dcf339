"""Whether a job gives results as they change, or once at its end."""

from __future__ import annotations

from enum import Enum

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(Enum):
    """Whether a job gives results as they change, or once at its end.

    Attributes:
        STREAMING: A keyed reduce emits the new result for every record. The default.
        BATCH: A keyed reduce emits the final result of every key, once. Functions of keyed streams
            get their records at the end, key by key, and within a key by timestamp. All sources must
            end.
        AUTOMATIC: BATCH if all sources end, else STREAMING.

    Example:
        >>> RuntimeExecutionMode["BATCH"]
        <RuntimeExecutionMode.BATCH: 1>
    """

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2
