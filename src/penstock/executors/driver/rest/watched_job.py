"""What the server has to know of a job, and what it may do with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from penstock.executors.driver.reports.job_view import JobView


class WatchedJob(Protocol):
    """A job that can be seen and steered, while it runs and for a while after it has ended."""

    job_id: str

    def view(self) -> JobView:
        """Return the job as it is now."""

    def cancel(self) -> None:
        """Stop the job; what is not committed is given up."""

    def turn(self, *, after_first: bool = False) -> Any:
        """Ask for a turn between two epochs."""

    def savepoint(
        self,
        path: str | None = None,
        *,
        directory: str | None = None,
        stops: bool = False,
        ends_event_time: bool = False,
        turn: Any = None,
    ) -> str:
        """Write a savepoint between two epochs, and return where it is."""


JobsOfProcess: TypeAlias = Callable[[], Sequence[WatchedJob]]
"""Returns the jobs, those that run and the last that have ended, the oldest first."""
