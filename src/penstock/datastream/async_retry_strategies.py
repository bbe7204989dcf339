"""How often an asynchronous call is tried, and after which time, under the name of PyFlink's module."""

from __future__ import annotations

from typing import Any, Final

from penstock.runtime.async_io.retry_strategies import (
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
    RetryPredicate,
)

__all__ = [
    "NO_RETRY_STRATEGY",
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NoRetryStrategy",
    "RetryPredicate",
]

NO_RETRY_STRATEGY: Final[NoRetryStrategy[Any]] = NoRetryStrategy()
"""What `AsyncRetryStrategy.no_restart` returns: a call is tried once."""
