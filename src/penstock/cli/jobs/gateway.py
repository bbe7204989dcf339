"""`penstock jobs`: the jobs of all drivers of this machine at one address, for clients of Flink and for the page."""

from __future__ import annotations

import http.client
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from penstock.executors.driver.rest.answers.cluster import configuration_answer
from penstock.executors.driver.rest.exchange import (
    IDENTIFIER,
    Answer,
    Request,
    RequestRefusedError,
)

_SECONDS: Final = 30.0
_SECONDS_TO_LOOK: Final = 2.0
_ON_THE_WAY: Final = "penstock"
"""What the header Via says: a gateway among the drivers of another would ask in a circle."""
_KNOWS_NOTHING: Final = (401, 404)
_PASSED_ON: Final = ("authorization", "if-none-match")
_PASSED_BACK: Final = ("etag", "cache-control", "allow", "www-authenticate")


class _Found(NamedTuple):
    """What a driver answered to a question that all are asked."""

    driver: str
    body: dict[str, Any]


class Gateway:
    """Answers for the drivers at some addresses, which may come and go.

    What all know together is put together; what is about a job is passed on to its driver, with the token that was
    sent, and what that answers is passed back. It has no token itself, so it opens no door that a driver keeps shut.

    Args:
        drivers: Their addresses, as "127.0.0.1:8081". Those where none is are asked in vain each time.
        is_trusted: Tells of a driver whether it is given the tokens that are sent. Default: all are.
    """

    def __init__(
        self, drivers: Iterable[str], is_trusted: Callable[[str], bool] | None = None
    ) -> None:
        self._drivers = tuple(dict.fromkeys(drivers))
        self._is_trusted = is_trusted
        self._of_jobs: dict[str, str] = {}
        self._threads = ThreadPoolExecutor(max(1, len(self._drivers)), "drivers")

    def close(self) -> None:
        """Ask nobody any more."""
        self._threads.shutdown(wait=False)

    def answer(self, request: Request) -> Answer:
        """Answer a request.

        Raises:
            RequestRefusedError: If there is no answer.
        """
        if _ON_THE_WAY in request.headers.get("via", ""):
            raise RequestRefusedError(508, "This is no driver: it asks the drivers itself.")
        path = request.path.rstrip("/")
        if request.method == "GET" and path == "/config":
            return Answer(configuration_answer())
        together = _TOGETHER.get(path) if request.method == "GET" else None
        if together is not None:
            answers, refusal = self._ask_all(request, together.key)
            if refusal is not None and not answers:
                raise refusal
            return Answer(together.put(answers))
        parts = path.split("/")
        if len(parts) > 2 and parts[1] == "jobs" and IDENTIFIER.fullmatch(parts[2]):
            return self._ask_driver_of(parts[2], request)
        if parts[1] == "savepoint-disposal":
            return self._ask_any(request)
        raise RequestRefusedError(
            404, f"Not found: {request.path}. What is not about a job, each driver is asked for."
        )

    def _ask_driver_of(self, job_id: str, request: Request) -> Answer:
        driver = self._of_jobs.get(job_id)
        if driver is not None:
            try:
                return self._pass_on(request, driver)
            except ConnectionRefusedError:
                self._of_jobs.pop(job_id, None)  # others may ask at the same time
        asked = Request("GET", "/jobs", headers=request.headers)
        answers, refusal = self._ask_all(asked, "jobs")
        for found in answers:
            self._of_jobs |= {str(job["id"]): found.driver for job in found.body["jobs"]}
        known = self._of_jobs.get(job_id)
        if known is not None:
            return self._pass_on(request, known)
        if refusal is not None:
            raise refusal
        gone = "" if driver is None else f": its driver, at {driver}, has ended"
        raise RequestRefusedError(404, f"Job {job_id} not found{gone}")

    def _ask_any(self, request: Request) -> Answer:
        """Ask one driver after the other, until one says more than that it does not know."""
        refusal = RequestRefusedError(404, "No driver knows of it.")
        for driver in self._drivers:
            with suppress(ConnectionRefusedError):
                answer = self._pass_on(request, driver)
                if answer.status not in _KNOWS_NOTHING:
                    return answer
                if answer.status == 401:
                    refusal = _wants_token(driver, answer)
        raise refusal

    def _ask_all(
        self, request: Request, key: str
    ) -> tuple[list[_Found], RequestRefusedError | None]:
        """Ask all drivers, and return what those answer that are there, and what is to be said if one wants a token."""
        ask = partial(self._asked, request)
        answers = dict(zip(self._drivers, self._threads.map(ask, self._drivers), strict=True))
        found = [
            _Found(driver, body)
            for driver, answer in answers.items()
            if answer is not None and (body := _plain(answer, key)) is not None
        ]
        refusals = [
            _wants_token(driver, one)
            for driver, one in answers.items()
            if one is not None and one.status == 401
        ]
        return found, refusals[0] if refusals else None

    def _asked(self, request: Request, driver: str) -> Answer | None:
        """Return what a driver answers; None where there is none."""
        try:
            return self._pass_on(request, driver, _SECONDS_TO_LOOK)
        except (OSError, RequestRefusedError):
            return None

    def _pass_on(self, request: Request, driver: str, seconds: float = _SECONDS) -> Answer:
        if "authorization" in request.headers and self._is_trusted and not self._is_trusted(driver):
            others = {
                name: text for name, text in request.headers.items() if name != "authorization"
            }
            request = replace(request, headers=others)
        return _pass_on(request, driver, seconds)


