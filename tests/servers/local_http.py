"""What the servers have in common that tests run within their own process, and talk to by HTTP."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class LocalHttp(ABC):
    """Listens on a free port of the loopback interface until it is closed.

    Attributes:
        headers: Those of the last request.
        host: Where it listens.
    """

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # An answer goes out at once, and none waits for the one before to be acknowledged.
            wbufsize = -1

            def do_GET(self) -> None:
                self._answer()

            def do_POST(self) -> None:
                self._answer()

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                server.headers = dict(self.headers)
                status, answer = server.respond(self.command, self.path, body)
                if status == 0:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.host = f"127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self._thread.start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @abstractmethod
    def respond(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Return the status and the answer to a request; status 0 to hang up without one."""
