from __future__ import annotations

import time
from email.utils import formatdate
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.datastream.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
    retry_after_header,
)


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
