"""Lines that come through a socket."""

from __future__ import annotations

import codecs
import socket
from collections.abc import Iterator
from typing import Any, Final

from penstock.errors import SourceNotReadableError
from penstock.runtime.exchange.elements import Block
from penstock.runtime.planned.planned_source import PlannedSource, Planner
from penstock.runtime.planned.pushed import Bringer, Inbox, PushPlanner

_RETRY_SECONDS = 0.5
_LOOK_SECONDS: Final = 0.1
_CHUNK: Final = 1 << 16


class SocketText(PlannedSource):
    """Lines that the driver reads from a socket, to its end.

    Args:
        host: The host to connect to.
        port: The port.
        delimiter: What ends a line.
        retries: How often to connect again when the other side has gone; below 0 for as often as it takes.
    """

    kind = "a socket"
    has_present = False

    def __init__(self, host: str, port: int, delimiter: str, retries: int) -> None:
        self._host = host
        self._port = port
        self._delimiter = delimiter
        self._retries = retries

    def planner(self) -> Planner:
        return PushPlanner(_Reader(self._host, self._port, self._delimiter, self._retries))

    def read(self, content: Any) -> Iterator[Block]:
        yield Block(list(content), is_immutable=True, is_harmless=True)


class _Reader(Bringer[str]):
    def __init__(self, host: str, port: int, delimiter: str, retries: int) -> None:
        self._place = (host, port)
        self._delimiter = delimiter
        self._retries = retries

    def run(self, inbox: Inbox[str]) -> None:
        left = self._retries
        while not inbox.is_closed:
            failure: OSError | None = None
            try:
                with socket.create_connection(self._place) as connection:
                    connection.settimeout(_LOOK_SECONDS)
                    self._read(connection, inbox)
            except OSError as error:
                failure = error
            if left == 0:
                if failure is not None:
                    raise self._not_readable(failure) from failure
                return
            left -= 1
            inbox.rest(_RETRY_SECONDS)

    def _read(self, connection: socket.socket, inbox: Inbox[str]) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        begun = ""
        while not inbox.is_closed:
            try:
                data = connection.recv(_CHUNK)
            except TimeoutError:
                continue
            *lines, begun = (begun + decoder.decode(data, not data)).split(self._delimiter)
            if not data and begun:
                lines.append(begun)
            if lines:
                inbox.put(*map(self._without_return, lines))
            if not data:
                return

    def _without_return(self, line: str) -> str:
        return line.removesuffix("\r") if self._delimiter == "\n" else line

    def _not_readable(self, failure: OSError) -> SourceNotReadableError:
        host, port = self._place
        return SourceNotReadableError(
            f"The socket {host}:{port} cannot be read: {failure}.",
            hint="See that somebody listens there, for instance `nc -lk 9999`, and that the driver reaches it. "
            "max_retry of socket_text_stream() says how often to try again.",
        )

    def cancel(self) -> None:
        """The inbox is looked at often enough."""
