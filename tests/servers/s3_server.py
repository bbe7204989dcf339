"""An S3 that keeps everything in memory: the one that the wheel moto carries."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterable
from typing import Any
from urllib.request import Request, urlopen

from werkzeug.serving import WSGIRequestHandler, make_server

BUCKET = "checkpoints"


class Quiet(WSGIRequestHandler):
    """Writes nothing of requests."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


class S3Server:
    """An S3 on a free port of the loopback interface, with one bucket.

    It answers one request after the other, so that a conditional put is one step, as in S3; whoever is
    slow to ask keeps nobody waiting.

    Attributes:
        environment: What clients must have in their environment.
        requests: How many requests it got.
        lost_answers: For how many further puts it does what they ask, and says that it failed.
    """

    def __init__(self) -> None:
        # It takes as long as a hundred modules of tests, and whoever has no S3 needs it not.
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

        self._app = DomainDispatcherApplication(create_backend_app)
        self.requests = 0
        self.lost_answers = 0
        self._one_by_one = threading.Lock()
        self._server = make_server("127.0.0.1", 0, self._read, threaded=True, request_handler=Quiet)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.environment = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._server.port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": "anything",
        }

    def _read(self, environ: Any, start_response: Callable[..., Any]) -> Iterable[bytes]:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(length))
        with self._one_by_one:
            return [b"".join(self._answer(environ, start_response))]

    def _answer(self, environ: Any, start_response: Callable[..., Any]) -> Iterable[bytes]:
        self.requests += 1
        if self.lost_answers and environ["REQUEST_METHOD"] == "PUT":
            self.lost_answers -= 1
            for _ in self._app(environ, lambda *_: None):
                pass
            start_response("503 Service Unavailable", [("Content-Length", "0")])
            return []
        answer: Iterable[bytes] = self._app(environ, start_response)
        return answer

    def make_bucket(self) -> str:
        """Make the bucket, and return its URL."""
        url = f"{self.environment['AWS_ENDPOINT_URL']}/{BUCKET}"
        with urlopen(Request(url, method="PUT")):
            return f"s3://{BUCKET}"

    def close(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
