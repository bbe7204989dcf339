"""What a user's function may ask about the task it runs in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.errors import UnsupportedOperationError
from penstock.metrics import MetricGroup
from penstock.runtime import metrics as counted
from penstock.runtime.job_files.distributed_cache import DistributedCache
from penstock.runtime.job_files.job_files import JobFiles
from penstock.runtime.state.api import KeyedStateStore
from penstock.runtime.state.descriptors import StateDescriptor


class KeyedStates(Protocol):
    """Where the keyed state of a function is.

    Attributes:
        current_key: The key of the record or timer that is being processed.
    """

    current_key: Any

    def get_state(self, descriptor: StateDescriptor) -> Any:
        """Return the state of that name, made if new."""


@dataclass(frozen=True)
class RuntimeContext(KeyedStateStore):
    """What a user's function may ask about the task it runs in; given to its `open`.

    Functions are opened once per process and subtask, not once per epoch.

    Attributes:
        task_name: The name of the operator.
        subtask: The index of this subtask, from 0.
        parallelism: The number of subtasks of the operator.
        max_parallelism: The number of key groups of the operator.
        attempt_number: How often this subtask was tried before, in this epoch.
        job_parameters: The job's global parameters.
        metrics: Where the function may count.
        files: What the job brings along for its functions.
        keyed_state: Where the function's keyed state is; None behind a stream without keys.
        without_state: What kind of function it is, if that kind never has keyed state.
    """

    task_name: str
    subtask: int = 0
    parallelism: int = 1
    max_parallelism: int = 128
    attempt_number: int = 0
    job_parameters: Mapping[str, str] = field(default_factory=dict)
    metrics: MetricGroup = field(default_factory=counted.MetricGroup)
    files: JobFiles = field(default_factory=JobFiles)
    keyed_state: KeyedStates | None = None
    without_state: str | None = None

    def get_task_name(self) -> str:
        """Return the name of the operator."""
        return self.task_name

    def get_number_of_parallel_subtasks(self) -> int:
        """Return the parallelism of the operator."""
        return self.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the maximum parallelism of the operator: its number of key groups."""
        return self.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        """Return the index of this subtask, from 0."""
        return self.subtask

    def get_attempt_number(self) -> int:
        """Return how often this subtask was tried before."""
        return self.attempt_number

    def get_task_name_with_subtasks(self) -> str:
        """Return the operator's name with the number of this subtask, as in `Map (1/4)`."""
        return f"{self.task_name} ({self.subtask + 1}/{self.parallelism})"

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Return a global job parameter, or the default if it was not set."""
        return self.job_parameters.get(key, default_value)

    def get_distributed_cache(self) -> DistributedCache:
        """Return where the function finds the files that `register_cached_file` named. PyFlink has no such method."""
        return DistributedCache(self.files)

    def _state(self, descriptor: StateDescriptor) -> Any:
        if self.without_state is not None:
            raise UnsupportedOperationError(
                f"{self.task_name!r} asks for keyed state, but {self.without_state} has none, behind "
                "key_by() or not.",
                hint="As in Flink. Have a KeyedProcessFunction before it keep the state, and emit what is "
                "needed of it.",
            )
        if self.keyed_state is None:
            raise UnsupportedOperationError(
                f"{self.task_name!r} asks for keyed state, but its stream has no keys.",
                hint="Call key_by() before the operator, and use a function for keyed streams.",
            )
        return self.keyed_state.get_state(descriptor)

    def get_metrics_group(self) -> MetricGroup:
        """Return the group in which the function may register metrics."""
        return self.metrics
