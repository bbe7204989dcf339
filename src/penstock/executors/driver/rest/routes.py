"""The routes of the API: which path is answered by what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from penstock.errors import MetricsLibraryNotFoundError
from penstock.executors.driver.reporters.prometheus_page import CONTENT_TYPE, prometheus_page
from penstock.executors.driver.reporters.scopes import Naming, ScopeFormats
from penstock.executors.driver.reports.flink_metrics import metrics_of
from penstock.executors.driver.reports.recent_log import RECENT_LOG
from penstock.executors.driver.rest import steering
from penstock.executors.driver.rest.answers import checkpoints, cluster, jobs, vertices
from penstock.executors.driver.rest.answers.metrics import (
    aggregated,
    chosen_subtasks,
    job_metrics,
    selected,
    subtask_metrics,
    vertex_metrics,
)
from penstock.executors.driver.rest.audience import Audience
from penstock.executors.driver.rest.call import Call
from penstock.executors.driver.rest.exchange import Answer, Request, RequestRefusedError
from penstock.executors.driver.rest.operations import Operations
from penstock.executors.driver.rest.shared_views import SharedViews
from penstock.executors.driver.rest.watched_job import JobsOfProcess
from penstock.metrics import ReportedMetric

_Handler = Callable[[Call], Any]
"""Returns an `Answer`, or what is said as JSON."""


def _metrics_of_jobs(call: Call) -> Any:
    wanted = call.query.get("jobs")
    chosen = [
        job_metrics(view)
        for view in call.views
        if wanted is None or view.job_id in wanted.split(",")
    ]
    return aggregated(chosen, call.query)


def _metrics_of_subtasks(call: Call) -> Any:
    ranges = list(chosen_subtasks(call.query.get("subtasks")))
    found = subtask_metrics(call.view, call.vertex.vertex_id)
    chosen = [
        metrics
        for index, metrics in found.items()
        if not ranges or any(index in one for one in ranges)
    ]
    return aggregated(chosen, call.query)


def _metrics_of_subtask(call: Call) -> Any:
    subtask = vertices.find_subtask(call.vertex, call.number("subtaskindex"))
    metrics = subtask_metrics(call.view, call.vertex.vertex_id)
    return selected(metrics.get(subtask.index, {}), call.query)


def _page_for_prometheus(call: Call) -> Answer:
    try:
        page = call.shared_views.metrics(lambda: prometheus_page(_reported(call)))
    except MetricsLibraryNotFoundError as error:
        raise RequestRefusedError(501, str(error)) from error
    return Answer(page, content_type=CONTENT_TYPE)


def _reported(call: Call) -> Iterator[ReportedMetric]:
    for view in call.views:
        if not view.status.is_terminal_state():
            yield from Naming(ScopeFormats()).reported(metrics_of(view))


def _exceptions(call: Call) -> Any:
    return jobs.exceptions(call.view, call.number_asked("maxExceptions", jobs.MOST_EXCEPTIONS))


def _checkpoint_of_vertex(call: Call) -> Any:
    number = call.number("checkpointid")
    return checkpoints.checkpoint_of_vertex(call.view, number, call.vertex)


def _log(call: Call) -> Any:
    after = call.number_asked("after", 0)
    return {"lines": RECENT_LOG.lines(after, job_id=call.job.job_id)}


def _subtask(call: Call) -> Any:
    return vertices.subtask_of(call.vertex, call.view, call.number("subtaskindex"))


_JOB: Final = "/jobs/{jobid}"
_VERTEX: Final = f"{_JOB}/vertices/{{vertexid}}"
_SUBTASK: Final = f"{_VERTEX}/subtasks/{{subtaskindex}}"
ROUTES: Final[dict[tuple[str, str], _Handler]] = {
    ("GET", "/config"): lambda _: cluster.configuration_answer(),
    ("GET", "/metrics"): _page_for_prometheus,
    ("GET", "/overview"): lambda call: cluster.overview(call.views),
    ("GET", "/jobs"): lambda call: jobs.jobs(call.views),
    ("GET", "/jobs/overview"): lambda call: jobs.jobs_overview(call.views),
    ("GET", "/jobs/metrics"): _metrics_of_jobs,
    ("GET", "/jobmanager/metrics"): lambda call: selected(
        cluster.process_metrics(call.views), call.query
    ),
    ("GET", "/taskmanagers"): lambda call: cluster.task_managers(call.views),
    ("GET", _JOB): lambda call: jobs.job(call.view),
    ("PATCH", _JOB): steering.cancel,
    ("GET", f"{_JOB}/view"): lambda call: call.shared_views.answer(call.job, call.request),
    ("GET", f"{_JOB}/log"): _log,
    ("GET", f"{_JOB}/status"): lambda call: jobs.status(call.view),
    ("GET", f"{_JOB}/plan"): lambda call: jobs.plan(call.view),
    ("GET", f"{_JOB}/config"): lambda call: jobs.configuration(call.view),
    ("GET", f"{_JOB}/exceptions"): _exceptions,
    ("GET", f"{_JOB}/execution-result"): lambda call: jobs.execution_result(call.view),
    ("GET", f"{_JOB}/accumulators"): lambda call: jobs.accumulators(call.view),
    ("GET", f"{_JOB}/metrics"): lambda call: selected(job_metrics(call.view), call.query),
    ("POST", f"{_JOB}/stop"): steering.stop,
    ("POST", f"{_JOB}/savepoints"): steering.savepoint,
    ("GET", f"{_JOB}/savepoints/{{triggerid}}"): steering.operation_status,
    ("GET", f"{_JOB}/checkpoints"): lambda call: checkpoints.checkpoints(call.view),
    ("GET", f"{_JOB}/checkpoints/config"): lambda call: checkpoints.checkpoint_configuration(
        call.view
    ),
    ("GET", f"{_JOB}/checkpoints/details/{{checkpointid}}"): lambda call: checkpoints.checkpoint(
        call.view, call.number("checkpointid")
    ),
    ("POST", f"{_JOB}/checkpoints"): steering.checkpoint,
    ("GET", f"{_JOB}/checkpoints/{{triggerid}}"): steering.operation_status,
    ("POST", "/savepoint-disposal"): steering.dispose,
    ("GET", "/savepoint-disposal/{triggerid}"): steering.disposal_status,
    (
        "GET",
        f"{_JOB}/checkpoints/details/{{checkpointid}}/subtasks/{{vertexid}}",
    ): _checkpoint_of_vertex,
    ("GET", _VERTEX): lambda call: vertices.vertex(call.vertex, call.view),
    ("GET", f"{_VERTEX}/accumulators"): lambda call: vertices.vertex_accumulators(call.vertex),
    ("GET", f"{_VERTEX}/backpressure"): lambda call: vertices.back_pressure(call.vertex, call.view),
    ("GET", f"{_VERTEX}/metrics"): lambda call: selected(
        vertex_metrics(call.view, call.vertex.vertex_id), call.query
    ),
    ("GET", f"{_VERTEX}/subtasktimes"): lambda call: vertices.subtask_times(call.vertex, call.view),
    ("GET", f"{_VERTEX}/taskmanagers"): lambda call: vertices.task_managers_of(
        call.vertex, call.view
    ),
    ("GET", f"{_VERTEX}/watermarks"): lambda call: vertices.watermarks(call.vertex),
    ("GET", f"{_VERTEX}/subtasks/accumulators"): lambda call: vertices.subtask_accumulators(
        call.vertex, call.view
    ),
    ("GET", f"{_VERTEX}/subtasks/metrics"): _metrics_of_subtasks,
    ("GET", _SUBTASK): _subtask,
    ("GET", f"{_SUBTASK}/attempts/{{attempt}}"): _subtask,
    ("GET", f"{_SUBTASK}/metrics"): _metrics_of_subtask,
}
"""What answers, by method and path; a part of a path in braces may be anything."""


class _Route(NamedTuple):
    """A route, cut into the parts of its path."""

    method: str
    parts: tuple[str, ...]
    handler: _Handler

    def parameters(self, parts: tuple[str, ...]) -> dict[str, str] | None:
        """Return what stands for its variable parts; None if the path is another."""
        if len(parts) != len(self.parts):
            return None
        found = {}
        for wanted, part in zip(self.parts, parts, strict=True):
            if wanted.startswith("{"):
                found[wanted[1:-1]] = part
            elif wanted != part:
                return None
        return found


_ROUTES: Final = [
    _Route(method, tuple(path.split("/")), handler) for (method, path), handler in ROUTES.items()
]


class Api:
    """Answers requests about the jobs of this process.

    Args:
        jobs_of_process: Returns the jobs.
    """

    def __init__(self, jobs_of_process: JobsOfProcess) -> None:
        self._jobs = jobs_of_process
        self._operations = Operations()
        self._shared_views = SharedViews()
        self._audience = Audience()

    def is_awaited(self, *, with_results: bool) -> bool:
        """Return whether somebody who watches jobs, or has asked for something, waits for more.

        Args:
            with_results: Whether what was asked for counts, as a savepoint whose result nobody has fetched.
        """
        has_untold = with_results and not self._operations.are_told
        return has_untold or self._audience.is_waiting

    def answer(self, request: Request) -> Answer:
        """Answer a request.

        Raises:
            RequestRefusedError: If there is no answer.
        """
        parts = tuple(request.path.rstrip("/").split("/"))
        if parts[1:2] in (("jobs",), ("overview",)):
            self._note_audience()
        allowed = []
        for route in _ROUTES:
            parameters = route.parameters(parts)
            if parameters is None:
                continue
            if route.method == request.method:
                call = Call(request, parameters, self._jobs, self._operations, self._shared_views)
                try:
                    found = route.handler(call)
                finally:
                    if request.method != "GET":
                        self._shared_views.forget()
                return found if isinstance(found, Answer) else Answer(found)
            allowed.append(route.method)
        if allowed:
            raise RequestRefusedError(
                405,
                f"{request.method} is not allowed here, only {', '.join(allowed)}.",
                {"Allow": ", ".join(allowed)},
            )
        raise RequestRefusedError(404, f"Not found: {request.path}")

    def _note_audience(self) -> None:
        if not all(job.has_ended for job in self._jobs()):
            self._audience.asked()
