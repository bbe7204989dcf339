"""What is left of a job when it has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.common.job_id import JobID

__all__ = ["JobExecutionResult"]


class JobExecutionResult:
    """The result of a job that has finished.

    Args:
        job_id: The job.
        net_runtime: How long it ran, in milliseconds.
        metrics: What its operators counted. Default: nothing.

    Attributes:
        metrics: What its operators counted.

    Example:
        >>> from penstock.common.job_id import JobID
        >>> JobExecutionResult(JobID(), 1500, {"records_in": 10}).get_net_runtime()
        1500
    """

    def __init__(
        self, job_id: JobID, net_runtime: int, metrics: dict[str, Any] | None = None
    ) -> None:
        self._job_id = job_id
        self._net_runtime = net_runtime
        self.metrics: dict[str, Any] = {} if metrics is None else metrics

    def get_job_id(self) -> JobID:
        """Return the identifier of the job.

        Returns:
            The identifier.
        """
        return self._job_id

    def get_net_runtime(self) -> int:
        """Return how long the job ran, without the time it took to compile and submit it.

        Returns:
            The time in milliseconds.
        """
        return self._net_runtime

    def __str__(self) -> str:
        return f"Job {self._job_id} finished after {self._net_runtime} ms."
