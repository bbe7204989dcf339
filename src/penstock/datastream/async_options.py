"""What can be said about asynchronous calls, beyond PyFlink's parameters."""

from __future__ import annotations

from penstock.runtime.async_io.options import (
    AsyncOptions,
    Batching,
    OnFailure,
    ProcessCapacity,
    RateLimit,
    ResultCache,
)

__all__ = [
    "AsyncOptions",
    "Batching",
    "OnFailure",
    "ProcessCapacity",
    "RateLimit",
    "ResultCache",
]
