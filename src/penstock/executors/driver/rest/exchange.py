"""What the server is asked, and what it answers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from penstock.errors import PenstockError

IDENTIFIER: Final = re.compile(r"[0-9a-f]{32}")
"""What ids of jobs, chains and triggers look like."""


@dataclass(frozen=True)
class Request:
    """A request.

    Attributes:
        method: `GET`, `POST` and so on.
        path: The path, without the query and a leading `/v1`.
        query: The values of the query's parameters, by name; of one that comes twice the last.
        body: What the body's JSON says; None without one.
        headers: The headers, by their names in lower case.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """An answer.

    Attributes:
        body: What is said: bytes, or what is written as JSON.
        status: The status.
        content_type: What the body is.
        headers: More headers.
    """

    body: Any = field(default_factory=dict)
    status: int = 200
    content_type: str = "application/json; charset=UTF-8"
    headers: Mapping[str, str] = field(default_factory=dict)

    def encoded(self) -> bytes:
        """Return the body as bytes."""
        if isinstance(self.body, bytes):
            return self.body
        try:
            text = json.dumps(self.body, ensure_ascii=False, allow_nan=False)
        except ValueError:
            text = json.dumps(_finite(self.body), ensure_ascii=False)
        return text.encode(errors="backslashreplace")


class Answering(Protocol):
    """What answers requests."""

    def answer(self, request: Request) -> Answer:
        """Answer a request.

        Raises:
            RequestRefusedError: If there is no answer.
        """


class RequestRefusedError(PenstockError):
    """A request cannot be answered.

    Args:
        status: The status that says so.
        message: Why.
        headers: Headers of the answer.
    """

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}

    def answer(self) -> Answer:
        """Return the answer, in Flink's form."""
        return Answer({"errors": [str(self)]}, self.status, headers=self.headers)


def _finite(value: Any) -> Any:
    """Return data with None for each number that JSON has not."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
