"""What becomes of the checkpoints of a cancelled job."""

from __future__ import annotations

from enum import Enum

__all__ = ["ExternalizedCheckpointRetention"]


class ExternalizedCheckpointRetention(Enum):
    """What becomes of the checkpoints of a cancelled job.

    Here checkpoints below `execution.checkpointing.dir` are never removed with their job: remove the
    folder to start anew. PyFlink 1 calls this class `ExternalizedCheckpointCleanup`.
    """

    DELETE_ON_CANCELLATION = 0
    RETAIN_ON_CANCELLATION = 1
    NO_EXTERNALIZED_CHECKPOINTS = 2
