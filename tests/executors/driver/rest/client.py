"""A server on jobs that are views alone, and a client that speaks to it through a real socket."""

from __future__ import annotations

import dataclasses
import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

from tests.executors.driver.reports import views

from penstock.common.job_status import JobStatus
from penstock.executors.driver.reports.job_view import JobView
from penstock.executors.driver.rest.access import Access
from penstock.executors.driver.rest.exchange import Answering
from penstock.executors.driver.rest.routes import Api
from penstock.executors.driver.rest.server import RestServer


class Turn:
    """A turn, which knows whether it was given back."""

    is_closed = False

    def close(self) -> None:
        self.is_closed = True


class ShownJob:
    """A job that is a view, and notes what is asked of it."""

    def __init__(self, view: JobView | None = None) -> None:
        self.shown = view or views.view()
        self.job_id = self.shown.job_id
        self.savepoints: list[dict[str, Any]] = []
        self.turns: list[Turn] = []
        self.may_write = threading.Event()
        self.may_write.set()
        self.failure: Exception | None = None

    @property
    def running(self) -> Any:
        return None if self.shown.status.is_terminal_state() else self

    @property
    def has_ended(self) -> bool:
        return self.shown.status.is_terminal_state()

    def view(self) -> JobView:
        return self.shown

    def cancel(self) -> None:
        self.shown = dataclasses.replace(self.shown, status=JobStatus.CANCELED)

    def turn(self, *, after_first: bool = False) -> Turn:
        assert after_first
        self.turns.append(Turn())
        return self.turns[-1]

    def checkpoint(self, turn: Turn) -> int:
        assert turn in self.turns
        if self.failure is not None:
            raise self.failure
        return self.shown.epochs[-1].number

    def savepoint(
        self,
        path: str | None = None,
        *,
        directory: str | None = None,
        stops: bool = False,
        ends_event_time: bool = False,
        turn: Any = None,
    ) -> str:
        assert path is None
        assert turn in self.turns
        assert self.may_write.wait(30)
        if self.failure is not None:
            raise self.failure
        found = {"directory": directory, "stops": stops, "ends_event_time": ends_event_time}
        self.savepoints.append(found)
        return f"{directory or 'usual'}/savepoint-1"


class Reply(NamedTuple):
    """What the server answered."""

    status: int
    body: Any
    headers: dict[str, str]


class Client:
    """Speaks to a server, over one connection that is kept."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def __call__(
        self,
        path: str,
        method: str = "GET",
        body: Any = None,
        *,
        headers: dict[str, str] | None = None,
    ) -> Reply:
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        self._connection.request(method, path, content, headers or {})
        response = self._connection.getresponse()
        text = response.read().decode()
        named = {name.lower(): value for name, value in response.getheaders()}
        is_json = named.get("content-type", "").startswith("application/json") and text
        return Reply(response.status, json.loads(text) if is_json else text, named)

    def close(self) -> None:
        self._connection.close()


def served(*jobs: ShownJob, access: Access | None = None) -> AbstractContextManager[Client]:
    """Serve some jobs."""
    return answered(Api(lambda: jobs), access)


@contextmanager
def answered(api: Answering, access: Access | None = None) -> Iterator[Client]:
    """Have requests answered by something."""
    server = RestServer(api, access or Access(), "127.0.0.1", [0])
    client = Client(server.port)
    try:
        yield client
    finally:
        client.close()
        server.close()
