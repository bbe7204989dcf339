"""A server that answers as a driver does, of jobs that tests make up, and remembers what it was asked to do."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import penstock.executors.driver.rest.page as page_package
from penstock.executors.driver.reports.job_view import JobView, job_view_json

PAGE = Path(page_package.__file__).parent
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = "default-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"


class FakeDriver:
    """A driver.

    Attributes:
        views: By job id, what gives the job's picture each time it is asked for.
        lines: The lines of the log.
        token: What a request has to know; None if nothing.
        asked: What was asked for: method, path and body of each request that is not a reading one.
        requests: The paths of all requests.
        savepoint: What becomes of a savepoint.
    """

    def __init__(self) -> None:
        self.views: dict[str, Callable[[], JobView]] = {}
        self.lines: list[dict[str, Any]] = []
        self.token: str | None = None
        self.asked: list[tuple[str, str, Any]] = []
        self.requests: list[str] = []
        self.savepoint: dict[str, Any] = {"location": "s3://bank/savepoints/savepoint-a1b2"}
        self._server: ThreadingHTTPServer | None = None
        self._port = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}/"

    def start(self) -> None:
        """Answer from now on, at the same port each time."""
        driver = self

        class Handler(_Handler):
            fake = driver

        self._server = _Server(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Be gone."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def answer(self, method: str, path: str, body: Any) -> tuple[HTTPStatus, Any]:
        """Return what is answered to a request for other than a file."""
        where = urlsplit(path)
        parts = where.path.strip("/").split("/")
        if method != "GET":
            self.asked.append((method, path, body))
            return HTTPStatus.ACCEPTED, {"request-id": "t1"} if method == "POST" else {}
        if parts == ["jobs", "overview"]:
            return HTTPStatus.OK, {"jobs": [_overview(make()) for make in self.views.values()]}
        make = self.views.get(parts[1]) if len(parts) > 2 else None
        if make is None:
            return HTTPStatus.NOT_FOUND, {"errors": [f"Job could not be found: {parts[-1]}"]}
        if parts[2] == "view":
            return HTTPStatus.OK, job_view_json(make())
        if parts[2] == "log":
            after = int(parse_qs(where.query)["after"][0])
            return HTTPStatus.OK, {"lines": [each for each in self.lines if each["number"] > after]}
        return HTTPStatus.OK, {"status": {"id": "COMPLETED"}, "operation": self.savepoint}


def _overview(view: JobView) -> dict[str, Any]:
    return {
        "jid": view.job_id,
        "name": view.name,
        "state": view.status.name,
        "start-time": view.started,
        "end-time": -1 if view.ended is None else view.ended,
        "duration": view.at - view.started,
        "last-modification": view.at,
        "tasks": {"total": sum(vertex.parallelism for vertex in view.vertices)},
    }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that hung up."""


class _Handler(BaseHTTPRequestHandler):
    fake: FakeDriver

    def do_GET(self) -> None:
        found = PAGE / (urlsplit(self.path).path.lstrip("/") or "index.html")
        if found.parent == PAGE and found.suffix in TYPES and found.is_file():
            self._send(HTTPStatus.OK, found.read_bytes(), TYPES[found.suffix])
        else:
            self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PATCH(self) -> None:
        self._answer()

    def _answer(self) -> None:
        self.fake.requests.append(self.path)
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        token = self.fake.token
        if token is not None and self.headers.get("Authorization") != f"Bearer {token}":
            status, found = HTTPStatus.UNAUTHORIZED, {"errors": ["a token is needed"]}
        else:
            status, found = self.fake.answer(
                self.command, self.path, json.loads(text) if text else None
            )
        self._send(status, json.dumps(found).encode(), "application/json")

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
