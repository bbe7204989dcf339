"""The forms in which a user may write an asynchronous function, all brought to one."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any

from penstock.errors import AsyncResultError
from penstock.runtime.async_io.result_future import ResultFuture
from penstock.runtime.objects.mutability import copied_if_possible
from penstock.runtime.user_code import record_text

AsyncCall = Callable[[Any], Coroutine[Any, Any, Any]]
"""Takes a record, or a list of them, and is awaited."""


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether calling a function gives a coroutine."""
    code = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(code)


def takes_result_future(function: Callable[..., Any]) -> bool:
    """Return whether a function needs a second argument: what takes its results."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return False
    return can_bind(signature, 2) and not can_bind(signature, 1)


def can_bind(signature: inspect.Signature, arguments: int) -> bool:
    """Return whether a function can be called with so many arguments."""
    try:
        signature.bind(*range(arguments))
    except TypeError:
        return False
    return True


def as_async_call(
    function: Callable[..., Any], loop: asyncio.AbstractEventLoop, threads: Executor
) -> AsyncCall:
    """Return a function in the one form that is awaited.

    Args:
        function: What the user gave: an async function; one that takes a `ResultFuture` too; or a
            plain one, which runs in a pool of threads.
        loop: The event loop.
        threads: The pool.
    """
    if takes_result_future(function):
        return _callback_form(function, loop)
    if is_async(function):
        return function
    return _plain_form(function, loop, threads)


def _callback_form(function: Callable[..., Any], loop: asyncio.AbstractEventLoop) -> AsyncCall:
    async def call(value: Any) -> Any:
        future = ResultFuture(loop)
        pending = function(value, future)
        if inspect.isawaitable(pending):
            await pending
        return await future.wait()

    return call


def _plain_form(
    function: Callable[..., Any], loop: asyncio.AbstractEventLoop, threads: Executor
) -> AsyncCall:
    def in_thread(value: Any) -> tuple[Any, BaseException | None]:
        try:
            return frozen(function(value)), None
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a future takes no StopIteration
            return None, error

    async def call(value: Any) -> Any:
        result, error = await loop.run_in_executor(threads, in_thread, value)
        if error is not None:
            raise error
        return await result if inspect.isawaitable(result) else result

    return call


def frozen(results: Any) -> Any:
    """Return a list of results as they are now; anything else as it is.

    A function that is under way for several records may change at any time what it gave out.
    """
    return list(map(copied_if_possible, results)) if isinstance(results, list) else results


def checked_results(results: Any) -> Any:
    """Return the results of a call as a list, as they are now; see `frozen`.

    Raises:
        AsyncResultError: If they are no list. A tuple, for one, may well be a single result.
    """
    if isinstance(results, list):
        return frozen(results)
    raise AsyncResultError(
        f"The function returned {record_text(results)}, where a list of results is due.",
        hint="return [result] for one result, list(results) for several, [] for none.",
    )
