"""Records that say what becomes of their calls, and the function that does it."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from penstock.datastream import AsyncFunction, AsyncRetryStrategy, RuntimeContext

WHO = ContextVar("WHO", default="nobody")
"""What calls leave in their context."""


STARTED, GO_ON = threading.Event(), threading.Event()
"""What functions and tests tell each other from thread to thread."""


class ServerError(Exception):
    """What a scripted call fails with."""


@dataclass(frozen=True)
class Ask:
    """A record that says what becomes of its call.

    Attributes:
        name: Its name, and its result.
        delays: How long each attempt takes, in milliseconds; the last for those after it.
        failures: How many attempts fail.
        raises: Whether they raise; otherwise they have no results.
        late: What `timeout` returns; it raises if this is None.
    """

    name: Any
    delays: tuple[int, ...] = (0,)
    failures: int = 0
    raises: bool = True
    late: tuple[Any, ...] | None = None


class Scripted(AsyncFunction[Ask, Any]):
    """Does what each record says, and remembers it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.calls: Counter[Any] = Counter()
        self.times: list[tuple[Any, int]] = []
        self.cancelled: list[Any] = []
        self.running = 0
        self.most_running = 0
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True

    async def async_invoke(self, value: Ask) -> list[Any]:
        attempt = self.calls[value.name]
        self.calls[value.name] += 1
        self.times.append((value.name, round(asyncio.get_running_loop().time() * 1000)))
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            delay = value.delays[min(attempt, len(value.delays) - 1)]
            if delay:
                await asyncio.sleep(delay / 1000)
        except asyncio.CancelledError:
            self.cancelled.append(value.name)
            raise
        finally:
            self.running -= 1
        if attempt >= value.failures:
            return [value.name]
        if value.raises:
            raise ServerError(f"no answer for {value.name}")
        return []

    def timeout(self, value: Ask) -> list[Any]:
        if value.late is None:
            return list(super().timeout(value))
        return list(value.late)


def is_server_error(error: Exception) -> bool:
    return isinstance(error, ServerError)


def is_empty(results: list[Any]) -> bool:
    return not results


def retries(attempts: int, delay: int = 100) -> AsyncRetryStrategy[Any]:
    return AsyncRetryStrategy.fixed_delay(attempts, delay, is_empty, is_server_error)
