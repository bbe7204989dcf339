from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastream import AsyncRetryStrategy
from penstock.datastream.async_retry_predicates import (
    empty_result_predicate,
    has_exception_predicate,
)
from penstock.datastream.async_retry_strategies import (
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
)
from penstock.errors import InvalidArgumentError

exponential = AsyncRetryStrategy.exponential_backoff


def test_never_again() -> None:
    strategy: AsyncRetryStrategy[Any] = AsyncRetryStrategy.no_restart()
    assert isinstance(strategy, NoRetryStrategy)
    assert not strategy.can_retry(1)
    assert strategy.get_backoff_time_millis(1) == -1
    assert strategy.get_retry_predicate().result_predicate() is None
    assert strategy.get_retry_predicate().exception_predicate() is None


def test_a_fixed_delay() -> None:
    strategy = AsyncRetryStrategy.fixed_delay(2, 100, empty_result_predicate, None)
    assert isinstance(strategy, FixedDelayRetryStrategy)
    assert [strategy.can_retry(attempt) for attempt in (1, 2, 3)] == [True, True, False]
    assert strategy.get_backoff_time_millis(2) == 100
    assert strategy.get_retry_predicate().result_predicate() is empty_result_predicate


@given(st.integers(1, 2000), st.integers(1, 60))
def test_a_delay_depends_on_the_number_of_attempts_alone(attempt: int, other: int) -> None:
    strategy: AsyncRetryStrategy[Any] = exponential(
        10, 10, 5000, 1.5, None, has_exception_predicate
    )
    assert isinstance(strategy, ExponentialBackoffDelayRetryStrategy)
    strategy.get_backoff_time_millis(other)
    assert strategy.get_backoff_time_millis(attempt) == round(
        min(10 * 1.5 ** min(attempt - 1, 500), 5000)
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: AsyncRetryStrategy.fixed_delay(0, 1, None, None),
        lambda: AsyncRetryStrategy.fixed_delay(1, -1, None, None),
        lambda: AsyncRetryStrategy.fixed_delay(1, 1, 3, None),  # type: ignore[arg-type]
        lambda: AsyncRetryStrategy.fixed_delay(1, 1, None, "all"),  # type: ignore[arg-type]
        lambda: exponential(0, 1, 1, 1, None, None),
        lambda: exponential(1, 10, 9, 1, None, None),
        lambda: exponential(1, 1, 1, 0.5, None, None),
        lambda: exponential(1, 1, 1, 1, None, None, jitter=1.5),
        lambda: exponential(1, 1, 1, 1, None, None, jitter="a"),  # type: ignore[arg-type]
    ],
)
def test_numbers_that_are_none(make: Callable[[], Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        make()
