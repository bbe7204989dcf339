"""What a user's function may ask about the task it runs in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.runtime.metrics import MetricGroup


@dataclass(frozen=True)
class RuntimeContext:
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
    """

    task_name: str
    subtask: int = 0
    parallelism: int = 1
    max_parallelism: int = 128
    attempt_number: int = 0
    job_parameters: Mapping[str, str] = field(default_factory=dict)
    metrics: MetricGroup = field(default_factory=MetricGroup)

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

    def get_metrics_group(self) -> MetricGroup:
        """Return the group in which the function may register metrics."""
        return self.metrics
