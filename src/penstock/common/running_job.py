"""A job that was started, as its client sees it: what every executor gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from penstock.common.job_profile import JobProfile
    from penstock.common.job_status import JobStatus


@dataclass
class JobProgress:
    """How far a job has come.

    Attributes:
        status: Its status.
        epochs: How many epochs are complete.
        records_in: How many records its sources have read.
        operators: What each operator did so far, by its id: a dict of name, records_in, records_out,
            input_watermark, output_watermark (milliseconds), late_records, timers_fired, timers, state_size
            (bytes) and user metrics.
        restarts: How often it was restarted.
        last_error: What it last failed with; None if it never did.
        last_epoch: The number of the last epoch that was committed; None if none was.
        checkpoint_duration: How long that epoch took, its checkpoint included, in milliseconds.
        checkpoint_size: How many bytes of state it wrote.
        state_size: How many bytes the files of all state have.
        profile: Where its time went, if `execution.profile` is on.
    """

    status: JobStatus
    epochs: int = 0
    records_in: int = 0
    operators: dict[str, dict[str, Any]] = field(default_factory=dict)
    restarts: int = 0
    last_error: BaseException | None = None
    last_epoch: int | None = None
    checkpoint_duration: int = 0
    checkpoint_size: int = 0
    state_size: int = 0
    profile: JobProfile | None = None


class Turn(Protocol):
    """A turn that a client has between two epochs of its job."""

    def close(self) -> None:
        """Give it up."""


class RunningJob(Protocol):
    """A job that was started."""

    job_id: str
    name: str

    def progress(self) -> JobProgress:
        """Return how far the job has come."""

    def view(self) -> Any:
        """Return the job as it is seen now: a `JobView`."""

    def where_it_stands(self) -> str:
        """Return a line for people that says how the job is doing, or how it has ended."""

    def tell_end(self) -> None:
        """Say how the job has ended on standard error, unless its own last line has told it."""

    def wait(self) -> JobProgress:
        """Wait until the job has ended.

        Raises:
            PenstockError: What the job failed with.
        """

    def check_may_wait(self) -> None:
        """Raise if whoever calls this may not wait for the end of the job."""

    def cancel(self) -> None:
        """Stop the job; what is not committed is given up."""

    def tell_failure(self) -> None:
        """Say in the log why it has failed, if it has and nobody was told."""

    def turn(self, *, after_first: bool = False) -> Any:
        """Ask for a `Turn` between two epochs: those that were asked for before come before it.

        Args:
            after_first: Whether it comes only when an epoch was committed.
        """

    def stop(self, turn: Any = None) -> None:
        """Stop the job after the epoch that is running, and wait for its end.

        Args:
            turn: What `turn` gave. Default: one that is asked for now.
        """

    def checkpoint(self, turn: Any) -> int:
        """Wait until an epoch is committed that holds all that the job has done, and return its number.

        Args:
            turn: What `turn` gave.

        Raises:
            SavepointError: If the job has ended.
        """

    def savepoint(
        self,
        path: str | None = None,
        *,
        directory: str | None = None,
        stops: bool = False,
        ends_event_time: bool = False,
        turn: Any = None,
    ) -> str:
        """Write a savepoint between two epochs, and return where it is.

        Args:
            path: Where to.
            directory: Without a path: a new folder below it. Default:
                `execution.checkpointing.savepoint-dir`.
            stops: Whether no epoch follows.
            ends_event_time: Whether, before that, one more epoch ends all event time.
            turn: What `turn` gave. Default: one that is asked for now.

        Raises:
            SavepointError: If there is nothing to save, or nowhere to save it to.
            PenstockError: What the job failed with meanwhile.
        """
