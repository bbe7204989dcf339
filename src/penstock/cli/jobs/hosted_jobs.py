"""Finds jobs that run on servers of Spark Connect, whose clients may be gone; nothing of Spark is imported where none was started."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any, Final

from penstock.cli.jobs.found_job import FoundJob
from penstock.cli.jobs.rest_client import FIRST_REFUSAL, refused
from penstock.cli.layout import harmless
from penstock.common.plain_text import fitted, one_line
from penstock.connect_url import place_of, without_parameters
from penstock.errors import JobsNotReachableError, NoRunningJobError, PenstockError
from penstock.job_notes import JobNote, drop_note, kept_notes

if TYPE_CHECKING:
    from penstock.executors.driver.rest.exchange import Answering
    from penstock.executors.spark.hosted.attached.attached_job import AttachedJob

_REMOTE: Final = "SPARK_REMOTE"
_SECONDS_TO_CONNECT: Final = 2.0
_SECONDS_TO_LOOK: Final = 20.0
_MOST_TEXT: Final = 200
_GREETING: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
"""What a client says first in HTTP/2, with settings that change nothing."""

Attach = Callable[[str, str], "AttachedJob"]
"""Returns the job that runs on a server at a checkpoint location."""


class HostedClient:
    """Asks for a job that runs on a server as the REST API of its driver is asked, which has none that is reached.

    Args:
        job: The job.
        server: The server.
        location: The job's checkpoint location.
    """

    has_page = False

    def __init__(self, job: AttachedJob, server: str, location: str) -> None:
        self.address = f"{server} {location}"
        self._job = job
        self._api = self._new_api()

    def _new_api(self) -> Answering:
        from penstock.executors.driver.rest.routes import Api

        return Api(lambda: [self._job])

    def __call__(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """Ask, and return what the answer's JSON says: see `RestClient`.

        Raises:
            JobsRefusedError: If it says that something is wrong.
        """
        from penstock.executors.driver.rest.exchange import Request, RequestRefusedError

        if path.endswith("/view"):
            self._job.look()
            # The other has what it showed a moment ago.
            self._api = self._new_api()
        path, _, query = path.partition("?")
        parameters = dict(pair.split("=") for pair in query.split("&") if pair)
        try:
            answer = self._api.answer(Request(method, path, parameters, body))
        except RequestRefusedError as error:
            answer = error.answer()
        found = json.loads(answer.encoded())
        if answer.status >= FIRST_REFUSAL:
            raise refused(self.address, answer.status, found)
        return found


def hosted_job(server: str | None, location: str) -> FoundJob:
    """Return the job that runs on a server at a checkpoint location.

    Args:
        server: The server. Default: that of the environment variable SPARK_REMOTE.
        location: The checkpoint location.

    Raises:
        NoRunningJobError: If none runs there.
        JobsNotReachableError: If the server does not answer, or nothing says which it is.
    """
    named = server or os.environ.get(_REMOTE, "")
    if place_of(named) is None:
        # What follows may be a secret.
        shown = named.partition(";")[0]
        raise JobsNotReachableError(
            f"{shown!r} is no server of Spark Connect." if named else "No server is named.",
            hint="Name the server that the job runs on, as sc://host:15002, with --address or in the environment variable "
            f"{_REMOTE}.",
        )
    ((found, error),) = _looked_at([(named, location)])
    if found is None:
        assert error is not None
        raise error
    return found


def noted_jobs(known: Container[str]) -> list[FoundJob]:
    """Return the jobs that were started from this machine and still run; a server that does not answer is told of.

    Notes of those that have ended are deleted.

    Args:
        known: The ids of jobs that need not be looked for.
    """
    notes = [note for note in kept_notes() if note.job_id not in known and place_of(note.server)]
    if not notes:
        return []
    found: list[FoundJob] = []
    looked_at = _looked_at([(_url_of(note.server), note.location) for note in notes])
    for note, (job, error) in zip(notes, looked_at, strict=True):
        if job is not None:
            found.append(job)
        elif isinstance(error, NoRunningJobError):
            drop_note(note)
        else:
            sys.stderr.write(f"{harmless(_unknown(note, error))}\n")
    return found


def _unknown(note: JobNote, error: PenstockError | None) -> str:
    said = "it does not answer" if error is None else fitted(one_line(error.message), _MOST_TEXT)
    return (
        f"{one_line(note.name)}, on {note.server}, may run or not: {said}. To hear of it no more, delete "
        f"{note.path}."
    )


def _url_of(server: str) -> str:
    """Return the URL of a server, with the token of SPARK_REMOTE if that names the same one."""
    given = os.environ.get(_REMOTE, "")
    return given if place_of(given) == place_of(server) else server


def _looked_at(
    places: list[tuple[str, str]],
) -> list[tuple[FoundJob | None, PenstockError | None]]:
    """Return what is found at servers and locations, or why nothing is: all are looked at at once."""
    found: list[tuple[FoundJob | None, PenstockError | None]]
    found = [(None, _silent(server)) for server, _ in places]
    threads = [
        # What hangs ends with this process.
        threading.Thread(target=_look, args=(found, number, *place), daemon=True)
        for number, place in enumerate(places)
    ]
    for thread in threads:
        thread.start()
    until = time.monotonic() + _SECONDS_TO_LOOK
    for thread in threads:
        thread.join(max(until - time.monotonic(), 0.0))
    return list(found)


def _look(found: list[Any], number: int, server: str, location: str) -> None:
    try:
        _connect(server)
        job = _attach()(server, location)
        client = HostedClient(job, without_parameters(server), location)
        (overview,) = client("/jobs/overview")["jobs"]
        found[number] = FoundJob(client, overview), None
    except PenstockError as error:
        found[number] = None, error
    except Exception as error:  # noqa: BLE001 - Spark's client raises one thing or another
        found[number] = None, _not_asked(server, error)


def _attach() -> Attach:
    from penstock.executors.spark.hosted.attached.attaching import attached_at

    return attached_at


def _connect(server: str) -> None:
    """Make sure that something answers where a server is to be: Spark's client would ask for ten minutes.

    Raises:
        JobsNotReachableError: If nothing does.
    """
    place = place_of(server)
    assert place is not None
    try:
        with socket.create_connection(place, _SECONDS_TO_CONNECT) as connection:
            connection.sendall(_GREETING)
            # What waits for a greeting in TLS answers too, or hangs up.
            connection.recv(1)
    except ConnectionResetError:
        return
    except OSError as error:
        raise _silent(server, f": {error}") from error


def _not_asked(server: str, error: Exception) -> JobsNotReachableError:
    said = one_line(str(error))[:_MOST_TEXT] or type(error).__name__
    return JobsNotReachableError(
        f"{without_parameters(server)} cannot be asked: {said}",
        hint="The command needs what a program needs there: pip install 'penstock[connect]', and in SPARK_REMOTE the token "
        "of the server, if it has one.",
    )


def _silent(server: str, why: str = "") -> JobsNotReachableError:
    return JobsNotReachableError(
        f"The server {without_parameters(server)} does not answer{why}",
        hint="See that it runs, and that its address leads there.",
    )
