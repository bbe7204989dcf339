"""The client's view of a job that was started."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.common.job_execution_result import JobExecutionResult, accumulators_of
from penstock.common.job_id import JobID
from penstock.common.job_status import JobStatus
from penstock.errors import InvalidArgumentError, JobCancelledError

if TYPE_CHECKING:
    from penstock.common.completable_future import CompletableFuture
    from penstock.common.running_job import JobProgress, RunningJob, Turn

__all__ = ["JobClient"]

T = TypeVar("T")


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

    @property
    def name(self) -> str:
        """The name of the job. PyFlink has no such attribute."""
        return self._job.name

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Ask for the status of the job. If it has failed, and nobody was told why, the log says it.

        Returns:
            A future of the status.
        """
        self._job.tell_failure()
        return _future(lambda: self._job.progress().status)

    def where_it_stands(self) -> str:
        """Return a line for people that says how far the job has come, and whether it was stopped."""
        return self._job.where_it_stands()

    def tell_end(self) -> None:
        """Say how the job has ended on standard error, unless its own last line has told it."""
        self._job.tell_end()

    def progress(self) -> JobProgress:
        """Return how far the job has come. PyFlink has no such method.

        Returns:
            An object with `status`, `epochs` (how many are complete), `records_in` (how many records
            the sources have read), `restarts`, `last_error`, `last_epoch` (its number),
            `checkpoint_duration` (milliseconds), `checkpoint_size` and `state_size` (bytes), `profile`
            (where its time went, with `execution.profile`; else None), and `operators`: what each did,
            by its id, a dict of `name`, `records_in`, `records_out`, `input_watermark`,
            `output_watermark` (milliseconds), `late_records`, `timers_fired`, `timers` (in RocksDB a
            count from not long ago), `state_size` (bytes, of its chain) and `user`, what its functions counted.
        """
        return self._job.progress()

    def cancel(self) -> CompletableFuture[None]:
        """Cancel the job. What is not committed is given up.

        Returns:
            A future that is done when the job has stopped. After two seconds it no longer waits for a function that
            does not return: that is left behind, and commits nothing. Of a job that has failed before, the future
            raises what it failed with.
        """

        def stopped() -> None:
            self._job.wait()

        self._job.cancel()
        return self._future_of_the_end(stopped)

    def stop(self) -> CompletableFuture[None]:
        """Stop the job after the epoch that is running. PyFlink has no such method.

        What is committed stays, and the job counts as finished. Started again on its checkpoint location
        it goes on from there.

        Returns:
            A future that is done when the job has stopped; it raises what the job failed with.
        """
        return self._in_turn(self._job.stop, self._job.turn(), check=self._job.check_may_wait)

    def checkpoint(self) -> CompletableFuture[int]:
        """Wait for an epoch that holds all that the job has done. PyFlink has no such method.

        Returns:
            A future of the number of that epoch; it raises `SavepointError` if the job has ended, or ends before.
        """
        return self._in_turn(self._checkpoint)

    def _checkpoint(self, turn: Turn) -> int:
        try:
            return self._job.checkpoint(turn)
        finally:
            turn.close()

    def savepoint(self, path: str) -> CompletableFuture[str]:
        """Write a savepoint to a place of your choice. PyFlink has no such method.

        As `trigger_savepoint`, but for the place.

        Args:
            path: The folder, or the URL of a place in an object store; nothing may be there yet.

        Returns:
            A future of the path; it raises `SavepointError` if no savepoint can be written.
        """
        return self._in_turn(lambda turn: self._job.savepoint(path, turn=turn))

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Write a savepoint: a copy of the job's state that stands alone, and can be moved.

        It is taken between two epochs; the next epoch waits for it, and so does a stop that is asked for later.
        If no epoch is complete yet, the first one is waited for. A job starts from it with `execution.state-recovery.path` and a new
        checkpoint location.

        Args:
            savepoint_directory: A folder, or the URL of a place in an object store: a new folder is made
                below it. Default: `execution.checkpointing.savepoint-dir`.

        Returns:
            A future of the path of the savepoint; it raises `SavepointError` if none can be written, as
            when the job has ended, was told to stop before, or is bounded.
        """
        return self._in_turn(
            lambda turn: self._job.savepoint(directory=savepoint_directory, turn=turn)
        )

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Stop the job after the epoch that is running, and write a savepoint of it.

        Args:
            advance_to_end_of_event_time: Whether all timers fire and all windows close before, in one
                more epoch that has no records. All sources end with it: choose it for a job that is not
                to go on.
            savepoint_directory: A folder, or the URL of a place in an object store: a new folder is made
                below it. Default: `execution.checkpointing.savepoint-dir`.

        Returns:
            A future of the path of the savepoint; it raises `SavepointError` if none can be written: the
            job then goes on.

        Raises:
            InvalidArgumentError: If `advance_to_end_of_event_time` is not a bool.
        """
        if not isinstance(advance_to_end_of_event_time, bool):
            raise InvalidArgumentError(
                f"Whether to advance to the end of event time is True or False, not "
                f"{advance_to_end_of_event_time!r}.",
                hint="For instance: stop_with_savepoint(False, directory).",
            )
        return self._in_turn(
            lambda turn: self._job.savepoint(
                directory=savepoint_directory,
                stops=True,
                ends_event_time=advance_to_end_of_event_time,
                turn=turn,
            ),
            check=self._job.check_may_wait,
        )

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """Ask for what the functions of the job have counted so far. If it has failed, and nobody was told, the log says why.

        Returns:
            A future of the numbers by the names of their metrics. Those of functions that use the same
            name are added up.
        """
        self._job.tell_failure()
        return _future(lambda: accumulators_of(self.progress().operators))

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """Wait for the end of the job without blocking.

        Returns:
            A future of the result; it raises what the job fails with, and `JobCancelledError` if the job
            is cancelled.
        """
        return self._future_of_the_end(self.result)

    def result(self) -> JobExecutionResult:
        """Wait until the job has ended. PyFlink has no such method.

        Returns:
            The result.

        Raises:
            JobCancelledError: If it was cancelled, by whomever.
            PenstockError: What the job failed with.
        """
        result = self.wait()
        if self.progress().status is JobStatus.CANCELED:
            raise JobCancelledError(
                f"The job was cancelled. {self.where_it_stands()}",
                hint="cancel().result() waits for the end of a job that is cancelled.",
            )
        return result

    def _in_turn(
        self,
        compute: Callable[[Any], T],
        turn: Turn | None = None,
        *,
        check: Callable[[], None] = lambda: None,
    ) -> CompletableFuture[T]:
        """Compute between two epochs, after what was asked for before and before what is asked for later."""
        taken = turn or self._job.turn(after_first=True)
        try:
            return _future(lambda: compute(taken), check=check)
        except BaseException:
            taken.close()
            raise

    def _future_of_the_end(self, compute: Callable[[], T]) -> CompletableFuture[T]:
        return _future(compute, check=self._job.check_may_wait)

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
            "restarts": progress.restarts,
            "operators": progress.operators,
        }
        return JobExecutionResult(self.get_job_id(), runtime, metrics, progress.profile)


def _future(
    compute: Callable[[], T], *, check: Callable[[], None] = lambda: None
) -> CompletableFuture[T]:
    from penstock.common.completable_future import (
        CompletableFuture,
    )  # imports a thread pool's parts

    return CompletableFuture(compute, check=check)
