"""A driver of jobs that are made up: the real server, in front of jobs that note what is asked of them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from tests.executors.driver.rest.client import ShownJob
from tests.executors.driver.rest.page import views

from penstock.executors.driver.reports.job_view import JobView
from penstock.executors.driver.reports.recent_log import RecentLog
from penstock.executors.driver.rest.access import Access
from penstock.executors.driver.rest.routes import Api
from penstock.executors.driver.rest.server import RestServer

SAVEPOINT: Final = "usual/savepoint-1"


class MovingJob(ShownJob):
    """A job that is another picture each time it is seen.

    Attributes:
        now: Gives the next picture.
        cancelled: Whether somebody cancelled it.
    """

    def __init__(self, now: Callable[[], JobView]) -> None:
        super().__init__(now())
        self.now = now
        self.cancelled = False

    def view(self) -> JobView:
        return self.now()

    def cancel(self) -> None:
        self.cancelled = True


class Driver:
    """A driver, which may go away, and come back at the same port.

    Attributes:
        job: Its only job.
        token: What a request has to know; None if nothing.
        log: The last lines of its log.
    """

    def __init__(self, now: Callable[[], JobView], log: RecentLog) -> None:
        self.job = MovingJob(now)
        self.token: str | None = None
        self.log = log
        self._server: RestServer | None = None
        self._port = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}/"

    def start(self) -> None:
        """Answer from now on."""
        api = Api(lambda: [self.job])
        self._server = RestServer(api, Access(self.token), "127.0.0.1", [self._port])
        self._port = self._server.port

    def stop(self) -> None:
        """Be gone."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def write(self, level: int, message: str) -> None:
        """Write a line into the log, as a function of the user does."""
        record = logging.LogRecord("clicks", level, __file__, 1, message, (), None)
        self.log.add(record, job_id=views.JOB, operator="Ask prices", subtask=2, epoch=7)
