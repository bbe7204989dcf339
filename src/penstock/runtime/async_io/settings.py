"""How an asynchronous operator works."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.runtime.async_io.options import AsyncOptions
from penstock.runtime.async_io.retry_strategies import AsyncRetryStrategy


@dataclass(frozen=True)
class AsyncSettings:
    """How an asynchronous operator works.

    Attributes:
        ordered: Whether results come in the order of their records.
        timeout: How long a call may take, all attempts together, in milliseconds; 0 for no limit.
        capacity: The most records under way, watermarks between them included.
        retry: How often a call is tried, and after which time; None for once.
        options: All else.
        drain_timeout: How long an epoch waits for calls at its end, in milliseconds.
    """

    ordered: bool = True
    timeout: int = 0
    capacity: int = 100
    retry: AsyncRetryStrategy[Any] | None = None
    options: AsyncOptions = field(default_factory=AsyncOptions)
    drain_timeout: int = 10_000
