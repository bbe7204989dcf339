"""Views of jobs as all see them who watch: however many they are, a view is made seldom, and once for all."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

from penstock.executors.driver.reports.explanation import explained
from penstock.executors.driver.reports.job_view import JobView, job_view_json
from penstock.executors.driver.reports.pace import Pace
from penstock.executors.driver.rest.exchange import Answer, Request
from penstock.executors.driver.rest.watched_job import WatchedJob

_LEAST_SECONDS: Final = 0.5
_TIMES_OF_METRICS: Final = 100


@dataclass
class _Shared:
    """What was last seen of a job. `lock` is held while it is made anew, so that others wait for it.

    Attributes:
        pace: Says when that is.
        runs: Whether it ran then: that a job begins or ends is seen at once.
        body: It as JSON, if somebody asked for that.
    """

    pace: Pace
    lock: threading.Lock = field(default_factory=threading.Lock)
    view: JobView | None = None
    runs: bool = False
    body: bytes | None = None
    tag: str = ""


def page_view(view: JobView) -> dict[str, Any]:
    """Return a view as data that JSON can hold, with what there is to say of the job in sentences."""
    told = [vars(sentence) for sentence in explained(view)]
    return {**job_view_json(view), "explanation": told}


class SharedViews:
    """Says what is to be seen of jobs; what it said is said again for half a second, or longer if it costs much.

    Args:
        clock: Returns seconds that never go back.
        spent: Returns the seconds of a processor that the thread has taken.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        spent: Callable[[], float] = time.thread_time,
    ) -> None:
        self._clock = clock
        self._spent = spent
        self._lock = threading.Lock()
        self._shared: WeakKeyDictionary[WatchedJob, _Shared] = WeakKeyDictionary()
        self._metrics_lock = threading.Lock()
        self._metrics: bytes | None = None
        # Of hundreds of subtasks it takes longer than all views: who asks each five seconds may get it twice.
        self._metrics_pace = Pace(0.0, clock, spent, times=_TIMES_OF_METRICS)

    def forget(self) -> None:
        """Show nothing again of what was said: somebody has steered a job."""
        with self._lock:
            self._shared = WeakKeyDictionary()
            self._metrics = None

    def metrics(self, page: Callable[[], bytes]) -> bytes:
        """Return the page of metrics of all jobs.

        Args:
            page: Makes it.
        """
        with self._metrics_lock:
            found = self._metrics
            if found is None or self._metrics_pace.is_due:
                with self._metrics_pace.making():
                    found = self._metrics = page()
            return found

    def view(self, job: WatchedJob) -> JobView:
        """Return the view of a job."""
        with self._seen(job) as (_, view):
            return view

    def answer(self, job: WatchedJob, request: Request) -> Answer:
        """Return the view of a job as JSON; with 304 if the request says that it is known."""
        with self._seen(job) as (shared, view):
            if shared.body is None:
                with shared.pace.adding():
                    shared.body = Answer(page_view(view)).encoded()
                    shared.tag = f'"{hashlib.sha256(shared.body).hexdigest()[:32]}"'
            body, tag = shared.body, shared.tag
        # A browser may keep it, but has to ask each time whether it still holds.
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Answer(b"", 304, headers=headers)
        return Answer(body, headers=headers)

    @contextmanager
    def _seen(self, job: WatchedJob) -> Iterator[tuple[_Shared, JobView]]:
        """Have inside what is to be seen of a job, which nobody else makes anew meanwhile."""
        with self._lock:
            shared = self._shared.get(job)
            if shared is None:
                pace = Pace(_LEAST_SECONDS, self._clock, self._spent)
                shared = self._shared[job] = _Shared(pace)
        with shared.lock:
            view, runs = shared.view, job.running is not None
            # To look at one that does not run costs nothing.
            if view is None or not (runs and shared.runs) or shared.pace.is_due:
                with shared.pace.making():
                    view = job.view()
                if view is not shared.view:
                    shared.view, shared.body = view, None
                shared.runs = runs
            yield shared, view
