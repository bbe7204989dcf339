"""The jobs of this process: those that run, and the last few that have ended."""

from __future__ import annotations

import threading
import uuid
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from penstock import uncaught
from penstock.common.job_status import JobStatus
from penstock.executors.driver.observation.observed_job import ObservedJob
from penstock.executors.driver.progress.job_line import last_line
from penstock.executors.driver.progress.places import at_interrupt
from penstock.executors.driver.progress.progress import FOLLOWERS
from penstock.executors.port import JobRequest
from penstock.forked import anew_in_forks

_MOST_ENDED: Final = 10


class JobRegistry:
    """Knows the jobs that run in this process, and the last ten that have ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, ObservedJob] = {}
        self._ended: deque[ObservedJob] = deque(maxlen=_MOST_ENDED)

    def add(self, job: ObservedJob) -> None:
        """Take in a job that is being started."""
        with self._lock:
            self._sort()
            self._running[job.job_id] = job

    def _sort(self) -> None:
        # By the id that it had when it was started: one that is found running has another.
        ended = [started_as for started_as, job in self._running.items() if job.has_ended]
        self._ended.extend(map(self._running.pop, ended))

    def jobs(self) -> tuple[ObservedJob, ...]:
        """Return them, those that were started first first."""
        with self._lock:
            self._sort()
            return (*self._ended, *self._running.values())

    def job(self, job_id: str) -> ObservedJob | None:
        """Return the job with an id; None if it is not known, or was forgotten."""
        return next((job for job in self.jobs() if job.job_id == job_id), None)


JOBS: Final = JobRegistry()
"""Those of this process."""
anew_in_forks(JOBS)


@contextmanager
def observed(request: JobRequest) -> Iterator[ObservedJob]:
    """Start a job inside, seen by everybody in this process; what is raised is what its start failed with."""
    job = ObservedJob(uuid.uuid4().hex, request)
    JOBS.add(job)
    try:
        job.line = FOLLOWERS.follow(job, request.configuration, is_awaited=request.is_awaited)
        yield job
    except KeyboardInterrupt as error:
        if not job.has_begun:
            job.ended(JobStatus.CANCELED)
            job.line.end()
            uncaught.show_as(error, "" if job.line.is_told else at_interrupt(last_line(job.view())))
        raise
    except BaseException as error:
        job.ended(JobStatus.FAILED, error)
        job.line.end(has_started=False)
        raise
