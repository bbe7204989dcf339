"""The client's view of a job that was started."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol

from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.job_id import JobID
from penstock.common.job_status import JobStatus

if TYPE_CHECKING:
    from penstock.common.completable_future import CompletableFuture

__all__ = ["JobClient"]


class Progress(Protocol):
    """How far a job has come.

    Attributes:
        status: Its status.
        epochs: How many epochs are complete.
        records_in: How many records its sources have read.
        operators: What each operator did so far, by its id.
    """

    status: JobStatus
    epochs: int
    records_in: int
    operators: dict[str, dict[str, Any]]


class RunningJob(Protocol):
    """What an executor gives of a job that it started."""

    job_id: str

    def progress(self) -> Progress:
        """Return how far the job has come."""

    def wait(self) -> Progress:
        """Wait until the job has ended; raise what it failed with."""

    def cancel(self) -> None:
        """Stop the job."""


class JobClient:
    """The client's view of a job that was started: see `execute_async`.

    Args:
        job: The job.

    Example:
        >>> from penstock.testing import local_environment
        >>> env = local_environment()
        >>> end = env.from_collection([1, 2]).add_sink(lambda number: None)
        >>> client = env.execute_async("count")
        >>> client.get_job_execution_result().result().metrics["records_in"]
        2
        >>> client.get_job_status().result()
        <JobStatus.FINISHED: 6>
    """

    def __init__(self, job: RunningJob) -> None:
        self._job = job
        self._started = time.monotonic()

    def get_job_id(self) -> JobID:
        """Return the identifier of the job.

        Returns:
            The identifier.
        """
        return JobID(self._job.job_id)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Ask for the status of the job.

        Returns:
            A future of the status.
        """
        return _future(lambda: self._job.progress().status)

    def where_it_stands(self) -> str:
        """Return a line for people that says how far the job has come, and whether it was stopped."""
        progress = self.progress()
        epochs, records = progress.epochs, progress.records_in
        verb = "At" if progress.status is JobStatus.RUNNING else "Stopped after"
        return (
            f"{verb} {epochs:,} complete epoch{'' if epochs == 1 else 's'} and {records:,} "
            f"record{'' if records == 1 else 's'}."
        )

    def progress(self) -> Progress:
        """Return how far the job has come. PyFlink has no such method.

        Returns:
            An object with `status`, `epochs` (how many are complete), `records_in` (how many records
            the sources have read) and `operators` (what each did, by its id).
        """
        return self._job.progress()

    def cancel(self) -> CompletableFuture[None]:
        """Cancel the job. What is not committed is given up.

        Returns:
            A future that is done when the job has stopped.
        """

        def stopped() -> None:
            self._job.wait()

        self._job.cancel()
        return _future(stopped)

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """Wait for the end of the job without blocking.

        Returns:
            A future of the result; it raises what the job fails with.
        """
        return _future(self.wait)

    def wait(self) -> JobExecutionResult:
        """Wait until the job has ended. PyFlink has no such method.

        Returns:
            The result; its metrics are those of `progress`.

        Raises:
            PenstockError: What the job failed with.
        """
        progress = self._job.wait()
        runtime = round((time.monotonic() - self._started) * 1000)
        metrics = {
            "epochs": progress.epochs,
            "records_in": progress.records_in,
            "operators": progress.operators,
        }
        return JobExecutionResult(self.get_job_id(), runtime, metrics)


def _future(compute: Any) -> CompletableFuture[Any]:
    from penstock.common.completable_future import (
        CompletableFuture,
    )  # imports a thread pool's parts

    return CompletableFuture(compute)
