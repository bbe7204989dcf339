"""A line survives pickling, whatever was logged, and is not too long."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.task.logs.lines import PLACE, line_of, record_of

from penstock.runtime.task.logs.log_line import LogLine

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
NESTED = st.recursive(
    PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


class Hostile:
    """What can be neither pickled nor shown."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __str__(self) -> str:
        message = "not now"
        raise RuntimeError(message)

    __repr__ = __str__


@given(st.lists(PLAIN, min_size=1, max_size=4))
def test_plain_arguments_stay(values: list[Any]) -> None:
    template = " ".join(["%s"] * len(values))
    line = pickle.loads(pickle.dumps(line_of(template, *values)))
    assert line.attributes["msg"] % line.attributes["args"] == template % tuple(values)
    assert line.place == PLACE


@given(NESTED)
def test_plain_data_in_extra_stays(value: Any) -> None:
    assert pickle.loads(pickle.dumps(line_of("x", user=value))).attributes["user"] == value


@pytest.mark.parametrize("value", [Hostile(), [Hostile()], {"x": (Hostile(),)}, {1, 2}, int])
def test_anything_survives(value: Any) -> None:
    line = pickle.loads(pickle.dumps(line_of("%s", value, user=value)))
    assert line.attributes["args"] is None
    assert isinstance(line.attributes["msg"], str)


def test_a_message_that_is_no_text_becomes_text() -> None:
    assert line_of(ValueError("no fare")).attributes["msg"] == "no fare"


def test_arguments_that_do_not_fit_are_said() -> None:
    text = line_of("%d fares", "x").attributes["msg"]
    assert text == "%d fares (its arguments cannot be shown: TypeError)"


@given(st.integers(0, 40_000), st.integers(0, 40_000))
def test_no_line_is_too_long(length: int, argument: int) -> None:
    line = line_of("a" * length + "%s", "b" * argument, user="c" * argument)
    assert line.size <= 10_100
    assert len(line.attributes["user"]) <= 10_100


def test_an_exception_becomes_text() -> None:
    with pytest.raises(ValueError, match="invalid") as caught:
        int("x")
    line = line_of("failed", exc_info=(caught.type, caught.value, caught.tb))
    assert line.attributes["exc_info"] is None
    assert line.attributes["exc_text"].startswith("Traceback (most recent call last):\n")
    assert str(line).splitlines()[0].endswith("INFO shop: [clean (2/4), epoch 7] failed")
    assert str(line).endswith(line.attributes["exc_text"])


def test_the_place_is_that_of_then() -> None:
    place = pickle.loads(pickle.dumps(PLACE))
    line = LogLine.of(record_of("x"), place)
    place.epoch = 8
    assert line.place == PLACE
