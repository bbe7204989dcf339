"""Requests with many documents: how they are sent, and sent again."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final
from urllib.parse import urlsplit

from penstock.common.plain_text import without_logins
from penstock.datastream.connectors.elasticsearch.emitter import Action
from penstock.errors import InvalidArgumentError, SinkError, SinkNotWritableError, SinkRowError

__all__ = ["FlushBackoffType"]

_OVERLOADED: Final = frozenset({429, 502, 503, 504})
"""Statuses of what goes well later."""


class FlushBackoffType(Enum):
    """How long to wait before documents are sent again that Elasticsearch was too busy to take.

    Attributes:
        CONSTANT: The same time before each.
        EXPONENTIAL: The time, then twice as long each time.
        NONE: They are not sent again: the job fails, and its restart strategy has its turn.
    """

    CONSTANT = 0
    EXPONENTIAL = 1
    NONE = 2


@dataclass(frozen=True)
class Cluster:
    """Where Elasticsearch is, and how it is asked; times are in milliseconds."""

    hosts: tuple[str, ...]
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    path_prefix: str = ""
    connection_timeout: int | None = None
    socket_timeout: int | None = None
    backoff: FlushBackoffType = FlushBackoffType.NONE
    max_retries: int = 0
    delay: int = 0

    def __post_init__(self) -> None:
        for host in self.hosts:
            if "@" in _url(host).netloc:
                raise InvalidArgumentError(
                    f"The address {without_logins(_url(host).geturl())!r} was given with a user.",
                    hint="Give set_connection_username and set_connection_password.",
                )
            try:
                _ = _url(host).port
            except ValueError:
                raise _no_host(host) from None
            if _url(host).scheme not in {"http", "https"} or not _url(host).hostname:
                raise _no_host(host)

    def headers(self) -> dict[str, str]:
        """Return the headers of a request."""
        found = {"Content-Type": "application/x-ndjson", "Accept": "application/json"}
        if self.username is not None:
            login = f"{self.username}:{self.password or ''}".encode()
            found["Authorization"] = f"Basic {base64.b64encode(login).decode()}"
        return found

    def path(self) -> str:
        """Return the path of bulk requests."""
        prefix = self.path_prefix.strip("/")
        return f"/{prefix}/_bulk" if prefix else "/_bulk"

    def waits(self) -> list[float]:
        """Return for how many seconds to wait before each time that is not the first."""
        if self.backoff is FlushBackoffType.NONE:
            return []
        grows = self.backoff is FlushBackoffType.EXPONENTIAL
        return [self.delay / 1000 * (2**i if grows else 1) for i in range(self.max_retries)]


def _url(host: str) -> Any:
    return urlsplit(host if "://" in host else f"http://{host}")


def _no_host(host: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{host!r} is no host.", hint="Write 'host:9200' or 'https://host:9200'."
    )


class BulkClient:
    """Sends actions, one request after the other.

    Args:
        cluster: Where to.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._headers = cluster.headers()
        self._next_host = 0
        self._connection: http.client.HTTPConnection | None = None

    def send(self, actions: Sequence[Action]) -> None:
        """Send actions until Elasticsearch has done all of them.

        Raises:
            SinkRowError: If it refuses one.
            SinkNotWritableError: If it is not reached, refuses the request or stays too busy.
        """
        waits = iter(self._cluster.waits())
        left = list(actions)
        while left:
            left, error = self._try(left)
            if error is None:
                return
            wait = next(waits, None)
            if wait is None:
                raise error
            time.sleep(wait)

    def _try(self, actions: list[Action]) -> tuple[list[Action], SinkError | None]:
        """Send actions once, and return those that are to be sent again, with the reason."""
        host = self._cluster.hosts[self._next_host]
        try:
            status, content = self._request(b"".join([action.lines for action in actions]))
        except (OSError, http.client.HTTPException) as error:
            self._go_to_next_host()
            return actions, _not_reached(host, f"{type(error).__name__}: {error}")
        if status in _OVERLOADED:
            self._go_to_next_host()
            return actions, _not_reached(host, f"it answers with status {status}")
        if status != 200:
            raise _refused(host, status, content)
        results = _results(content)
        if results is None or len(results) != len(actions):
            raise _not_understood(host, content)
        return _not_done(actions, results)

    def _request(self, body: bytes) -> tuple[int, bytes]:
        if self._connection is not None:
            # The server may have closed it since the last request, which shows only now.
            try:
                return self._ask(self._connection, body)
            except (ConnectionError, http.client.BadStatusLine):
                self.close()
        self._connection = self._new_connection()
        return self._ask(self._connection, body)

    def _ask(self, connection: http.client.HTTPConnection, body: bytes) -> tuple[int, bytes]:
        if connection.sock is None:
            connection.connect()
            socket: Any = connection.sock
            socket.settimeout(_seconds(self._cluster.socket_timeout))
        connection.request("POST", self._cluster.path(), body, self._headers)
        response = connection.getresponse()
        return response.status, response.read()

    def _new_connection(self) -> http.client.HTTPConnection:
        cluster = self._cluster
        url = _url(cluster.hosts[self._next_host])
        timeout = _seconds(cluster.connection_timeout)
        if url.scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(
                url.hostname, url.port or 443, timeout=timeout, context=context
            )
        return http.client.HTTPConnection(url.hostname, url.port or 9200, timeout=timeout)

    def _go_to_next_host(self) -> None:
        self.close()
        self._next_host = (self._next_host + 1) % len(self._cluster.hosts)

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(OSError):
                connection.close()


