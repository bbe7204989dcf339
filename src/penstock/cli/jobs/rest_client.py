"""Asks the REST API of a driver."""

from __future__ import annotations

import http.client
import json
from typing import Any, Final
from urllib.parse import urlsplit

from penstock.errors import JobsNotReachableError, JobsRefusedError

_SECONDS: Final = 30.0
FIRST_REFUSAL: Final = 400
"""The first status that says that something is wrong."""


class RestClient:
    """Asks the REST API at one address.

    Args:
        address: The address, as "http://127.0.0.1:8081"; `http://` may be left out.
        token: What `rest.token` is set to there; None for nothing.
        seconds: For how long an answer is waited for.

    Raises:
        JobsNotReachableError: If it is no address.
    """

    has_page = True

    def __init__(self, address: str, token: str | None = None, seconds: float = _SECONDS) -> None:
        self.address = address if "://" in address else f"http://{address}"
        self._token = token
        self._seconds = seconds
        try:
            parts = urlsplit(self.address)
            self._host, self._port = parts.hostname or "", parts.port
        except ValueError:
            self._host = ""
        if not self._host or parts.scheme not in {"http", "https"}:
            raise JobsNotReachableError(
                f"{address!r} is no address of a REST API.", hint="Give one such as 127.0.0.1:8081."
            )
        self._is_safe = parts.scheme == "https"
        self._base = parts.path.rstrip("/")

    def __call__(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """Ask, and return what the answer's JSON says.

        Args:
            path: The path.
            method: The method.
            body: What is sent as JSON; None for nothing.

        Raises:
            JobsNotReachableError: If there is no answer.
            JobsRefusedError: If it says that something is wrong.
        """
        kind = http.client.HTTPSConnection if self._is_safe else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=self._seconds)
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        content = None if body is None else json.dumps(body)
        try:
            connection.request(method, f"{self._base}{path}", content, headers)
            response = connection.getresponse()
            found = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise JobsNotReachableError(
                f"No REST API answers at {self.address}: {error}",
                hint="A job says where it is seen when it starts. Name that place with --address.",
            ) from error
        finally:
            connection.close()
        if response.status >= FIRST_REFUSAL:
            raise refused(self.address, response.status, found)
        return found


def refused(address: str, status: int, found: Any) -> JobsRefusedError:
    """Return the error for an answer that says that something is wrong.

    Args:
        address: Who says so.
        status: The status.
        found: What the answer's JSON says.
    """
    errors = found.get("errors") if isinstance(found, dict) else None
    said = "; ".join(str(error).partition("\n")[0] for error in errors or [f"status {status}"])
    hint = None
    if status == http.client.UNAUTHORIZED:
        hint = (
            "Give the token with --token, or in the environment variable PENSTOCK_TOKEN. To a driver of another "
            "user it is sent only if --address names the driver."
        )
    elif "savepoint-dir" in said:
        hint = "Name a folder with --to, or set execution.checkpointing.savepoint-dir."
    return JobsRefusedError(f"{address} refuses: {said}", hint=hint)
