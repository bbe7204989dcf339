"""How often an asynchronous call is tried, after which time, and after which outcomes."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from penstock.errors import InvalidArgumentError
from penstock.runtime.async_io.options import at_least, plain_function

OUT = TypeVar("OUT")


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
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts,
            initial_delay,
            max_retry_delay,
            multiplier,
            result_predicate,
            exception_predicate,
            jitter=jitter,
        )


class RetryPredicate(AsyncRetryPredicate[OUT]):
    """Which outcomes of an attempt are not good enough, as two functions.

    Args:
        result_predicate: Tells whether a list of results is not good enough. None: all are.
        exception_predicate: Tells whether an error is worth another attempt. None: none is.

    Raises:
        InvalidArgumentError: If one cannot be called.
    """

    def __init__(
        self,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        for predicate in (result_predicate, exception_predicate):
            if predicate is not None:
                plain_function("A retry predicate", predicate)
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """See `AsyncRetryPredicate`."""
        return self._result_predicate

    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """See `AsyncRetryPredicate`."""
        return self._exception_predicate


class NoRetryStrategy(AsyncRetryStrategy[OUT]):
    """Never tries again: `AsyncRetryStrategy.no_restart`."""

    def can_retry(self, current_attempts: int) -> bool:
        """Return False."""
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return -1: there is no next attempt."""
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return that every outcome is good enough."""
        return RetryPredicate(None, None)


class FixedDelayRetryStrategy(AsyncRetryStrategy[OUT]):
    """Waits the same time before each new attempt: see `AsyncRetryStrategy.fixed_delay`.

    Args:
        max_attempts: How often a call is tried again.
        backoff_time_millis: The time between attempts, in milliseconds.
        result_predicate: Tells whether a list of results is not good enough. None: all are.
        exception_predicate: Tells whether an error is worth another attempt. None: none is.

    Raises:
        InvalidArgumentError: If a number is too small, or a predicate cannot be called.
    """

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        at_least("The max_attempts of a retry strategy", max_attempts)
        at_least("The backoff_time_millis of a retry strategy", backoff_time_millis, 0)
        self._max_attempts = max_attempts
        self._backoff_time_millis = backoff_time_millis
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        """See `AsyncRetryStrategy`."""
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """See `AsyncRetryStrategy`."""
        return self._backoff_time_millis

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """See `AsyncRetryStrategy`."""
        return self._predicate


class ExponentialBackoffDelayRetryStrategy(AsyncRetryStrategy[OUT]):
    """Waits longer before each new attempt: see `AsyncRetryStrategy.exponential_backoff`.

    Args:
        max_attempts: How often a call is tried again.
        initial_delay: The time before the second attempt, in milliseconds.
        max_retry_delay: The longest time, in milliseconds.
        multiplier: By how much the time grows from one attempt to the next.
        result_predicate: Tells whether a list of results is not good enough. None: all are.
        exception_predicate: Tells whether an error is worth another attempt. None: none is.
        jitter: The part of the time that is left to chance, from 0 to 1. Not in PyFlink. Default: 0.

    Raises:
        InvalidArgumentError: If a number is too small, or a predicate cannot be called.
    """

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
        *,
        jitter: float = 0.0,
    ) -> None:
        at_least("The max_attempts of a retry strategy", max_attempts)
        at_least("The initial_delay of a retry strategy", initial_delay, 0)
        at_least("The max_retry_delay of a retry strategy", max_retry_delay, initial_delay)
        _between("multiplier", multiplier, 1, float("inf"))
        _between("jitter", jitter, 0, 1)
        self._max_attempts = max_attempts
        self._initial_delay = initial_delay
        self._max_retry_delay = max_retry_delay
        self._multiplier = multiplier
        self._jitter = jitter
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        """See `AsyncRetryStrategy`."""
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """See `AsyncRetryStrategy`."""
        delay = float(self._initial_delay)
        for _ in range(1, current_attempts):
            if delay >= self._max_retry_delay:
                break
            delay *= self._multiplier
        delay = min(delay, self._max_retry_delay)
        return round(delay * random.uniform(1 - self._jitter, 1 + self._jitter))

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """See `AsyncRetryStrategy`."""
        return self._predicate


def checked_strategy(strategy: Any) -> AsyncRetryStrategy[Any]:
    """Return a retry strategy, sure to be one.

    Raises:
        InvalidArgumentError: If it is none.
    """
    if isinstance(strategy, AsyncRetryStrategy):
        return strategy
    raise InvalidArgumentError(
        f"{strategy!r} is no AsyncRetryStrategy.",
        hint="For instance: AsyncRetryStrategy.fixed_delay(3, 100, None, has_exception_predicate).",
    )


def _between(name: str, value: Any, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        bounds = f"at least {least}" if most == float("inf") else f"from {least} to {most}"
        raise InvalidArgumentError(
            f"The {name} of a retry strategy cannot be {value!r}.", hint=f"Give a number {bounds}."
        )
