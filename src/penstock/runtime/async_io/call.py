"""One asynchronous call, as the event loop knows it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from penstock.runtime.objects.mutability import copied_if_possible

Results = Sequence[Any]
"""The results of one record."""


class Call:
    """One asynchronous call for a record. All of it belongs to the event loop's thread until it is settled.

    Args:
        value: The record, which nobody changes; functions get copies.
        entry: Who waits for it.

    Attributes:
        task: What runs it; None before it has begun.
        is_settled: Whether it has an outcome; the first one counts.
        results: The results, once it is settled.
        aside: The id of a side output and a value for it.
        error: What fails the job.
        attempts: How often the function was called; 0 if the results came from the cache.
        has_timed_out: Whether it was given up for lack of time.
        has_failed: Whether it failed, whatever came of that.
        failure: Of one that failed, and does not fail the job, what it failed with.
        on_admitted: Called once no limit holds it back any more, before its first attempt.
        seconds: How long it took, once it is settled.
    """

    __slots__ = (
        "aside",
        "attempts",
        "entry",
        "error",
        "failure",
        "has_failed",
        "has_timed_out",
        "is_settled",
        "on_admitted",
        "results",
        "seconds",
        "task",
        "value",
    )

    def __init__(self, value: Any, entry: Any = None) -> None:
        self.value = value
        self.entry = entry
        self.task: asyncio.Task[Any] | None = None
        self.is_settled = False
        self.results: Results = ()
        self.aside: tuple[str, Any] | None = None
        self.error: BaseException | None = None
        self.attempts = 0
        self.has_timed_out = False
        self.has_failed = False
        self.failure: BaseException | None = None
        self.on_admitted: Callable[[], None] | None = None
        self.seconds = 0.0

    def given(self) -> Any:
        """Return what to give to a function: the record, or a copy if it can be changed."""
        return copied_if_possible(self.value)


Step = Callable[[Call], Awaitable[Any]]
"""Does what a call takes, and returns its results."""
