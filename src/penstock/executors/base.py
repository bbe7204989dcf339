"""What every executor offers, and what it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.common.configuration import Configuration
from penstock.common.epoch_listener import EpochListener
from penstock.common.job_profile import JobProfile
from penstock.common.job_status import JobStatus
from penstock.graph.stream_graph import StreamGraph


@dataclass
class JobRequest:
    """A program that is to be executed.

    Attributes:
        name: The job's name.
        graph: The program's operators, before they are compiled: the executor may fill in what only it
            knows, such as how a source is read.
        configuration: The job's configuration.
        collectors: For each stream whose results the client collects, what takes them, by id.
        engine: What the user gave the environment to run on: a SparkSession, or None.
        python_files: Modules that workers need.
        listeners: What is told of the job.
    """

    name: str
    graph: StreamGraph
    configuration: Configuration
    collectors: dict[str, Callable[[list[Any]], None]] = field(default_factory=dict)
    engine: Any = None
    python_files: tuple[str, ...] = ()
    listeners: tuple[EpochListener, ...] = ()


@dataclass
class JobProgress:
    """How far a job has come.

    Attributes:
        status: Its status.
        epochs: How many epochs are complete.
        records_in: How many records its sources have read.
        operators: What each operator did so far, by its id: a dict of name, records_in, records_out,
            input_watermark, output_watermark (milliseconds), late_records, timers, state_size
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


class JobHandle(Protocol):
    """A job that was started."""

    job_id: str

    def progress(self) -> JobProgress:
        """Return how far the job has come."""

    def wait(self) -> JobProgress:
        """Wait until the job has ended.

        Raises:
            PenstockError: What the job failed with.
        """

    def cancel(self) -> None:
        """Stop the job; what is not committed is given up."""

    def stop(self) -> None:
        """Stop the job after the epoch that is running, and wait for its end."""

    def savepoint(
        self,
        path: str | None = None,
        *,
        directory: str | None = None,
        stops: bool = False,
        ends_event_time: bool = False,
    ) -> str:
        """Write a savepoint between two epochs, and return where it is.

        Args:
            path: Where to.
            directory: Without a path: a new folder below it. Default:
                `execution.checkpointing.savepoint-dir`.
            stops: Whether no epoch follows.
            ends_event_time: Whether, before that, one more epoch ends all event time.

        Raises:
            SavepointError: If there is nothing to save, or nowhere to save it to.
            PenstockError: What the job failed with meanwhile.
        """


class Executor(Protocol):
    """Runs programs."""

    def submit(self, request: JobRequest) -> JobHandle:
        """Start a job.

        Raises:
            PenstockError: If the program cannot run on this executor.
        """


def load_executor(target: str) -> Executor:
    """Return the executor for a value of `execution.target`: `spark` or `local`."""
    import importlib

    module = importlib.import_module(f"penstock.executors.{target}")
    return module.create_executor()  # type: ignore[no-any-return]