def _wants_token(driver: str, answer: Answer) -> RequestRefusedError:
    return RequestRefusedError(401, f"The driver at {driver} wants its rest.token.", answer.headers)


def _pass_on(request: Request, driver: str, seconds: float) -> Answer:
    """Pass a request on to a driver, and return its answer.

    Raises:
        ConnectionRefusedError: If there is none.
        RequestRefusedError: If it is there, and does not answer.
    """
    parts = urlsplit(f"//{driver}")
    path = quote(request.path) + (f"?{urlencode(request.query)}" if request.query else "")
    headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
    body = None if request.body is None else json.dumps(request.body)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=seconds)
    try:
        connection.request(request.method, path, body, {**headers, "Via": f"1.1 {_ON_THE_WAY}"})
        answer = connection.getresponse()
        content = answer.read()
    except ConnectionRefusedError:
        raise
    except (OSError, http.client.HTTPException) as error:
        raise RequestRefusedError(
            502, f"The driver at {driver} does not answer: {error!r}"
        ) from error
    finally:
        connection.close()
    named = {name.lower(): value for name, value in answer.getheaders()}
    kept = {name.title(): named[name] for name in _PASSED_BACK if name in named}
    return Answer(content, answer.status, named.get("content-type", ""), kept)


def _plain(answer: Answer, key: str) -> dict[str, Any] | None:
    """Return what an answer says; None if it is none of a REST API of jobs, which has that key."""
    try:
        found = json.loads(answer.body) if answer.status == 200 else None
    except ValueError:
        return None
    return found if isinstance(found, dict) and key in found else None


def _jobs(answers: Sequence[_Found]) -> dict[str, Any]:
    jobs = [job for found in answers for job in found.body["jobs"]]
    return {"jobs": sorted(jobs, key=_started, reverse=True)}


def _started(job: Mapping[str, Any]) -> int:
    return int(job.get("start-time", 0))


def _overview(answers: Sequence[_Found]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    versions = {
        "flink-version": configuration_answer()["flink-version"],
        "flink-commit": configuration_answer()["flink-revision"],
    }
    counts.update(dict.fromkeys(_COUNTS, 0))
    for found in answers:
        counts.update({name: found.body.get(name, 0) for name in _COUNTS})
    return {**counts, **versions}


_COUNTS: Final = (
    "taskmanagers",
    "slots-total",
    "slots-available",
    "jobs-running",
    "jobs-finished",
    "jobs-cancelled",
    "jobs-failed",
)


def _task_managers(answers: Sequence[_Found]) -> dict[str, Any]:
    return {
        "taskmanagers": [
            {**one, "id": found.driver} for found in answers for one in found.body["taskmanagers"]
        ]
    }


class _Together(NamedTuple):
    """How the answers of all drivers become one.

    Attributes:
        key: What each has.
        put: Puts them together.
    """

    key: str
    put: Callable[[Sequence[_Found]], dict[str, Any]]


_TOGETHER: Final = {
    "/overview": _Together("jobs-running", _overview),
    "/jobs": _Together("jobs", _jobs),
    "/jobs/overview": _Together("jobs", _jobs),
    "/taskmanagers": _Together("taskmanagers", _task_managers),
}
"""What all drivers are asked for, by its path."""
