"""Follows the jobs of this process, and has it said how they are doing."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from penstock.common.configuration.configuration import Configuration
from penstock.executors.driver.progress.job_line import last_line
from penstock.executors.driver.progress.places import Place, place_for
from penstock.executors.driver.reports.job_view import JobView
from penstock.forked import anew_in_forks

_LOG: Final = logging.getLogger("penstock")


class Shown(Protocol):
    """A job, as far as is told of it."""

    @property
    def has_ended(self) -> bool:
        """Whether it has ended."""

    def view(self) -> JobView:
        """Return the job as it is now."""


class FollowedJob:
    """A job that is followed until it has ended.

    Args:
        job: The job.
        place: Where it is said how it is doing; None for nowhere.
        forget: Is called when it has ended.
        is_awaited: Whether whoever starts it waits for its end.

    Attributes:
        is_told: Whether it was said how it has ended.
    """

    def __init__(
        self,
        job: Shown,
        place: Place | None = None,
        forget: Callable[[FollowedJob], None] = lambda _: None,
        *,
        is_awaited: bool = False,
    ) -> None:
        self._job = job
        self._place = place
        self.is_told = False
        self._cause = ""
        self._forget = forget
        self._waiting = int(is_awaited)
        self._lock = threading.Lock()
        self.due = time.monotonic() + (place.seconds if place else 0.0)

    def show(self) -> None:
        """Say how it is doing now; if it has ended, and nobody has said so, how it ended."""
        if self._job.has_ended:
            self.end()
        with self._lock, self._harmless():
            if self._place is not None:
                self.due = time.monotonic() + self._place.seconds
                self._place.show(self._job.view, is_awaited=self._waiting > 0)

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """Somebody waits for the end of the job meanwhile."""
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1

    def end(self, *, has_started: bool = True) -> None:
        """Say how it has ended, and follow it no longer.

        Args:
            has_started: Whether there is anything to say of it.
        """
        # Who comes second comes back when the line is there.
        with self._lock:
            place, self._place = self._place, None
            if place is None:
                return
            self._forget(self)
            with self._harmless():
                text = last_line(self._job.view()) if has_started else None
                self.is_told = place.leave(text)

    @contextmanager
    def _harmless(self) -> Iterator[None]:
        """Log what goes wrong, so that no job fails with it; the same once, as it may come ten times a second."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a line
            if (cause := repr(error)) != self._cause:
                self._cause = cause
                _LOG.warning(
                    "It cannot be said how a job is doing; the job goes on.", exc_info=True
                )


class Followers:
    """Have it said how the jobs of this process are doing: a thread, while there are any."""

    def __init__(self) -> None:
        self._jobs: list[FollowedJob] = []
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def follow(
        self,
        job: Shown,
        configuration: Configuration,
        *,
        is_awaited: bool = False,
    ) -> FollowedJob:
        """Follow a job.

        Args:
            job: The job. It is looked at a few times a second at the most.
            configuration: Its configuration.
            is_awaited: Whether whoever starts it waits for its end.
        """
        place = place_for(configuration)
        followed = FollowedJob(job, place, self.forget, is_awaited=is_awaited)
        if place is not None:
            with self._changed:
                self._jobs.append(followed)
                self._changed.notify()
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="job-lines", daemon=True)
                    self._thread.start()
        return followed

    def forget(self, job: FollowedJob) -> None:
        """Follow a job no longer."""
        with self._changed:
            self._jobs.remove(job)
            self._changed.notify()

    def _run(self) -> None:
        while (due := self._wait()) is not None:
            for job in due:
                job.show()

    def _wait(self) -> list[FollowedJob] | None:
        """Wait until something is to be said, and return of which jobs; None if there are none left."""
        with self._changed:
            while self._jobs:
                now = time.monotonic()
                due = [job for job in self._jobs if job.due <= now]
                if due:
                    return due
                self._changed.wait(min(job.due for job in self._jobs) - now)
            self._thread = None
            return None


FOLLOWERS: Final = Followers()
"""Those of this process."""
anew_in_forks(FOLLOWERS)
