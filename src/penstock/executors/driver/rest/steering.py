"""Cancels jobs, stops them, and takes savepoints of them."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from penstock.common.configuration.options import SAVEPOINT_DIR
from penstock.common.job_status import JobStatus
from penstock.common.plain_text import without_logins
from penstock.common.running_job import RunningJob, Turn
from penstock.errors import SavepointError
from penstock.executors.driver.rest.call import Call
from penstock.executors.driver.rest.exchange import Answer, RequestRefusedError

_ID: Final = re.compile(r"[0-9a-f]{32}")


def cancel(call: Call) -> Answer:
    """Cancel a job.

    Raises:
        RequestRefusedError: If it has ended otherwise, or the query asks for something else.
    """
    mode = call.query.get("mode", "cancel").lower()
    if mode == "stop":
        raise RequestRefusedError(
            410,
            'The termination mode "stop" has been removed. For an ungraceful shutdown, please use "cancel" '
            'instead. For a graceful shutdown, please use "jobs/:jobId/stop" instead.',
        )
    if mode != "cancel":
        raise RequestRefusedError(
            400,
            "Bad request, could not parse parameters: Cannot resolve query parameter (mode) from value "
            f'"{mode}".',
        )
    status = call.view.status
    if status.is_terminal_state() and status is not JobStatus.CANCELED:
        raise RequestRefusedError(
            409,
            "Job cancellation failed because the job has already reached another terminal state "
            f"({status.name}).",
        )
    running = call.job.running
    if running is None and status is not JobStatus.CANCELED:
        raise RequestRefusedError(409, "The job is being started, or is about to end: try again.")
    if running is not None:
        running.cancel()
    return Answer({}, 202)


def savepoint(call: Call) -> Answer:
    """Take a savepoint of a job, and stop it if the request says so.

    Raises:
        RequestRefusedError: If the request says what cannot be.
    """
    body = _body(call)
    stops = _flag(body, "cancel-job")
    return _begin(call, body, "target-directory", stops=stops, drains=False)


def stop(call: Call) -> Answer:
    """Stop a job with a savepoint.

    Raises:
        RequestRefusedError: If the request says what cannot be.
    """
    body = _body(call)
    drains = _flag(body, "drain")
    return _begin(call, body, "targetDirectory", stops=True, drains=drains)


def savepoint_status(call: Call) -> dict[str, Any]:
    """Return how far a savepoint has come.

    Raises:
        RequestRefusedError: If nobody asked for it.
    """
    return call.operations.result(call.identifier("jobid"), call.identifier("triggerid"))


def _begin(call: Call, body: Mapping[str, Any], key: str, *, stops: bool, drains: bool) -> Answer:
    directory = body.get(key)
    if not isinstance(directory, str | None):
        raise RequestRefusedError(400, f"{key} is a text, not {directory!r}.")
    if not directory and not call.view.configuration.get(SAVEPOINT_DIR.key):
        raise RequestRefusedError(
            400, f"Config key [{SAVEPOINT_DIR.key}] is not set. Property [{key}] must be provided."
        )
    trigger = _trigger(body)
    running = call.job.running
    turn = None if running is None else running.turn(after_first=True)
    is_new = False
    try:
        work = partial(_write, running, turn, directory or None, stops=stops, drains=drains)
        is_new = call.operations.start(call.job.job_id, trigger, work)
    finally:
        if turn is not None and not is_new:
            turn.close()
    return Answer({"request-id": trigger}, 202)


def _write(
    running: RunningJob | None,
    turn: Turn | None,
    directory: str | None,
    *,
    stops: bool,
    drains: bool,
) -> dict[str, Any]:
    if running is None:
        raise SavepointError(
            "The job does not run, so there is no savepoint of it.",
            hint="Take one while it runs. What it committed is at its checkpoint location.",
        )
    location = running.savepoint(
        directory=directory, turn=turn, stops=stops, ends_event_time=drains
    )
    return {"location": without_logins(location)}


def _body(call: Call) -> Mapping[str, Any]:
    body = call.request.body
    if body is None:
        return {}
    if not isinstance(body, Mapping):
        raise RequestRefusedError(400, "The body is no JSON object.")
    return body


def _flag(body: Mapping[str, Any], key: str) -> bool:
    value = body.get(key)
    if not isinstance(value, bool | None):
        raise RequestRefusedError(400, f"{key} is true or false, not {value!r}.")
    return bool(value)


def _trigger(body: Mapping[str, Any]) -> str:
    trigger = body.get("triggerId")
    if trigger is None:
        return uuid.uuid4().hex
    if not isinstance(trigger, str) or not _ID.fullmatch(trigger):
        raise RequestRefusedError(400, f"triggerId is 32 hexadecimal digits, not {trigger!r}.")
    return trigger
