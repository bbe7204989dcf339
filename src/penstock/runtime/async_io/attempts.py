"""One call for a record: one attempt, or several."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from penstock.errors import AsyncTimeoutError
from penstock.runtime.async_io.call import Call
from penstock.runtime.async_io.forms import AsyncCall, checked_results, frozen
from penstock.runtime.async_io.limits import Permits
from penstock.runtime.async_io.retry_strategies import AsyncRetryStrategy


class Attempts:
    """Calls a function for a record until the outcome is good enough, or no attempt is left.

    All that is known of earlier attempts belongs to the call: records do not share it.

    Args:
        function: The function.
        retry: How often it is tried; None for once.
        retry_after: Says how long to wait before the next attempt (milliseconds), or None.
        attempt_timeout: How long one attempt may take, in milliseconds; None for no limit.
        permits: What an attempt needs before it may begin; None for nothing.
    """

    def __init__(
        self,
        function: AsyncCall,
        *,
        retry: AsyncRetryStrategy[Any] | None,
        retry_after: Callable[[Any], int | None] | None,
        attempt_timeout: int | None,
        permits: Permits | None,
    ) -> None:
        self._function = function
        self._retry = retry
        self._retry_after = retry_after
        self._attempt_timeout = attempt_timeout
        self._permits = permits
        self._is_last_chance = False
        # In the order in which they began to sleep.
        self._sleeping: dict[asyncio.Future[None], None] = {}
        predicate = None if retry is None else retry.get_retry_predicate()
        self._is_bad_result = None if predicate is None else predicate.result_predicate()
        self._is_bad_error = None if predicate is None else predicate.exception_predicate()

    async def __call__(self, call: Call) -> Any:
        """Return the results of a record's call."""
        while True:
            call.attempts += 1
            outcome: Any
            try:
                results = outcome = await self._attempt(call)
                if not self._wants_another(call, self._is_bad_result, results):
                    # Who judges results may keep them.
                    return results if self._is_bad_result is None else frozen(results)
            except Exception as error:
                if not self._wants_another(call, self._is_bad_error, error):
                    raise
                outcome = error
            await self._sleep(self._delay(call.attempts, outcome))

    async def _attempt(self, call: Call) -> Any:
        if self._permits is None:
            return await self._timed(call)
        async with self._permits.permit(call):
            if call.on_admitted is not None and call.attempts == 1:
                call.on_admitted()
            return await self._timed(call)

    async def _timed(self, call: Call) -> Any:
        if self._attempt_timeout is None:
            return checked_results(await self._function(call.given()))
        timeout = asyncio.timeout(self._attempt_timeout / 1000)
        try:
            async with timeout:
                return checked_results(await self._function(call.given()))
        except TimeoutError:
            if not timeout.expired():
                raise
            raise AsyncTimeoutError(
                f"Attempt {call.attempts} took longer than {self._attempt_timeout} milliseconds.",
                hint="Give it more time (attempt_timeout), or retry with an exception predicate.",
            ) from None

    def _wants_another(
        self, call: Call, is_bad: Callable[[Any], bool] | None, outcome: Any
    ) -> bool:
        return (
            self._retry is not None
            and not self._is_last_chance
            and is_bad is not None
            and self._retry.can_retry(call.attempts)
            and bool(is_bad(outcome))
        )

    def _delay(self, attempts: int, outcome: Any) -> float:
        """Return how long to wait for the next attempt, in seconds."""
        assert self._retry is not None
        wish = None if self._retry_after is None else self._retry_after(outcome)
        if wish is None:
            wish = self._retry.get_backoff_time_millis(attempts)
        return max(0, wish) / 1000

    async def _sleep(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        woken = loop.create_future()
        timer = loop.call_later(seconds, _wake, woken)
        self._sleeping[woken] = None
        try:
            await woken
        finally:
            timer.cancel()
            del self._sleeping[woken]

    def finish(self) -> None:
        """Try what waits for its next attempt at once, and nothing again after that."""
        self._is_last_chance = True
        for woken in list(self._sleeping):
            _wake(woken)

    def begin(self) -> None:
        """Take back what `finish` said."""
        self._is_last_chance = False


def _wake(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)
