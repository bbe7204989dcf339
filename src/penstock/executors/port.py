"""The port: what every executor is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.common.configuration.configuration import Configuration
from penstock.common.epoch_listener import EpochListener
from penstock.common.running_job import RunningJob
from penstock.graph.stream_graph import StreamGraph
from penstock.runtime.job_files.job_files import JobFiles


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
        is_awaited: Whether whoever starts the job waits for its end, so that only Ctrl-C and the REST API can cancel
            it.
        files: The files that it brings along for its functions, where they and the code are with the workers already;
            None where they are still to be brought there.
    """

    name: str
    graph: StreamGraph
    configuration: Configuration
    collectors: dict[str, Callable[[list[Any]], None]] = field(default_factory=dict)
    engine: object = None
    python_files: tuple[str, ...] = ()
    listeners: tuple[EpochListener, ...] = ()
    is_awaited: bool = False
    files: JobFiles | None = None


class Executor(Protocol):
    """Runs programs."""

    def submit(self, request: JobRequest) -> RunningJob:
        """Start a job.

        Raises:
            PenstockError: If the program cannot run on this executor.
        """

    def to_data_frame(self, request: JobRequest, collect_id: str, schema: Any) -> Any:
        """Return results of a bounded program as a DataFrame of the engine, which runs it when it is computed.

        Args:
            request: The program.
            collect_id: The stream whose results are wanted.
            schema: Their columns: see `DataStream.to_data_frame`.

        Raises:
            UnsupportedOperationError: If the executor has no DataFrames.
            PenstockError: If the program is not bounded, or cannot run on this executor.
        """
