"""What the server has to know of a job: `ObservedJob` is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from penstock.common.running_job import RunningJob
from penstock.executors.driver.reports.job_view import JobView


class WatchedJob(Protocol):
    """A job that can be seen, from before it runs until a while after it has ended."""

    @property
    def job_id(self) -> str:
        """Its id."""

    @property
    def running(self) -> RunningJob | None:
        """What steers it; None before it has started, and once it has ended."""

    @property
    def has_ended(self) -> bool:
        """Whether it has ended."""

    def view(self) -> JobView:
        """Return the job as it is now."""


JobsOfProcess: TypeAlias = Callable[[], Sequence[WatchedJob]]
"""Returns the jobs, those that run and the last that have ended, the oldest first."""
