"""Cancels jobs, stops them, and takes savepoints of them."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from typing import Any, Final

from penstock.checkpoint.savepoint import dispose_savepoint
from penstock.checkpoint.storage import open_storage
from penstock.common.configuration.options import SAVEPOINT_DIR
from penstock.common.job_status import JobStatus
from penstock.common.plain_text import without_logins
from penstock.common.running_job import RunningJob, Turn
from penstock.errors import SavepointError
from penstock.executors.driver.rest.call import Call
from penstock.executors.driver.rest.exchange import IDENTIFIER, Answer, RequestRefusedError

_URL: Final = re.compile(r"file:/|[A-Za-z][A-Za-z0-9+.-]*://")
_CHECKPOINT_TYPES: Final = ("CONFIGURED", "INCREMENTAL")
_OF_NO_JOB: Final = ""


def cancel(call: Call) -> Answer:
    """Cancel a job.

    Raises:
        RequestRefusedError: If it has ended otherwise, or the query asks for something else.
    """
    mode = call.query.get("mode", "cancel").lower()
    if mode == "stop":
        raise RequestRefusedError(
            410,
            'A job is not stopped by mode "stop": POST /jobs/:jobid/stop takes a savepoint and ends it, and mode '
            '"cancel" ends it at once.',
        )
    if mode != "cancel":
        raise RequestRefusedError(400, f'mode is "cancel", not {mode[:200]!r}.')
    status = call.view.status
    if status.is_terminal_state() and status is not JobStatus.CANCELED:
        raise RequestRefusedError(
            409,
            f"The job cannot be cancelled any more: it is {status.name}.",
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


def operation_status(call: Call) -> dict[str, Any]:
    """Return how far a savepoint, or a checkpoint, has come.

    Raises:
        RequestRefusedError: If nobody asked for it.
    """
    return call.operations.result(call.identifier("jobid"), call.identifier("triggerid"))


def checkpoint(call: Call) -> Answer:
    """Have a job commit an epoch.

    Raises:
        RequestRefusedError: If the request says what cannot be.
    """
    body = _body(call)
    kind = body.get("checkpointType") or "CONFIGURED"
    if kind not in _CHECKPOINT_TYPES:
        raise RequestRefusedError(
            400,
            f"checkpointType is one of {', '.join(_CHECKPOINT_TYPES)}, not {str(kind)[:200]!r}: what stands alone is a "
            "savepoint.",
        )
    return _start(call, body, _commit, "failureCause")


def dispose(call: Call) -> Answer:
    """Delete a savepoint.

    Raises:
        RequestRefusedError: If the request names none.
    """
    body = _body(call)
    place = _place(body, "savepoint-path")
    if place is None:
        raise RequestRefusedError(400, "Say in savepoint-path which savepoint is to be deleted.")
    trigger = _trigger(body)
    call.operations.start(_OF_NO_JOB, trigger, partial(_dispose, place))
    return Answer({"request-id": trigger}, 202)


def disposal_status(call: Call) -> dict[str, Any]:
    """Return how far the deletion of a savepoint has come.

    Raises:
        RequestRefusedError: If nobody asked for it.
    """
    return call.operations.result(_OF_NO_JOB, call.identifier("triggerid"))


def _dispose(place: str) -> dict[str, Any]:
    dispose_savepoint(open_storage(place))
    return {}


def _place(body: Mapping[str, Any], key: str) -> str | None:
    """Return the folder or URL that a request names; None if it names none.

    Raises:
        RequestRefusedError: If it is no text, is relative, or has signs in it that nobody can see.
    """
    place = body.get(key)
    if not isinstance(place, str | None):
        raise RequestRefusedError(400, f"{key} is a text, not {str(place)[:200]!r}.")
    if not place:
        return None
    if not place.isprintable():
        raise RequestRefusedError(400, f"{key} has signs in it that cannot be printed: {place!a}.")
    if not (os.path.isabs(place) or _URL.match(place)):
        raise RequestRefusedError(
            400,
            f"{key} is an absolute path or a URL, not {place!r}: the driver has a folder of its own.",
        )
    return place


def _begin(call: Call, body: Mapping[str, Any], key: str, *, stops: bool, drains: bool) -> Answer:
    directory = _place(body, key)
    if not directory and not call.view.configuration.get(SAVEPOINT_DIR.key):
        raise RequestRefusedError(
            400, f"Say in {key} where the savepoint is to go, or set {SAVEPOINT_DIR.key}."
        )
    write = partial(_write, directory=directory, stops=stops, drains=drains)
    return _start(call, body, write, "failure-cause")


def _start(
    call: Call,
    body: Mapping[str, Any],
    work: Callable[[RunningJob, Turn], dict[str, Any]],
    failure_key: str,
) -> Answer:
    """Begin what is done between two epochs, with a turn that is asked for now."""
    trigger = _trigger(body)
    running = call.job.running
    turn = None if running is None else running.turn(after_first=True)
    is_new = False
    try:
        done = partial(_while_running, work, running, turn)
        is_new = call.operations.start(call.job.job_id, trigger, done, failure_key)
    finally:
        if turn is not None and not is_new:
            turn.close()
    return Answer({"request-id": trigger}, 202)


def _while_running(
    work: Callable[[RunningJob, Turn], dict[str, Any]],
    running: RunningJob | None,
    turn: Turn | None,
) -> dict[str, Any]:
    if running is None or turn is None:
        raise SavepointError(
            "The job does not run, so there is no savepoint of it.",
            hint="Take one while it runs. What it committed is at its checkpoint location.",
        )
    return work(running, turn)


def _commit(running: RunningJob, turn: Turn) -> dict[str, Any]:
    with closing(turn):
        return {"checkpointId": running.checkpoint(turn)}


def _write(
    running: RunningJob, turn: Turn, directory: str | None, *, stops: bool, drains: bool
) -> dict[str, Any]:
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
    if not isinstance(trigger, str) or not IDENTIFIER.fullmatch(trigger):
        raise RequestRefusedError(400, f"triggerId is 32 hexadecimal digits, not {trigger!r}.")
    return trigger
