"""Asynchronous functions: the class, what else may take its place, and the check where the program is built."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeAlias, TypeVar

from penstock.errors import AsyncTimeoutError, InvalidFunctionError
from penstock.runtime.async_io.forms import can_bind, is_async
from penstock.runtime.function import Function
from penstock.runtime.user_code import record_text

IN = TypeVar("IN")
OUT = TypeVar("OUT")

_METHOD = "async_invoke"


class AsyncFunction(Function, Generic[IN, OUT]):
    """Makes any number of results of each record, while other records are under way.

    See `AsyncDataStream`. `open` and `close` may be `async` too, and then run on the event loop that
    the calls run on: make sessions and connection pools there. They live as long as the worker
    process, not the epoch.

    Example:
        >>> import asyncio
        >>> class Double(AsyncFunction):
        ...     async def open(self, runtime_context):
        ...         self.server = asyncio.Semaphore(10)
        ...     async def async_invoke(self, value):
        ...         async with self.server:
        ...             return [2 * value]
        ...     def timeout(self, value):
        ...         return []
        >>> from penstock.common import Time
        >>> from penstock.datastream import AsyncDataStream
        >>> from penstock.testing import local_environment
        >>> numbers = local_environment().from_collection([1, 2, 3])
        >>> doubled = AsyncDataStream.ordered_wait(numbers, Double(), Time.seconds(5))
        >>> list(doubled.execute_and_collect())
        [2, 4, 6]
    """

    @abstractmethod
    async def async_invoke(self, value: IN) -> Iterable[OUT]:
        """Return the results for a record.

        In place of this form a class may have one of two others. `def async_invoke(self, value)`
        without `async` runs in a pool of threads. `def async_invoke(self, value, result_future)` starts
        something and returns; what it started calls `result_future.complete(results)` or
        `result_future.complete_exceptionally(error)` later, once, from any thread. If it is `async`, the
        call lasts until it has returned, too.

        Args:
            value: The record; under `AsyncOptions.batching` a list of records.

        Returns:
            A list of results, empty for none.
        """

    def timeout(self, value: IN) -> Iterable[OUT]:
        """Return the results for a record whose call took too long, and was cancelled.

        What it returns or raises is final: there is no retry. It must not wait. In callback form it takes
        the result future as well, and completes it before it returns.

        Args:
            value: The record.

        Returns:
            A list of results.

        Raises:
            AsyncTimeoutError: This default raises it, so that the call has failed.
        """
        raise AsyncTimeoutError("The asynchronous call has timed out.")


AnyAsyncFunction: TypeAlias = AsyncFunction[Any, Any] | Callable[..., Any]
"""An `AsyncFunction`, an `async def`, a plain function, or one that takes a `ResultFuture` too."""


def check_async_function(function: Any, operation: str) -> Any:
    """Return a user's function, sure to be callable as an asynchronous operator will call it.

    Args:
        function: What the user gave.
        operation: What the user called, for messages.

    Raises:
        InvalidFunctionError: If it cannot be called so.
    """
    if isinstance(function, type):
        raise InvalidFunctionError(
            f"{operation} was given the class {function.__name__}, not an object of it.",
            hint=f"Write {function.__name__}() in place of {function.__name__}.",
        )
    by_method = getattr(function, _METHOD, None)
    target = by_method if callable(by_method) else function
    if not callable(target) or (isinstance(function, Function) and target is function):
        raise InvalidFunctionError(
            f"{operation} was given {record_text(function)}, which is neither an AsyncFunction nor "
            "callable.",
            hint=f"Give an async def, or an object with a method {_METHOD}.",
        )
    _check_kind(target, operation)
    timeout = getattr(function, "timeout", None)
    if target is by_method and callable(timeout) and is_async(timeout):
        raise InvalidFunctionError(
            f"{operation} was given {type(function).__name__}, whose timeout() is async: nobody would "
            "wait for it.",
            hint="Have timeout() return its results at once.",
        )
    return function


def _check_kind(target: Callable[..., Any], operation: str) -> None:
    name = getattr(target, "__qualname__", type(target).__qualname__)
    if inspect.isasyncgenfunction(target) or inspect.isgeneratorfunction(target):
        raise InvalidFunctionError(
            f"{operation} was given {name}, which yields its results one by one.",
            hint="Return a list of results.",
        )
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return  # functions written in C often do not tell
    if not can_bind(signature, 1) and not can_bind(signature, 2):
        raise InvalidFunctionError(
            f"{operation} calls its function with a record, or with a record and a ResultFuture, and "
            f"{name}{signature} takes neither.",
            hint="Give a function of one argument.",
        )
