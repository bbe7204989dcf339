from __future__ import annotations

import dataclasses
import datetime
import enum
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row
from penstock.common.data_frame_row import row_factory
from penstock.errors import InvalidKeyError
from penstock.runtime.stable_hash import stable_hash
from penstock.runtime.state.key_bytes import key_bytes
from penstock.runtime.windowing.window import CountWindow, GlobalWindow, TimeWindow, Window

UTC = datetime.UTC
EAST = datetime.timezone(datetime.timedelta(hours=2))


class Color(enum.Enum):
    RED = 1


class Size(enum.IntEnum):
    SMALL = 1


@dataclasses.dataclass(frozen=True)
class Point:
    x: float
    note: str = dataclasses.field(default="", compare=False)


class Day(Window):
    def __init__(self, number: int, name: str = "") -> None:
        self.number = number
        self.name = name

    def max_timestamp(self) -> int:
        return self.number


class Night(Day):
    pass


class Hour(Window):
    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def max_timestamp(self) -> int:
        return self.number


@dataclasses.dataclass(frozen=True)
class Minute(Window):
    number: float
    note: str = dataclasses.field(default="", compare=False)

    def max_timestamp(self) -> int:
        return 0


WINDOWS = [
    *(TimeWindow(0, 10), TimeWindow(-10, 0), TimeWindow(-(2**63), 2**63 - 1), TimeWindow(0, 2**63)),
    *(TimeWindow(0, 10.5), TimeWindow(np.int64(0), 10), (0, 10)),  # type: ignore[arg-type]
    *(CountWindow(0), CountWindow(7), (7,), GlobalWindow.get(), GlobalWindow()),
    *(Day(1), Day(1), Day(1, "a"), Night(1), Hour(1), Hour(2)),
    *(Minute(1), Minute(1.0, "noted"), Minute(2)),
]
KEYS = [
    *WINDOWS,
    *(None, 0, 1, True, 1.0, -0.0, Decimal(1), Decimal("1.0"), Fraction(1), 1 + 0j, Size.SMALL),
    *(0.5, Decimal("0.5"), Fraction(1, 2), 0.1, Decimal("0.1"), Fraction(1, 10), Fraction(1, 3)),
    *(
        2**63,
        2.0**63,
        -(2**63),
        -(2**63) - 1,
        2**64,
        float("inf"),
        Decimal("Infinity"),
        1j,
        10**400,
    ),
    Fraction(10**400, 3),
    *(
        "",
        "a",
        "1",
        b"",
        b"a",
        b"1",
        (),
        ("a",),
        ("a", "b"),
        ("ab",),
        ("", "ab"),
        (1, 1.0),
        (True, 1),
    ),
    *(frozenset(), frozenset({1, 2}), frozenset({2.0, 1}), frozenset({3})),
    *(
        Row(1, 2),
        Row(a=1),
        Row(b=1),
        Row(a=1, b=2),
        Row(b=2, a=1),
        Row(b=1, a=2),
        row_factory(["a"])((1,)),
        (1, 2),
        Color.RED,
    ),
    *(Point(1), Point(1.0, "noted"), Point(2)),
    *(
        datetime.date(2020, 1, 1),
        datetime.datetime(2020, 1, 1),  # noqa: DTZ001 - naive on purpose
        datetime.datetime(2020, 1, 1, tzinfo=UTC),
    ),
    datetime.datetime(2020, 1, 1, 2, tzinfo=EAST),
    *(datetime.time(1), datetime.time(1, tzinfo=UTC), datetime.time(3, tzinfo=EAST)),
    *(datetime.timedelta(1), datetime.timedelta(hours=24), uuid.UUID(int=1), uuid.UUID(int=2)),
]


@pytest.mark.parametrize("one", KEYS, ids=repr)
def test_keys_have_equal_bytes_just_if_they_are_equal(one: object) -> None:
    for other in KEYS:
        assert (key_bytes(one) == key_bytes(other)) is bool(one == other), (one, other)


def test_a_window_of_time_takes_two_numbers() -> None:
    assert len(key_bytes(TimeWindow(2**60, 2**61))) == 23
    assert len(key_bytes(GlobalWindow.get())) == 1


def test_a_window_must_keep_what_may_be_a_key() -> None:
    with pytest.raises(InvalidKeyError):
        key_bytes(Day([1]))  # type: ignore[arg-type]


def test_bytes_end_where_they_say() -> None:
    encoded = {key_bytes(key) for key in KEYS}
    for one in encoded:
        assert not any(other.startswith(one) for other in encoded if other != one)


@pytest.mark.parametrize(
    "key",
    [np.int64(1), np.uint8(7), np.float64(1), np.float32(0.1), np.True_, np.str_("a")],
    ids=repr,
)
def test_a_numpy_scalar_has_the_bytes_of_what_it_equals(key: np.generic) -> None:
    assert key_bytes(key) == key_bytes(key.item())


SIMPLE = st.one_of(
    st.none(),
    st.integers(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.text(),
    st.binary(),
    st.booleans(),
)
ANY = st.recursive(SIMPLE, lambda keys: st.lists(keys, max_size=3).map(tuple), max_leaves=4)


@given(ANY, ANY, ANY, ANY)
def test_bytes_of_keys_in_a_row_are_equal_just_if_the_keys_are(
    a: Any, b: Any, c: Any, d: Any
) -> None:
    assert (key_bytes(a) + key_bytes(b) == key_bytes(c) + key_bytes(d)) is ((a, b) == (c, d))


@pytest.mark.parametrize(
    "key",
    [float("nan"), (1, float("nan")), [1], {}, object(), (1, [2]), np.float64("nan")],
)
def test_what_cannot_be_a_key_is_refused(key: object) -> None:
    with pytest.raises(InvalidKeyError):
        key_bytes(key)


# --------------------------------------------------------------------------------- times of pandas


def of_pandas() -> st.SearchStrategy[Any]:
    nanoseconds = st.integers(0, 3000) | st.integers(-3000, 3000).map(lambda it: 10**15 + it)
    return st.one_of(
        nanoseconds.map(pd.Timedelta),
        nanoseconds.map(lambda it: datetime.timedelta(microseconds=it // 1000)),
        nanoseconds.map(pd.Timestamp),
        nanoseconds.map(lambda it: pd.Timestamp(it).to_pydatetime(warn=False)),
        nanoseconds.map(lambda it: pd.Timestamp(it, tz="UTC")),
        nanoseconds.map(lambda it: pd.Timestamp(it, tz="UTC").tz_convert("Asia/Tokyo")),
        nanoseconds.map(lambda it: pd.Timestamp(it).as_unit("us")),
    )


@given(one=of_pandas(), other=of_pandas())
def test_times_of_pandas_have_equal_bytes_if_they_are_equal(one: Any, other: Any) -> None:
    are_equal = bool(one == other)
    assert (key_bytes(one) == key_bytes(other)) == are_equal
    if are_equal:
        assert stable_hash(one) == stable_hash(other)


@pytest.mark.parametrize(
    "key", [pd.Timestamp.min, pd.Timestamp.max, pd.Timedelta.min, pd.Timedelta.max], ids=repr
)
def test_the_extremes_of_pandas_are_keys(key: Any) -> None:
    assert key_bytes(key) != key_bytes(key.floor("us") if key.value > 0 else key.ceil("us"))


def test_no_time_is_no_key() -> None:
    for use in (key_bytes, stable_hash):
        with pytest.raises(InvalidKeyError, match="NaT cannot be a key"):
            use(pd.NaT)
        with pytest.raises(InvalidKeyError, match="NaT cannot be a key"):
            use(("a", pd.NaT))
