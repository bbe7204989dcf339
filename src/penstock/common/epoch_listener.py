"""What a program can hear of its jobs: when they start, after each epoch, at restarts, at their end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.common.job_status import JobStatus

__all__ = ["EpochCompleted", "EpochListener", "JobEnded", "JobRestarting", "JobStarted"]


@dataclass(frozen=True)
class JobStarted:
    """A job was started.

    Attributes:
        job_id: The job's id.
        name: The job's name.
    """

    job_id: str
    name: str


@dataclass(frozen=True)
class EpochCompleted:
    """An epoch was committed.

    Attributes:
        job_id: The job's id.
        epoch: The number of the epoch.
        duration: How long it took, in milliseconds, its checkpoint included.
        records_in: How many records the sources read in it.
        checkpoint_size: How many bytes of state it wrote.
        state_size: How many bytes the files of all state now have.
        operators: What each operator did in it, by its id: as `JobClient.progress().operators`.
    """

    job_id: str
    epoch: int
    duration: int
    records_in: int
    checkpoint_size: int
    state_size: int
    operators: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class JobRestarting:
    """A job failed, and will be restarted.

    Attributes:
        job_id: The job's id.
        restarts: How often it was restarted, this time included.
        delay: After how many milliseconds it is restarted.
        error: What it failed with.
    """

    job_id: str
    restarts: int
    delay: int
    error: BaseException


@dataclass(frozen=True)
class JobEnded:
    """A job has ended.

    Attributes:
        job_id: The job's id.
        status: Whether it finished, failed or was cancelled.
        epochs: How many epochs were committed since it was started.
        error: What it failed with; None if it did not.
    """

    job_id: str
    status: JobStatus
    epochs: int
    error: BaseException | None = None


class EpochListener:
    """Hears of jobs; override what you want to hear. See `add_epoch_listener`.

    The methods are called in the client's process, from one thread for each job and in the order of
    events. One that takes long delays what the client prints and collects, not the job. One that raises
    is warned of with `EpochListenerWarning`, and the job goes on. None may wait for the end of its job,
    which waits for it: `WaitInListenerError` is raised there.

    Example:
        >>> from penstock.datastream import EpochListener
        >>> from penstock.testing import local_environment
        >>> class Bell(EpochListener):
        ...     def on_epoch_completed(self, event: EpochCompleted) -> None:
        ...         print(f"epoch {event.epoch}: {event.records_in} records")
        >>> env = local_environment()
        >>> env.add_epoch_listener(Bell())
        >>> end = env.from_collection([1, 2, 3]).add_sink(lambda number: None)
        >>> result = env.execute()
        epoch 0: 3 records
    """

    def on_job_started(self, event: JobStarted) -> None:
        """Hear that a job was started."""

    def on_epoch_completed(self, event: EpochCompleted) -> None:
        """Hear that an epoch was committed."""

    def on_job_restarting(self, event: JobRestarting) -> None:
        """Hear that a job failed, and will be restarted."""

    def on_job_ended(self, event: JobEnded) -> None:
        """Hear that a job has ended; nothing follows."""
