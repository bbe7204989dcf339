from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidTimestampError, UserFunctionError
from penstock.runtime.exchange.elements import Block
from penstock.runtime.exchange.watermarks.timestamps import checked_watermark, timestamps_of
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP

valid = st.integers(MIN_TIMESTAMP + 1, MAX_TIMESTAMP)


@given(st.lists(valid, min_size=1), st.booleans())
def test_are_what_the_assigner_says(found: list[int], timed: bool) -> None:
    values = list(range(len(found)))
    before: list[int | None] | None = [-value for value in values] if timed else None
    asked: list[Any] = []

    def assigner(value: int, timestamp: int | None) -> int:
        asked.append((value, timestamp))
        return found[value]

    assert timestamps_of(Block(values, before), assigner, "Mine") == found
    assert asked == [(value, -value if timed else None) for value in values]


@given(st.lists(valid, min_size=1))
def test_are_those_that_records_have(found: list[int]) -> None:
    block = Block(list(found), list(found))
    assert timestamps_of(block, None, "Mine") == found


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_may_be_any_kind_of_integer(kind: Any) -> None:
    found = timestamps_of(Block([1, 2]), lambda value, _: kind(value), "Mine")
    assert found == [1, 2]
    assert set(map(type, found)) == {int}


@pytest.mark.parametrize(
    "wrong", [None, "7", 7.0, True, np.True_, np.float64(1), MIN_TIMESTAMP, MAX_TIMESTAMP + 1]
)
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("assigned", [True, False])
def test_that_are_wrong_tell_their_record(wrong: Any, place: int, assigned: bool) -> None:
    timestamps: list[Any] = [1, 2, 3]
    timestamps[place] = wrong
    values = ["r0", "r1", "r2"]
    block = Block(values) if assigned else Block(values, timestamps)
    assigner = (lambda value, _: timestamps[int(value[1])]) if assigned else None
    with pytest.raises(InvalidTimestampError, match=f"'Mine' .*'r{place}'") as raised:
        timestamps_of(block, assigner, "Mine")
    assert raised.value.hint


@pytest.mark.parametrize("error", [ValueError, StopIteration, KeyError])
@pytest.mark.parametrize("timed", [True, False])
def test_that_cannot_be_told_tell_their_record(error: type[Exception], timed: bool) -> None:
    def assigner(value: int, _: int | None) -> int:
        if value == 2:
            raise error("mine")
        return value

    with pytest.raises(UserFunctionError, match="mine") as raised:
        timestamps_of(Block([1, 2, 3], [1, 2, 3] if timed else None), assigner, "Mine")
    assert (raised.value.operator, raised.value.record) == ("Mine", "2")


def test_watermarks_are_integers_of_64_bits() -> None:
    assert checked_watermark(np.int64(5)) == 5
    assert type(checked_watermark(np.int64(5))) is int
    for wrong in (None, 1.5, "7", True, MAX_TIMESTAMP + 1):
        with pytest.raises(InvalidTimestampError, match="generator emitted"):
            checked_watermark(wrong)
