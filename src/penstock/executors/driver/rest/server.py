"""The HTTP server: reads requests, checks who sent them, and writes answers."""

from __future__ import annotations

import io
import json
import logging
import os
import socket
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from penstock.common.plain_text import one_line
from penstock.errors import PenstockError
from penstock.executors.driver.rest.access import Access
from penstock.executors.driver.rest.connections import Connections, TimedInput
from penstock.executors.driver.rest.exchange import Answer, Answering, Request, RequestRefusedError
from penstock.executors.driver.rest.page_files import is_page_file, page_file
from penstock.forked import not_for_forks

_LOG: Final = logging.getLogger("penstock")
_LONGEST_BODY: Final = 1_000_000
_MOST_CONNECTIONS: Final = 100
_REQUEST_SECONDS: Final = 10
_IDLE_SECONDS: Final = 60
_LAST_ANSWER_SECONDS: Final = 0.5
_BUSY: Final = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n"
_ALWAYS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class RestServer:
    """Serves the API and the page, in threads of its own, until it is closed.

    Args:
        api: Answers requests.
        access: Decides which are answered.
        host: The address it listens on.
        ports: The ports to try, in this order; 0 is any that is free.

    Attributes:
        port: The port it listens on.
        process_id: The process that it is in: not one that was forked off.

    Raises:
        OSError: If none of the ports is free, or the address is not one of this machine.
    """

    def __init__(self, api: Answering, access: Access, host: str, ports: Iterable[int]) -> None:
        self._server = _bound(host, ports)
        self._server.api = api
        self._server.access = access
        self.process_id = os.getpid()
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="rest-server", daemon=True
        )
        self._thread.start()

    def use(self, access: Access) -> None:
        """Decide from now on in another way which requests are answered."""
        self._server.access = access

    def close(self) -> None:
        """Listen no longer, and hang up: a connection that is kept would be answered on."""
        with suppress(OSError):
            # Wakes the thread, which else looks only twice a second whether it is to end.
            self._server.socket.shutdown(socket.SHUT_RDWR)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._server.connections.hang_up(_LAST_ANSWER_SECONDS)


def _bound(host: str, ports: Iterable[int]) -> _Server:
    refused: OSError | None = None
    for port in ports:
        try:
            return _Server((host, port), _Handler)
        except OSError as error:
            refused = error
    raise refused or OSError(f"There is no port to listen on at {host}.")


class _Server(ThreadingHTTPServer):
    """Listens, and answers each connection in a thread.

    Attributes:
        api: Answers requests.
        access: Decides which are answered.
        connections: Those it holds.
    """

    daemon_threads = True
    # On Windows it would let two servers listen on one port.
    allow_reuse_address = os.name == "posix"
    request_queue_size = 64
    api: Answering
    access: Access

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        self.connections = Connections(_MOST_CONNECTIONS)
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Bind, without asking a name server for this machine's name as the base class does."""
        self.socket.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, int(self.allow_reuse_address)
        )
        self.socket.bind(self.server_address)
        not_for_forks(self.socket)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Take a connection, unless the server is at work for as many as it may have."""
        not_for_forks(request)
        if self.connections.take(request):
            return True
        with suppress(OSError):
            request.settimeout(0)
            request.sendall(_BUSY)
        return False

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, and give its place back."""
        self.connections.leave(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing on the terminal of a connection that broke."""
        _LOG.debug("A connection to the REST API broke.", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    """Reads the requests of one connection."""

    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "penstock"
    sys_version = ""
    timeout = _REQUEST_SECONDS
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def setup(self) -> None:
        """Read with a limit of time for each request, and none of its parts can stretch it."""
        super().setup()
        self.rfile.close()
        self._input = TimedInput(self.connection, _REQUEST_SECONDS, _IDLE_SECONDS)
        self.rfile = io.BufferedReader(self._input)

    def handle_one_request(self) -> None:
        """Answer a request, and wait for another."""
        super().handle_one_request()
        self._input.expect_next()

    def _handle(self) -> None:
        is_last, self.close_connection = self.close_connection, True
        try:
            request = self._head()
            self._check(request)
            request = replace(request, body=self._body(request.headers))
            # Whoever was refused, or sent what cannot be read, is hung up on: the rest is not looked for.
            self.close_connection = is_last
            self.server.connections.is_served(self.connection, now=True)
            answer = self._answer(request)
        except RequestRefusedError as error:
            answer = error.answer()
        except PenstockError as error:
            answer = Answer({"errors": [str(error)]}, 500)
        except Exception as error:  # noqa: BLE001 - whoever asked is answered, whatever it is
            _LOG.exception("The REST API failed at %s.", one_line(self.path)[:200])
            answer = Answer({"errors": [f"Internal server error: {type(error).__name__}."]}, 500)
        finally:
            self.server.connections.is_served(self.connection, now=False)
        self._write(answer)
        self.server.connections.is_answered(self.connection)

    do_GET = do_HEAD = do_POST = do_PATCH = do_PUT = do_DELETE = do_OPTIONS = _handle  # noqa: N815 - the names http.server calls

    def _head(self) -> Request:
        """Return the request without its body, which is read once it is known who sent it."""
        for name in ("Host", "Content-Length"):
            if len(self.headers.get_all(name, [])) > 1:
                raise RequestRefusedError(400, f"There is more than one header {name}.")
        if self.request_version == "HTTP/1.1" and "Host" not in self.headers:
            raise RequestRefusedError(400, "The header Host is missing.")
        try:
            parts = urlsplit(self.path)
            query = dict(parse_qsl(parts.query, keep_blank_values=True))
        except ValueError:
            raise RequestRefusedError(400, "The address asked for cannot be read.") from None
        path = unquote(parts.path)
        if path == "/v1" or path.startswith("/v1/"):
            path = path[len("/v1") :]
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Request(self.command, path or "/", query, None, headers)

    def _check(self, request: Request) -> None:
        self.server.access.check_site(request)
        if not is_page_file(request):
            self.server.access.check_token(request)

    def _body(self, headers: Mapping[str, str]) -> Any:
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()):
            raise RequestRefusedError(400, "The header Content-Length is no number.")
        if "transfer-encoding" in headers or len(length) > 9 or int(length) > _LONGEST_BODY:
            raise RequestRefusedError(413, f"A body has at most {_LONGEST_BODY} bytes.")
        try:
            content = self.rfile.read(int(length))
        except OSError:
            raise RequestRefusedError(408, "The body of the request did not come.") from None
        if not content.strip():
            return None
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise RequestRefusedError(400, "The body is no JSON.") from None

    def _answer(self, request: Request) -> Answer:
        found = page_file(request)
        if found is not None:
            return found
        if request.method == "HEAD":
            request = replace(request, method="GET", body=None)
        return self.server.api.answer(request)

    def _write(self, answer: Answer) -> None:
        body = answer.encoded()
        self.send_response(answer.status)
        headers = {**_ALWAYS, "Content-Type": answer.content_type, **answer.headers}
        if answer.status != 304:
            headers["Content-Length"] = str(len(body))
        if self.close_connection:
            headers["Connection"] = "close"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is no request, or asks for what no server here does, as all other errors are answered."""
        self.close_connection = True
        self._write(Answer({"errors": [f"{message or HTTPStatus(code).phrase}."]}, code))

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of requests: the terminal is the job's."""
