from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.runtime.keys import (
    NEW_YORK,
    SAMPLES,
    Charter,
    Colour,
    Corner,
    Flight,
    Holiday,
    Level,
    Mode,
    Point,
    Train,
)

from penstock.common.data_frame_row import row_factory
from penstock.common.types import Row
from penstock.errors import InvalidKeyError
from penstock.runtime.stable_hash import stable_hash

# The offset of a zone that is none is no number of hours, and for a time of day there is none at all.
offsets = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
zones = st.timezones() | offsets


@st.composite
def equal_numbers(draw: st.DrawFn) -> tuple[Any, Any]:
    """Two numbers that are equal and mostly of different types."""
    number = draw(
        st.integers(-2, 2).map(float)
        | st.floats(allow_nan=False, width=16)
        | st.floats(allow_nan=False)
    )
    plain: list[Any] = [number, complex(number)]
    exact: list[Any] = [Decimal(number)]
    numpy: list[Any] = [np.float64(number), np.complex128(number), np.longdouble(number)]
    with np.errstate(over="ignore"):
        narrow = (np.float16(number), np.float32(number))
    # NumPy takes a narrow number for equal to whatever is rounded to it.
    numpy += [form for form in narrow if float(form) == number]
    if np.isfinite(number):
        exact.append(Fraction(number))
        if number.is_integer():
            plain.append(int(number))
            if abs(number) < 2**63:
                numpy.append(np.int64(number))
    if number in {0, 1}:
        plain.append(bool(number))
        numpy += [np.bool_(number), np.uint8(number)]
    # NumPy's numbers cannot be compared with the exact ones of Python.
    forms = plain + draw(st.sampled_from([exact, numpy]))
    return draw(st.sampled_from(forms)), draw(st.sampled_from(forms))


@st.composite
def equal_datetimes(draw: st.DrawFn) -> tuple[Any, Any]:
    """One instant in two zones, or one wall time on both sides of a clock that is put back."""
    moment = draw(st.datetimes(timezones=zones | st.none()))
    kind = draw(st.sampled_from(["zone", "fold", "same"]))
    if kind == "fold":
        return moment, moment.replace(fold=1 - moment.fold)
    if kind == "zone" and moment.tzinfo is not None:
        try:
            elsewhere = moment.astimezone(draw(zones))
        except OverflowError:
            elsewhere = moment
        # A wall time that comes twice is equal to none in another zone.
        assume(moment == elsewhere)
        return moment, elsewhere
    return moment, copy.deepcopy(moment)


@st.composite
def equal_times(draw: st.DrawFn) -> tuple[time, time]:
    """One time of day with two offsets."""
    zone = draw(offsets)
    moment = draw(st.times(timezones=st.just(zone)))
    shift = draw(st.integers(-1439, 1439))
    minutes = moment.hour * 60 + moment.minute + shift
    other = zone.utcoffset(None) + timedelta(minutes=shift)
    assume(0 <= minutes < 1440 and abs(other) < timedelta(hours=24))
    return moment, moment.replace(
        hour=minutes // 60, minute=minutes % 60, tzinfo=timezone(other), fold=1 - moment.fold
    )


def same(value: Any) -> tuple[Any, Any]:
    return value, copy.deepcopy(value)


equal_scalars = (
    equal_numbers()
    | equal_datetimes()
    | equal_times()
    | st.sampled_from([None, *Colour]).map(same)
    | (st.text() | st.binary() | st.dates() | st.timedeltas() | st.uuids()).map(same)
    | st.text(st.characters(exclude_characters="\0")).map(lambda text: (text, np.str_(text)))
    | st.sampled_from(Mode).map(lambda mode: (mode, mode.value))
    | st.sampled_from(Level).map(lambda level: (level, level.value))
)


