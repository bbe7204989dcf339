"""The states of a job."""

from __future__ import annotations

from enum import Enum

__all__ = ["JobStatus"]


class JobStatus(Enum):
    """What a job is doing, or how it ended.

    Example:
        >>> JobStatus.FINISHED.is_terminal_state(), JobStatus.RUNNING.is_terminal_state()
        (True, False)
    """

    CREATED = 0
    RUNNING = 1
    FAILING = 2
    FAILED = 3
    CANCELLING = 4
    CANCELED = 5
    FINISHED = 6
    RESTARTING = 7
    SUSPENDED = 8
    RECONCILING = 9

    def is_globally_terminal_state(self) -> bool:
        """Tell whether the job has ended and will never go on.

        Returns:
            True if it failed, was cancelled or finished.
        """
        return self in {JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED}

    def is_terminal_state(self) -> bool:
        """Tell whether the job has ended here; a suspended one may go on elsewhere.

        Returns:
            True if it failed, was cancelled, finished or was suspended.
        """
        return self is JobStatus.SUSPENDED or self.is_globally_terminal_state()
