from __future__ import annotations

import time
from collections.abc import Callable
from email.utils import formatdate
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastream import AsyncRetryStrategy
from penstock.datastream.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
    retry_after_header,
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


def test_predicates() -> None:
    assert empty_result_predicate([])
    assert not empty_result_predicate([0])
    assert has_exception_predicate(ValueError())
    is_os_error = partial(exception_type_predicate, expected_error_type=OSError)
    assert is_os_error(ConnectionResetError())
    assert not is_os_error(ValueError())


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (SimpleNamespace(headers={"Retry-After": "2"}), 2000),
        (SimpleNamespace(headers={"Retry-After": "0.5"}), 500),
        (SimpleNamespace(response=SimpleNamespace(headers={"Retry-After": "1"})), 1000),
        (SimpleNamespace(headers={"Retry-After": "-1"}), 0),
        (SimpleNamespace(headers={"Retry-After": "soon"}), None),
        (SimpleNamespace(headers={"Retry-After": "nan"}), None),
        (SimpleNamespace(headers={"Retry-After": "1e999"}), None),
        (SimpleNamespace(headers=[("Retry-After", "1")]), None),
        (SimpleNamespace(headers={}), None),
        (ValueError(), None),
        (["a result"], None),
    ],
)
def test_when_a_server_wants_to_be_asked_again(outcome: Any, expected: int | None) -> None:
    assert retry_after_header(outcome) == expected


def test_a_server_may_give_a_date() -> None:
    later = SimpleNamespace(headers={"Retry-After": formatdate(time.time() + 60, usegmt=True)})
    found = retry_after_header(later)
    assert found is not None
    assert 50_000 < found <= 60_000