def containers(inner: st.SearchStrategy[tuple[Any, Any]]) -> st.SearchStrategy[tuple[Any, Any]]:
    """Pairs of equal containers of equal keys."""

    def pair_up(pairs: list[tuple[Any, Any]], form: str) -> tuple[Any, Any]:
        one, other = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        names = tuple(f"f{number}" for number in range(len(pairs)))
        match form:
            case "tuple":
                return tuple(one), tuple(other)
            case "set":
                return frozenset(one), frozenset(reversed(other))
            case "row":
                return Row(*one), Row(*other)
            case "data frame row" if pairs:
                return Row(*names)(*one), row_factory(names)(other)
            case "point":
                return (tuple(one), 1), Point(tuple(other), 1)  # type: ignore[arg-type]
        return Flight(tuple(one), 1), Flight(tuple(other), 1, "a note")  # type: ignore[arg-type]

    forms = st.sampled_from(["tuple", "set", "row", "data frame row", "point", "dataclass"])
    return st.builds(pair_up, st.lists(inner, max_size=3), forms)


equal_keys = st.recursive(equal_scalars, containers, max_leaves=6)


class TestEqualKeys:
    @given(equal_keys)
    def test_have_equal_hashes(self, pair: tuple[Any, Any]) -> None:
        one, other = pair
        assert one == other

        assert stable_hash(one) == stable_hash(other)

    def test_may_be_a_wall_time_that_comes_twice(self) -> None:
        first = datetime(2013, 11, 3, 1, 30, tzinfo=NEW_YORK)
        second = first.replace(fold=1)
        assert (first, first.utcoffset()) == (second, timedelta(hours=-4))
        assert second.utcoffset() == timedelta(hours=-5)

        assert stable_hash(first) == stable_hash(second)

    def test_may_lie_outside_of_the_calendar_in_utc(self) -> None:
        east, west = timezone(timedelta(hours=1)), timezone(timedelta(hours=-1))

        assert stable_hash(datetime.min.replace(tzinfo=east)) == stable_hash(
            datetime.min.replace(hour=1, tzinfo=timezone(timedelta(hours=2)))
        )
        assert stable_hash(datetime.max.replace(tzinfo=west)) == stable_hash(
            datetime.max.replace(hour=22, tzinfo=timezone(timedelta(hours=-2)))
        )

    @pytest.mark.parametrize(
        ("member", "value"), [(Corner.ORIGIN, (0, 0)), (Holiday.NEW_YEAR, date(2025, 1, 1))]
    )
    def test_may_be_members_of_an_enum_of_another_type(self, member: Any, value: Any) -> None:
        assert (member, hash(member)) == (value, hash(value))

        assert stable_hash(member) == stable_hash(value)

    @pytest.mark.parametrize(
        ("numpy", "plain"),
        [
            (np.bool_(1), True),
            (np.bool_(0), 0),
            (np.int8(-5), -5),
            (np.uint64(2**63), 2**63),
            (np.float32(1.5), 1.5),
            (np.complex64(1 + 2j), 1 + 2j),
            (np.str_("a"), "a"),
            (np.bytes_(b"a"), b"a"),
        ],
    )
    def test_may_be_scalars_of_numpy(self, numpy: Any, plain: Any) -> None:
        assert stable_hash(numpy) == stable_hash(plain)

    def test_may_be_two_names_of_one_member(self) -> None:
        assert stable_hash(Colour.ROUGE) == stable_hash(Colour.RED)


