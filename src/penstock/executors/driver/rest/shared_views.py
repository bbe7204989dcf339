"""Jobs' views as the page reads them: however many pages are open, each view is made and encoded once for all."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

from penstock.executors.driver.reports.job_view import JobView, job_view_json
from penstock.executors.driver.rest.exchange import Answer, Request
from penstock.executors.driver.rest.watched_job import WatchedJob

_SECONDS: Final = 0.5


@dataclass
class _Shared:
    """What was last said of a job. `lock` is held while it is made anew, so that others wait for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    made: float = 0.0
    view: JobView | None = None
    body: bytes = b""
    tag: str = ""


class SharedViews:
    """Says what is to be seen of jobs; what it said is said again for half a second.

    Args:
        clock: Returns seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._shared: WeakKeyDictionary[WatchedJob, _Shared] = WeakKeyDictionary()

    def answer(self, job: WatchedJob, request: Request) -> Answer:
        """Return the view of a job; with 304 if the request says that it is known."""
        with self._lock:
            shared = self._shared.setdefault(job, _Shared())
        with shared.lock:
            if shared.view is None or self._clock() - shared.made >= _SECONDS:
                self._make(shared, job.view())
            body, tag = shared.body, shared.tag
        # A browser may keep it, but has to ask each time whether it still holds.
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Answer(b"", 304, headers=headers)
        return Answer(body, headers=headers)

    def _make(self, shared: _Shared, view: JobView) -> None:
        if view is not shared.view:
            shared.body = Answer(job_view_json(view)).encoded()
            shared.tag = f'"{hashlib.sha256(shared.body).hexdigest()[:32]}"'
            shared.view = view
        shared.made = self._clock()
