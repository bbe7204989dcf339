"""What every executor offers, and what it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.common.configuration import Configuration
from penstock.common.epoch_listener import EpochListener
from penstock.common.running_job import RunningJob
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
        is_awaited: Whether whoever starts the job waits for its end, so that nobody can cancel it but by
            Ctrl-C.
    """

    name: str
    graph: StreamGraph
    configuration: Configuration
    collectors: dict[str, Callable[[list[Any]], None]] = field(default_factory=dict)
    engine: Any = None
    python_files: tuple[str, ...] = ()
    listeners: tuple[EpochListener, ...] = ()
    is_awaited: bool = False


class Executor(Protocol):
    """Runs programs."""

    def submit(self, request: JobRequest) -> RunningJob:
        """Start a job.

        Raises:
            PenstockError: If the program cannot run on this executor.
        """


@contextmanager
def releasing() -> Iterator[ExitStack]:
    """Give what a job takes on its way to the start; if it does not get there, all of it is let go of."""
    taken = ExitStack()
    try:
        yield taken
    except BaseException:
        taken.close()
        raise


def load_executor(target: str) -> Executor:
    """Return the executor for a value of `execution.target`: `spark` or `local`."""
    import importlib

    module = importlib.import_module(f"penstock.executors.{target}")
    return module.create_executor()  # type: ignore[no-any-return]
