"""A request on its way to what answers it: the job, the chain and the numbers that its path names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from penstock.executors.driver.reports.job_view import JobView, VertexView
from penstock.executors.driver.rest.exchange import IDENTIFIER, Request, RequestRefusedError
from penstock.executors.driver.rest.operations import Operations
from penstock.executors.driver.rest.shared_views import SharedViews
from penstock.executors.driver.rest.watched_job import JobsOfProcess, WatchedJob


@dataclass
class Call:
    """A request, and what it is about.

    Attributes:
        request: The request.
        parameters: The variable parts of its path, by name.
        jobs: Returns the jobs of this process.
        operations: What was asked for and may not be done yet.
        shared_views: Says what is to be seen of jobs.
    """

    request: Request
    parameters: Mapping[str, str]
    jobs: JobsOfProcess
    operations: Operations
    shared_views: SharedViews

    @property
    def query(self) -> Mapping[str, str]:
        """The parameters of the query."""
        return self.request.query

    @cached_property
    def views(self) -> Sequence[JobView]:
        """All jobs as they are now, the last one first, as in Flink."""
        return [self._view_of(job) for job in reversed(self.jobs())]

    @cached_property
    def job(self) -> WatchedJob:
        """The job that the path names.

        Raises:
            RequestRefusedError: If there is none.
        """
        wanted = self.identifier("jobid")
        for job in self.jobs():
            if job.job_id == wanted:
                return job
        raise RequestRefusedError(404, f"Job {wanted} not found")

    @cached_property
    def view(self) -> JobView:
        """That job as it is now."""
        return self._view_of(self.job)

    def _view_of(self, job: WatchedJob) -> JobView:
        # Who watches shares views with others; who steers has to know.
        return self.shared_views.view(job) if self.request.method == "GET" else job.view()

    @cached_property
    def vertex(self) -> VertexView:
        """The chain that the path names.

        Raises:
            RequestRefusedError: If the job has none such.
        """
        wanted = self.identifier("vertexid")
        for vertex in self.view.vertices:
            if vertex.vertex_id == wanted:
                return vertex
        raise RequestRefusedError(404, f"JobVertex {wanted} not found")

    def identifier(self, name: str) -> str:
        """Return a part of the path that is an id of 32 hexadecimal digits.

        Raises:
            RequestRefusedError: If it is none.
        """
        text = self.parameters[name]
        if not IDENTIFIER.fullmatch(text):
            raise _unreadable("path", name, text)
        return text

    def number(self, name: str) -> int:
        """Return a part of the path that is a number.

        Raises:
            RequestRefusedError: If it is none.
        """
        return _number("path", name, self.parameters[name])

    def number_asked(self, name: str, default: int) -> int:
        """Return a number that the query says.

        Raises:
            RequestRefusedError: If it says something else.
        """
        text = self.query.get(name)
        return default if text is None else _number("query", name, text)


def _number(where: str, name: str, text: str) -> int:
    """Return a number of at most 18 digits: what Java's `long` holds, as Flink's parameters do."""
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise _unreadable(where, name, text)
    return int(text)


def _unreadable(where: str, name: str, text: str) -> RequestRefusedError:
    return RequestRefusedError(
        400,
        f"The {where} parameter {name} cannot be {text[:200]!r}.",
    )