def _seconds(milliseconds: int | None) -> float | None:
    return None if not milliseconds else milliseconds / 1000


def _results(content: bytes) -> list[dict[str, Any]] | None:
    """Return what became of each action; None if an answer does not say."""
    try:
        return [result for item in json.loads(content)["items"] for result in item.values()]
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def _not_done(
    actions: list[Action], results: list[dict[str, Any]]
) -> tuple[list[Action], SinkError | None]:
    """Return the actions that Elasticsearch was too busy for, and what comes behind them for the same documents."""
    left: list[Action] = []
    error: SinkError | None = None
    delayed: set[tuple[str, str]] = set()
    for action, result in zip(actions, results, strict=True):
        status = result.get("status", 200)
        document = action.index, action.id or ""
        if status in _OVERLOADED:
            left.append(action)
            delayed.add(document)
            error = error or _too_busy(action, result)
        elif action.id is not None and document in delayed:
            left.append(action)
        elif status >= 300:
            raise _refused_document(action, result)
    return left, error


def _shown(action: Action) -> str:
    text = action.lines.decode().partition("\n")[2].rstrip("\n")
    return text if len(text) <= 300 else f"{text[:300]}..."


def _reason(result: dict[str, Any]) -> str:
    error = result.get("error", {})
    if not isinstance(error, dict):
        return str(error)
    parts = [f"{error.get('type')}: {error.get('reason')}"]
    cause = error.get("caused_by")
    if isinstance(cause, dict):
        parts.append(f"{cause.get('type')}: {cause.get('reason')}")
    return ", caused by ".join(parts)


def _refused_document(action: Action, result: dict[str, Any]) -> SinkRowError:
    return SinkRowError(
        f"The index {action.index!r} does not take the document {_shown(action)}: {_reason(result)}.",
        hint="Fix the record in a map() before the sink, or the mapping of the index.",
    )


def _too_busy(action: Action, result: dict[str, Any]) -> SinkNotWritableError:
    return SinkNotWritableError(
        f"Elasticsearch was too busy for the document {_shown(action)} for the index {action.index!r}: "
        f"{_reason(result)}.",
        hint="Let it be sent again: set_bulk_flush_backoff_strategy(FlushBackoffType.EXPONENTIAL, 8, 100). "
        "Or send less at once: set_bulk_flush_max_actions.",
    )


def _not_reached(host: str, why: str) -> SinkNotWritableError:
    return SinkNotWritableError(
        f"Elasticsearch cannot be reached at {host!r}: {why}.",
        hint="Make sure that the workers reach it. set_bulk_flush_backoff_strategy says how often it is tried again, "
        "and the job's restart strategy what follows then.",
    )


def _not_understood(host: str, content: bytes) -> SinkNotWritableError:
    return SinkNotWritableError(
        f"What answers at {host!r} does not tell what became of documents: {_beginning(content)}",
        hint="See that the host, with set_connection_path_prefix, is Elasticsearch's own, and not a page of something "
        "that stands before it.",
    )


def _beginning(content: bytes) -> str:
    return content.decode(errors="replace")[:300].strip()


def _refused(host: str, status: int, content: bytes) -> SinkNotWritableError:
    hints = {
        401: "Give set_connection_username and set_connection_password.",
        403: "Let the user write to the index.",
        413: "Send less at once: set_bulk_flush_max_size_mb.",
    }
    return SinkNotWritableError(
        f"Elasticsearch at {host!r} refuses a request, with status {status}: {_beginning(content)}",
        hint=hints.get(status, "The status says what is wrong with the request."),
    )
