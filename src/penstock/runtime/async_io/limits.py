"""Limits: how many calls begin in a second, and how many are under way in a process."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from numbers import Real
from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.runtime.async_io.call import Call
from penstock.runtime.async_io.loop.event_loop import EventLoop
from penstock.runtime.async_io.options import ProcessCapacity, RateLimit


class TokenBucket:
    """Holds tokens, gains some every second, and has who asks for more than there are wait in line.

    Args:
        per_second: How many tokens come in a second.
        burst: How many there are at first and at most.
        time: The clock, in seconds.
    """

    def __init__(self, per_second: float, burst: float, time: Callable[[], float]) -> None:
        self._per_second = per_second
        self._burst = burst
        self._time = time
        self._level = burst
        self._seen = time()

    def _reserve(self, tokens: float) -> float:
        """Take tokens, those of the future too, and return the seconds until they are there."""
        now = self._time()
        self._level = min(self._burst, self._level + (now - self._seen) * self._per_second)
        self._seen = now
        self._level -= tokens
        return max(0.0, -self._level / self._per_second)

    async def acquire(self, tokens: float = 1.0) -> None:
        """Take tokens, as soon as they are there and those before in line have theirs."""
        seconds = self._reserve(tokens)
        if seconds > 0:
            try:
                await asyncio.sleep(seconds)
            except asyncio.CancelledError:
                self._level += tokens
                raise


class Permits:
    """What a call needs before it may begin.

    Args:
        event_loop: The event loop.
        rate_limit: How many calls may begin in a second.
        process_capacity: How many calls may be under way in the process.

    Raises:
        InvalidArgumentError: If another operator that is open in this process gave the process
            capacity of that name another size.
    """

    def __init__(
        self,
        event_loop: EventLoop,
        rate_limit: RateLimit | None,
        process_capacity: ProcessCapacity | None,
    ) -> None:
        self._bucket: TokenBucket | None = None
        self._weight: Callable[[Any], float] | None = None
        if rate_limit is not None:
            burst = rate_limit.burst or max(1.0, rate_limit.per_second)
            self._bucket = TokenBucket(rate_limit.per_second, burst, event_loop.time)
            self._weight = rate_limit.weight
        self._event_loop = event_loop
        self._process_capacity = process_capacity
        self._slots: asyncio.Semaphore | None = None
        if process_capacity is not None:
            self._slots = _join(event_loop, process_capacity)

    def close(self) -> None:
        """Give up the part in the process capacity."""
        if self._process_capacity is not None:
            _leave(self._event_loop, self._process_capacity)

    @asynccontextmanager
    async def permit(self, call: Call) -> AsyncIterator[None]:
        """Wait until a call may begin; it is under way inside."""
        # The slot first: tokens that were taken and not used would add to the burst after them.
        if self._slots is not None:
            await self._slots.acquire()
        try:
            if self._bucket is not None:
                await self._bucket.acquire(self._tokens(call))
            yield
        finally:
            if self._slots is not None:
                self._slots.release()

    def _tokens(self, call: Call) -> float:
        tokens = 1.0 if self._weight is None else self._weight(call.given())
        if isinstance(tokens, Real) and 0 <= tokens < math.inf:
            return float(tokens)
        raise InvalidArgumentError(
            f"The weight of a call cannot be {tokens!r}.", hint="Return a number, at least 0."
        )


@dataclass
class _Shared:
    """A process capacity, and how many operators share it."""

    calls: int
    slots: asyncio.Semaphore
    operators: int = 0


_LOCK = threading.Lock()


def _join(event_loop: EventLoop, capacity: ProcessCapacity) -> asyncio.Semaphore:
    with _LOCK:
        found: _Shared = event_loop.shared.setdefault(
            _name(capacity), _Shared(capacity.calls, asyncio.Semaphore(capacity.calls))
        )
        if found.calls != capacity.calls:
            raise InvalidArgumentError(
                f"The process capacity {capacity.name!r} is {found.calls} calls in one operator and "
                f"{capacity.calls} in another.",
                hint="Give all operators that share it the same ProcessCapacity.",
            )
        found.operators += 1
        return found.slots


def _leave(event_loop: EventLoop, capacity: ProcessCapacity) -> None:
    """Forget a process capacity that nobody shares any more: the next job may give it another size."""
    with _LOCK:
        found: _Shared = event_loop.shared[_name(capacity)]
        found.operators -= 1
        if not found.operators:
            del event_loop.shared[_name(capacity)]


def _name(capacity: ProcessCapacity) -> str:
    return f"capacity of {capacity.name}"
