"""Gauges show what can be shown, and nothing that users' functions return or raise ends a job."""

from __future__ import annotations

import json
import logging
import math
import pickle
import threading
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from penstock.runtime.gauges import Gauge, Reading

CYCLE: list[Any] = []
CYCLE.append(CYCLE)


class Unshowable:
    def __str__(self) -> str:
        raise ValueError("no text")


def read(value: Any) -> Any:
    return Gauge("load", lambda: value).read().value


@pytest.mark.parametrize("value", [None, True, 5, -2.5, "good", [1, "a"], {"a": [None]}, 2**70])
def test_plain_values_are_shown_as_they_are(value: Any) -> None:
    assert read(value) == value


def test_other_numbers_become_pythons_own() -> None:
    assert (read(Decimal("1.5")), read(Fraction(1, 4))) == (1.5, 0.25)


def test_numbers_beyond_all_others_are_infinite() -> None:
    assert (read(10**5_000), read(-(10**400))) == (math.inf, -math.inf)
    assert math.isnan(read(math.nan))


@pytest.mark.parametrize(
    "value", [threading.Lock(), CYCLE, b"bytes", {1, 2}, "x" * 5_000_000, ["x"] * 100_000]
)
def test_all_else_is_a_short_text(value: Any) -> None:
    found = read(value)

    assert isinstance(found, str)
    assert len(found) <= 1_000
    assert pickle.loads(pickle.dumps(found)) == found
    json.dumps(found)


def test_one_that_fails_has_no_value_and_the_log_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failing = Gauge("cache.load", lambda: 1 // 0)

    with caplog.at_level(logging.WARNING, "penstock"):
        assert [failing.read(), failing.read()] == [Reading(None)] * 2
        assert read(Unshowable()) is None

    messages = [record.getMessage() for record in caplog.records]
    assert messages == [
        "The gauge 'cache.load' has no value: its function failed.",
        "The gauge 'load' has no value: its function failed.",
    ]
    assert caplog.records[0].exc_info is not None
    assert caplog.records[0].exc_info[0] is ZeroDivisionError
