"""The user's asynchronous function in a worker: opened, called in whatever form, closed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import AsyncTimeoutError
from penstock.runtime.async_io.attempts import Attempts
from penstock.runtime.async_io.batches import Batches
from penstock.runtime.async_io.cache import CachedCalls
from penstock.runtime.async_io.call import Call, Step
from penstock.runtime.async_io.forms import (
    AsyncCall,
    as_async_call,
    checked_results,
    takes_result_future,
)
from penstock.runtime.async_io.limits import Permits
from penstock.runtime.async_io.loop.daemon_threads import DaemonThreads
from penstock.runtime.async_io.loop.event_loop import EventLoop
from penstock.runtime.async_io.options import AsyncOptions, milliseconds
from penstock.runtime.async_io.result_future import ResultFuture
from penstock.runtime.async_io.retry_strategies import AsyncRetryStrategy
from penstock.runtime.context import RuntimeContext
from penstock.runtime.user_code import UserFunction

_MOST_THREADS = 32


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


class FunctionLife:
    """The user's asynchronous function in a worker, with all that its settings put around it.

    Args:
        function: The function.
        settings: What is put around it.
        event_loop: The event loop it runs on.

    Attributes:
        step: Makes a call for a record.
    """

    def __init__(
        self, function: UserFunction, settings: AsyncSettings, event_loop: EventLoop
    ) -> None:
        self._function = function
        self._settings = settings
        self._event_loop = event_loop
        options = settings.options
        self._threads = DaemonThreads(
            options.threads or min(settings.capacity, _MOST_THREADS), "penstock-async"
        )
        self._attempts: Attempts | None = None
        self._permits: Permits | None = None
        self.step = self._build(as_async_call(function.call, event_loop.loop, self._threads))
        self.on_timeout = _on_timeout(function, event_loop)

    @property
    def waits_for_permits(self) -> bool:
        """Whether limits may hold calls back."""
        options = self._settings.options
        return options.rate_limit is not None or options.process_capacity is not None

    def _build(self, call: AsyncCall) -> Step:
        settings, options = self._settings, self._settings.options
        if options.batching is not None:
            wait = milliseconds("The wait of a batch", options.batching.wait, 0)
            call = Batches(call, options.batching.size, wait).__call__
        step = _single_attempt(call)
        if settings.retry is not None or options.attempt_timeout or self.waits_for_permits:
            self._attempts = step = self._with_attempts(call)
        if options.cache is not None:
            step = self._with_cache(step)
        return step

    def _with_attempts(self, call: AsyncCall) -> Attempts:
        options = self._settings.options
        if self.waits_for_permits:
            self._permits = Permits(self._event_loop, options.rate_limit, options.process_capacity)
        timeout = options.attempt_timeout
        return Attempts(
            call,
            retry=self._settings.retry,
            retry_after=options.retry_after,
            attempt_timeout=None if timeout is None else milliseconds("attempt_timeout", timeout),
            permits=self._permits,
        )

    def _with_cache(self, step: Step) -> CachedCalls:
        cache = self._settings.options.cache
        assert cache is not None
        alive = cache.time_to_live
        return CachedCalls(
            step,
            size=cache.size,
            time_to_live=None if alive is None else milliseconds("The time to live", alive),
            key=cache.key,
            time=self._event_loop.time,
        )

    def open(self, context: RuntimeContext) -> None:
        """Call the function's own `open`, if it has one: on the event loop if it is async."""
        try:
            self._run("open", context)
        except BaseException:
            self._release()
            raise

    def close(self) -> None:
        """Call the function's own `close`, as `open`, and let its threads end."""
        try:
            self._run("close")
        finally:
            self._release()

    def _release(self) -> None:
        self._threads.close()
        if self._permits is not None:
            self._permits.close()

    def _run(self, method: str, *args: Any) -> None:
        found = self._function.method_named(method)
        if found is None:
            return
        if inspect.iscoroutinefunction(found):
            self._event_loop.run(found(*args))
        else:
            found(*args)

    def begin_epoch(self) -> None:
        """Allow retries again, if an attempt at the last epoch forbade them."""
        if self._attempts is not None:
            self._event_loop.call_soon(self._attempts.begin)

    def end_input(self) -> None:
        """Try what waits for another attempt at once, for the last time, if that is wanted."""
        if self._attempts is not None and not self._settings.options.retry_at_end:
            self._event_loop.call_soon(self._attempts.finish)


def _single_attempt(function: AsyncCall) -> Step:
    async def step(call: Call) -> Any:
        call.attempts = 1
        return checked_results(await function(call.given()))

    return step


def _on_timeout(function: UserFunction, event_loop: EventLoop) -> Callable[[Any], Any]:
    """Return what says what comes of a record whose call took too long."""
    own = function.method_named("timeout")
    if own is None:
        return _raise_timeout
    if not takes_result_future(own):
        return own

    def with_result_future(value: Any) -> Any:
        future = ResultFuture(event_loop.loop)
        own(value, future)
        return future.result()

    return with_result_future


def _raise_timeout(_: Any) -> Any:
    raise AsyncTimeoutError("The call took too long.")