class TestHashes:
    @pytest.mark.parametrize("key", SAMPLES)
    def test_have_32_bits(self, key: Any) -> None:
        assert 0 <= stable_hash(key) < 2**32

    @pytest.mark.parametrize(
        ("key", "code"),
        [
            (None, 0),
            (1, 1),
            (-1, 1),
            (2**40 + 5, 261),
            (2.5, 268435458),
            ("hello", 907060870),
            (b"hello", 907060870),
            ((), 1),
            ((1, "a"), 3904356899),
            (frozenset({1, 2}), 3),
            (date(2013, 11, 3), 1320586433),
            (timedelta(seconds=1), 1000000),
            (time(0, 0, 1), 1000000),
            (UUID(int=5), 5),
            (Colour.RED, 3840942239),
            (Flight("UA", 1545), 939949850),
        ],
    )
    def test_never_change(self, key: Any, code: int) -> None:
        # State is stored by key group: another hash would look for it in another place.
        assert stable_hash(key) == code

    def test_tell_keys_apart(self) -> None:
        codes = {stable_hash(key) for key in SAMPLES}

        # Alike are None, 0, "" and b"", "hello" and b"hello".
        assert len(codes) == len(SAMPLES) - 4

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ((1, 2), (2, 1)),
            ((1, (2, 3)), ((1, 2), 3)),
            (Row(1, 2), Row(2, 1)),
            (Flight("UA", 1), Train("UA", 1)),
            (Flight("UA", 1), Charter("UA", 1)),
            (Flight("UA", 1), Flight("UA", 2)),
            (Colour.RED, Colour.GREEN),
            (time(1, tzinfo=UTC), time(1, tzinfo=timezone(timedelta(hours=1)))),
            (
                datetime(2025, 1, 1, tzinfo=UTC),
                datetime(2025, 1, 1, tzinfo=timezone(timedelta(hours=1))),
            ),
            (timedelta(days=1), timedelta(days=2)),
            (2**40, 2**41),
            (UUID(int=1), UUID(int=2)),
            (frozenset({1}), frozenset({2})),
        ],
    )
    def test_tell_like_keys_apart(self, one: Any, other: Any) -> None:
        assert one != other

        assert stable_hash(one) != stable_hash(other)

    def test_are_the_same_in_another_process(self) -> None:
        script = (
            "import json\n"
            "from tests.runtime.keys import SAMPLES\n"
            "from penstock.runtime.stable_hash import stable_hash\n"
            "print(json.dumps([hash('salted'), *map(stable_hash, SAMPLES)]))"
        )
        run = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": "12345"},
        )

        salted, *codes = json.loads(run.stdout)
        assert salted != hash("salted")
        assert codes == [stable_hash(key) for key in SAMPLES]


@dataclass
class Mutable:
    number: int


@dataclass(eq=False)
class Identical:
    number: int


@dataclass(frozen=True)
class Holder:
    content: Any


class Hashable:
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hashable)

    def __hash__(self) -> int:
        return 1


UNHASHABLE: list[Any] = [[1], {"a": 1}, {1}, bytearray(b"a"), Mutable(1), np.array([1])]
UNSTABLE: list[Any] = [
    object(),
    Hashable(),
    Identical(1),
    len,
    int,
    range(3),
    memoryview(b"a"),
    np.datetime64("2025-01-01"),
    np.timedelta64(1, "s"),
]
NANS: list[Any] = [
    float("nan"),
    np.float32("nan"),
    complex(1, float("nan")),
    Decimal("NaN"),
    Decimal("sNaN"),
]


class TestWhatCannotBeAKey:
    @pytest.mark.parametrize("value", UNHASHABLE, ids=repr)
    def test_cannot_be_hashed(self, value: Any) -> None:
        with pytest.raises(InvalidKeyError) as raised:
            stable_hash(value)

        assert raised.value.message == (
            f"A key cannot be of type {type(value).__qualname__}, as it cannot be hashed: {value!r}."
        )
        assert raised.value.hint

    @pytest.mark.parametrize("value", UNSTABLE, ids=lambda value: type(value).__name__)
    def test_has_a_hash_that_means_nothing_elsewhere(self, value: Any) -> None:
        with pytest.raises(InvalidKeyError) as raised:
            stable_hash(value)

        assert raised.value.message == (
            f"A key cannot be of type {type(value).__qualname__}, as its hash may differ between processes: "
            f"{value!r}."
        )

    @pytest.mark.parametrize("value", NANS, ids=repr)
    def test_is_not_equal_to_itself(self, value: Any) -> None:
        with pytest.raises(InvalidKeyError, match="NaN cannot be a key"):
            stable_hash(value)

    @pytest.mark.parametrize("value", [UNHASHABLE[0], UNSTABLE[0], NANS[0]])
    def test_is_found_inside_of_keys(self, value: Any) -> None:
        for key in (
            (1, value),
            Row(value),
            Row(a=value),
            Point(1, value),
            Holder(value),
            ((value,),),
        ):
            with pytest.raises(InvalidKeyError):
                stable_hash(key)
        if isinstance(value, list):
            return
        with pytest.raises(InvalidKeyError):
            stable_hash(frozenset({value}))

    def test_is_shown_in_short(self) -> None:
        with pytest.raises(InvalidKeyError) as raised:
            stable_hash(["x" * 1000])

        assert "['xxx" in raised.value.message
        assert len(raised.value.message) < 300
