"""The reporter that Prometheus asks: a page of metrics at a port of its own."""

from __future__ import annotations

import errno
import logging
import threading
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from penstock.errors import MetricsNotReportedError
from penstock.executors.driver.reporters.prometheus_page import check_library, registry_of
from penstock.forked import not_for_forks
from penstock.metrics import MetricConfig, MetricReporter

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

_LOG: Final = logging.getLogger("penstock")
_DEFAULT_PORT: Final = 9249
_POLL_SECONDS: Final = 0.02
_REQUEST_SECONDS: Final = 10


class PrometheusReporter(MetricReporter):
    """Serves metrics for Prometheus at `/metrics`.

    Its settings are `port`, a number or several, such as `9250-9260`, of which the first that is free is taken,
    `host`, the address it listens at, and `filterLabelValueCharacters`.

    Attributes:
        port: The port that it listens at; None while it does not.
    """

    def __init__(self) -> None:
        self.port: int | None = None
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def open(self, config: MetricConfig) -> None:
        check_library()
        from prometheus_client import make_wsgi_app

        ports = config.read(
            "port", [_DEFAULT_PORT], ports_in, "a port, or several, such as 9249 or 9250-9260"
        )
        host = config.get_string("host", "0.0.0.0")  # noqa: S104 - as Flink's, for a Prometheus elsewhere
        filters = config.get_boolean("filterLabelValueCharacters", default_value=True)
        app = make_wsgi_app(registry_of(self.metrics, filters_values=filters))
        self._server = _server(host, ports, app)
        self.port = self._server.server_port
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            args=(_POLL_SECONDS,),
            name="metrics-page",
            daemon=True,
        )
        self._thread.start()
        _LOG.info("Metrics for Prometheus: http://%s:%d/metrics", host, self.port)

    def close(self) -> None:
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def server_bind(self) -> None:
        """Bind, for this process alone."""
        super().server_bind()
        not_for_forks(self.socket)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Take a connection, for this process alone."""
        not_for_forks(request)
        return True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing on the terminal of a client that went away."""
        _LOG.debug("A connection to the page for Prometheus broke.", exc_info=True)


class _Handler(WSGIRequestHandler):
    timeout = _REQUEST_SECONDS

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: each scrape would be a line."""


def _server(host: str, ports: list[int], app: WSGIApplication) -> _Server:
    """Return a server at the first port that is free.

    Raises:
        MetricsNotReportedError: If none is.
    """
    for port in ports:
        try:
            return make_server(host, port, app, _Server, _Handler)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    listed = f"{ports[0]}" if len(ports) == 1 else f"any of {len(ports)} from {ports[0]}"
    raise MetricsNotReportedError(
        f"Metrics for Prometheus cannot be served: port {listed} is taken.",
        hint="Give metrics.reporter.<name>.port a range, such as 9249-9260: each process takes one of them.",
    )


def ports_in(text: str) -> list[int]:
    """Return the ports of a text such as `9249`, `9250-9260` or `9249,9251-9255`.

    Raises:
        ValueError: If it has none, or one that cannot be.

    Example:
        >>> ports_in("9249,9251-9253")
        [9249, 9251, 9252, 9253]
    """
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    if not found or not all(0 <= port <= 65_535 for port in found):
        raise ValueError(text)
    return found
