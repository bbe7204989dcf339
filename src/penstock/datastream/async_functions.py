"""Asynchronous functions that are classes, and which of their calls are tried again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

from penstock.datastream.function import Function
from penstock.errors import AsyncTimeoutError
from penstock.runtime.async_io.result_future import ResultFuture

if TYPE_CHECKING:
    from penstock.datastream.async_retry_strategies import (
        ExponentialBackoffDelayRetryStrategy,
        FixedDelayRetryStrategy,
        NoRetryStrategy,
    )

__all__ = ["AsyncFunction", "AsyncRetryPredicate", "AsyncRetryStrategy", "ResultFuture"]

IN = TypeVar("IN")
OUT = TypeVar("OUT")


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


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Which outcomes of an attempt are not good enough."""

    @abstractmethod
    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """Return what tells whether a list of results is not good enough; None if every one is."""

    @abstractmethod
    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """Return what tells whether an error is worth another attempt; None if none is."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """How often a call is tried, after which time, and after which outcomes.

    The strategy is one object for all records of a subtask: what it answers depends on the number of
    attempts alone, so that records do not disturb each other.

    Example:
        >>> from penstock.datastream.async_retry_predicates import has_exception_predicate
        >>> strategy = AsyncRetryStrategy.exponential_backoff(
        ...     max_attempts=5, initial_delay=100, max_retry_delay=1000, multiplier=2,
        ...     result_predicate=None, exception_predicate=has_exception_predicate,
        ... )
        >>> [strategy.get_backoff_time_millis(attempt) for attempt in range(1, 7)]
        [100, 200, 400, 800, 1000, 1000]
    """

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Return whether another attempt may follow.

        Args:
            current_attempts: How many attempts there were, at least 1.
        """

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return how long to wait for the next attempt, in milliseconds.

        Args:
            current_attempts: How many attempts there were, at least 1.
        """

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return which outcomes are not good enough."""

    @staticmethod
    def no_restart() -> NoRetryStrategy[OUT]:
        """Return the strategy that never tries again."""
        from penstock.datastream.async_retry_strategies import NoRetryStrategy

        return NoRetryStrategy()

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> FixedDelayRetryStrategy[OUT]:
        """Return the strategy that waits the same time before each new attempt.

        Args:
            max_attempts: How often a call is tried again; it is made once more than that.
            backoff_time_millis: The time between attempts, in milliseconds.
            result_predicate: Tells whether a list of results is not good enough. None: all are.
            exception_predicate: Tells whether an error is worth another attempt. None: none is.

        Raises:
            InvalidArgumentError: If a number is too small, or a predicate cannot be called.
        """
        from penstock.datastream.async_retry_strategies import FixedDelayRetryStrategy

        return FixedDelayRetryStrategy(
            max_attempts, backoff_time_millis, result_predicate, exception_predicate
        )

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
        *,
        jitter: float = 0.0,
    ) -> ExponentialBackoffDelayRetryStrategy[OUT]:
        """Return the strategy that waits longer before each new attempt.

        Args:
            max_attempts: How often a call is tried again; it is made once more than that.
            initial_delay: The time before the second attempt, in milliseconds.
            max_retry_delay: The longest time, in milliseconds.
            multiplier: By how much the time grows from one attempt to the next.
            result_predicate: Tells whether a list of results is not good enough. None: all are.
            exception_predicate: Tells whether an error is worth another attempt. None: none is.
            jitter: The part of the time that is left to chance, from 0 to 1: at 0.2 a time of 100 ms
                lies between 80 and 120 ms. So records that failed together do not come back together.
                Not in PyFlink. Default: 0.

        Raises:
            InvalidArgumentError: If a number is too small, or a predicate cannot be called.
        """
        from penstock.datastream.async_retry_strategies import ExponentialBackoffDelayRetryStrategy

        return ExponentialBackoffDelayRetryStrategy(
            max_attempts,
            initial_delay,
            max_retry_delay,
            multiplier,
            result_predicate,
            exception_predicate,
            jitter=jitter,
        )
