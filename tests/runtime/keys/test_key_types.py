from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.runtime.keys.kinds import (
    NEW_YORK,
    SAMPLES,
    Access,
    Charter,
    Colour,
    Corner,
    Flight,
    Holiday,
    Level,
    Mode,
    Point,
    Shift,
    Train,
)

from penstock.common.rows.data_frame_row import row_factory
from penstock.common.types import Row
from penstock.errors import InvalidKeyError
from penstock.runtime.keys.key_types import _LADDER, _PLAIN, key_bytes, stable_hash
from penstock.runtime.keys.list_key import ListKey
from penstock.runtime.keys.window_values import CountWindow, GlobalWindow, TimeWindow, Window

# The offset of a zone that is none is no number of hours, and for a time of day there is none at all.
offsets = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
zones = st.timezones() | offsets

EAST = timezone(timedelta(hours=2))


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


# Keys of every type on the ladder, their hashes and their bytes; in those, the name of the key's own class is left out.
GOLDEN: list[tuple[Any, int, bytes]] = [
    (None, 0, b"N"),
    (0, 0, b"i\x00\x00\x00\x00\x00\x00\x00\x00"),
    (1, 1, b"i\x00\x00\x00\x00\x00\x00\x00\x01"),
    (-1, 1, b"i\xff\xff\xff\xff\xff\xff\xff\xff"),
    (True, 1, b"i\x00\x00\x00\x00\x00\x00\x00\x01"),
    (2**40 + 5, 261, b"i\x00\x00\x01\x00\x00\x00\x00\x05"),
    (2**63, 4, b"I\x00\x00\x00\t\x00\x80\x00\x00\x00\x00\x00\x00\x00"),
    (-(2**70), 511, b"I\x00\x00\x00\t\xc0\x00\x00\x00\x00\x00\x00\x00\x00"),
    (2.5, 268435458, b"f@\x04\x00\x00\x00\x00\x00\x00"),
    (-0.0, 0, b"i\x00\x00\x00\x00\x00\x00\x00\x00"),
    (float("inf"), 314159, b"f\x7f\xf0\x00\x00\x00\x00\x00\x00"),
    (1 + 2j, 2000007, b"Ci\x00\x00\x00\x00\x00\x00\x00\x01i\x00\x00\x00\x00\x00\x00\x00\x02"),
    (
        ListKey([1, "a"]),
        3904356900,
        b"lt\x00\x00\x00\x02i\x00\x00\x00\x00\x00\x00\x00\x01s\x00\x00\x00\x01a",
    ),
    (
        Decimal("1.1"),
        3489660929,
        b"Ri\x00\x00\x00\x00\x00\x00\x00\x0bi\x00\x00\x00\x00\x00\x00\x00\n",
    ),
    (Decimal("-Infinity"), 314158, b"f\xff\xf0\x00\x00\x00\x00\x00\x00"),
    (
        Fraction(1, 3),
        1073741824,
        b"Ri\x00\x00\x00\x00\x00\x00\x00\x01i\x00\x00\x00\x00\x00\x00\x00\x03",
    ),
    (np.int64(7), 7, b"i\x00\x00\x00\x00\x00\x00\x00\x07"),
    (np.float32(0.5), 268435456, b"f?\xe0\x00\x00\x00\x00\x00\x00"),
    (np.bool_(1), 1, b"i\x00\x00\x00\x00\x00\x00\x00\x01"),
    (Level.HIGH, 2, b"i\x00\x00\x00\x00\x00\x00\x00\x02"),
    ("hello", 907060870, b"s\x00\x00\x00\x05hello"),
    ("\udcff", 3394095495, b"s\x00\x00\x00\x03\xed\xb3\xbf"),
    (np.str_("hello"), 907060870, b"s\x00\x00\x00\x05hello"),
    (Mode.ON, 162933192, b"s\x00\x00\x00\x02on"),
    (b"hello", 907060870, b"b\x00\x00\x00\x05hello"),
    ((), 1, b"t\x00\x00\x00\x00"),
    ((1, "a"), 3904356899, b"t\x00\x00\x00\x02i\x00\x00\x00\x00\x00\x00\x00\x01s\x00\x00\x00\x01a"),
    (
        Point(1, 2),
        994,
        b"t\x00\x00\x00\x02i\x00\x00\x00\x00\x00\x00\x00\x01i\x00\x00\x00\x00\x00\x00\x00\x02",
    ),
    (
        Row("x", 1),
        245808543,
        b"rt\x00\x00\x00\x02Ni\x00\x00\x00\x00\x00\x00\x00\x00t\x00\x00\x00\x02s\x00\x00\x00\x01xi\x00\x00\x00\x00\x00\x00\x00\x01",
    ),
    (
        Row(a=1, b="x"),
        2363234915,
        b"rt\x00\x00\x00\x02t\x00\x00\x00\x02s\x00\x00\x00\x01as\x00\x00\x00\x01bi\x00\x00\x00\x00\x00\x00\x00\x00t\x00\x00\x00\x02i\x00\x00\x00\x00\x00\x00\x00\x01s\x00\x00\x00\x01x",
    ),
    (
        frozenset({1, 2}),
        3,
        b"S\x00\x00\x00\x02i\x00\x00\x00\x00\x00\x00\x00\x01i\x00\x00\x00\x00\x00\x00\x00\x02",
    ),
    (date(2013, 11, 3), 1320586433, b"ds\x00\x00\x00\n2013-11-03"),
    (datetime(2013, 11, 3, 1, 30), 3169852474, b"Ds\x00\x00\x00\x132013-11-03T01:30:00"),  # noqa: DTZ001 - keys without zone are keys too
    (
        datetime(2013, 11, 3, 1, 30, tzinfo=NEW_YORK),
        377613374,
        b"As\x00\x00\x00\x132013-11-03T05:30:00",
    ),
    (
        datetime(2013, 11, 3, 1, 30, 0, 5, tzinfo=UTC),
        3169852479,
        b"As\x00\x00\x00\x1a2013-11-03T01:30:00.000005",
    ),
    (
        pd.Timestamp(1_000_001),
        4294409238,
        b"ni\x00\x00\x00\x00\x00\x00\x00\x01Ds\x00\x00\x00\x1a1970-01-01T00:00:00.001000",
    ),
    (
        pd.Timedelta(1_000_001),
        1000,
        b"ni\x00\x00\x00\x00\x00\x00\x00\x01Li\x00\x00\x00\x00\x00\x00\x03\xe8",
    ),
    (time(0, 0, 1), 1000000, b"Ti\x00\x00\x00\x00\x00\x0fB@"),
    (time(0, 0, 1, tzinfo=UTC), 1000000, b"Ui\x00\x00\x00\x00\x00\x0fB@"),
    (timedelta(seconds=1), 1000000, b"Li\x00\x00\x00\x00\x00\x0fB@"),
    (UUID(int=5), 5, b"G\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05"),
    (
        TimeWindow(-5, 5),
        1090,
        b"t\x00\x00\x00\x02i\xff\xff\xff\xff\xff\xff\xff\xfbi\x00\x00\x00\x00\x00\x00\x00\x05",
    ),
    (CountWindow(3), 34, b"t\x00\x00\x00\x01i\x00\x00\x00\x00\x00\x00\x00\x03"),
    (GlobalWindow.get(), 1514451405, b"g"),
    (Colour.RED, 3840942239, b"E<class>s\x00\x00\x00\x03RED"),
    (Access.READ | Access.WRITE, 2496745042, b"E<class>s\x00\x00\x00\nREAD|WRITE"),
    (
        Flight("UA", 1545),
        939949850,
        b"c<class>t\x00\x00\x00\x02s\x00\x00\x00\x02UAi\x00\x00\x00\x00\x00\x00\x06\t",
    ),
    (
        Charter("UA", 1545),
        239067163,
        b"c<class>t\x00\x00\x00\x02s\x00\x00\x00\x02UAi\x00\x00\x00\x00\x00\x00\x06\t",
    ),
    (
        Shift(date(2013, 11, 3), "night"),
        1665659746,
        b"W<class>t\x00\x00\x00\x02t\x00\x00\x00\x02s\x00\x00\x00\x03dayds\x00\x00\x00\n2013-11-03t\x00\x00\x00\x02s\x00\x00\x00\x04names\x00\x00\x00\x05night",
    ),
]


class TestEqualKeys:
    @given(equal_keys)
    def test_have_equal_hashes_and_bytes(self, pair: tuple[Any, Any]) -> None:
        one, other = pair
        assert one == other

        assert (stable_hash(one), key_bytes(one)) == (stable_hash(other), key_bytes(other))

    def test_may_be_a_wall_time_that_comes_twice(self) -> None:
        first = datetime(2013, 11, 3, 1, 30, tzinfo=NEW_YORK)
        second = first.replace(fold=1)
        assert (first, first.utcoffset()) == (second, timedelta(hours=-4))
        assert second.utcoffset() == timedelta(hours=-5)

        assert stable_hash(first) == stable_hash(second)
        assert key_bytes(first) == key_bytes(second)

    def test_may_lie_outside_of_the_calendar_in_utc(self) -> None:
        east, west = timezone(timedelta(hours=1)), timezone(timedelta(hours=-1))

        early = datetime.min.replace(tzinfo=east)
        late = datetime.max.replace(tzinfo=west)

        for use in (stable_hash, key_bytes):
            assert use(early) == use(datetime.min.replace(hour=1, tzinfo=EAST))
            assert use(late) == use(
                datetime.max.replace(hour=22, tzinfo=timezone(timedelta(hours=-2)))
            )
        assert key_bytes(early) != key_bytes(late)

    @pytest.mark.parametrize(
        ("member", "value"), [(Corner.ORIGIN, (0, 0)), (Holiday.NEW_YEAR, date(2025, 1, 1))]
    )
    def test_may_be_members_of_an_enum_of_another_type(self, member: Any, value: Any) -> None:
        assert (member, hash(member)) == (value, hash(value))

        assert (stable_hash(member), key_bytes(member)) == (stable_hash(value), key_bytes(value))

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
        assert (stable_hash(numpy), key_bytes(numpy)) == (stable_hash(plain), key_bytes(plain))

    def test_may_be_two_names_of_one_member(self) -> None:
        assert stable_hash(Colour.ROUGE) == stable_hash(Colour.RED)
        assert key_bytes(Colour.ROUGE) == key_bytes(Colour.RED)


class TestHashes:
    @pytest.mark.parametrize("key", SAMPLES)
    def test_have_32_bits(self, key: Any) -> None:
        assert 0 <= stable_hash(key) < 2**32

    @pytest.mark.parametrize(("key", "code"), [(key, code) for key, code, _ in GOLDEN], ids=repr)
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
            "from tests.runtime.keys.kinds import SAMPLES\n"
            "from penstock.runtime.keys.key_types import stable_hash\n"
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


# ----------------------------------------------------------------------------------- bytes


@dataclass(frozen=True)
class Spot:
    x: float
    note: str = field(default="", compare=False)


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


@dataclass(frozen=True)
class Minute(Window):
    number: float
    note: str = field(default="", compare=False)

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
    *(None, 0, 1, True, 1.0, -0.0, Decimal(1), Decimal("1.0"), Fraction(1), 1 + 0j, Level.LOW),
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
        Colour.RED,
    ),
    *(Spot(1), Spot(1.0, "noted"), Spot(2)),
    *(
        date(2020, 1, 1),
        datetime(2020, 1, 1),  # noqa: DTZ001 - naive on purpose
        datetime(2020, 1, 1, tzinfo=UTC),
    ),
    datetime(2020, 1, 1, 2, tzinfo=EAST),
    *(time(1), time(1, tzinfo=UTC), time(3, tzinfo=EAST)),
    *(timedelta(1), timedelta(hours=24), UUID(int=1), UUID(int=2)),
]


@pytest.mark.parametrize(("key", "data"), [(key, data) for key, _, data in GOLDEN], ids=repr)
def test_bytes_are_what_they_were(key: Any, data: bytes) -> None:
    name = f"{type(key).__module__}.{type(key).__qualname__}".encode()
    own_class = b"s" + len(name).to_bytes(4, "big") + name

    assert key_bytes(key).replace(own_class, b"<class>") == data


def test_every_type_on_the_ladder_has_a_golden_hash() -> None:
    known = [key for key, *_ in GOLDEN]

    for kind in _PLAIN:
        assert any(type(key) is kind for key in known), kind
    for number, (base, _) in enumerate(_LADDER):
        above = tuple(chain.from_iterable(_flat(base) for base, _ in _LADDER[:number]))
        assert any(isinstance(key, base) and not isinstance(key, above) for key in known), base


def _flat(base: type | tuple[type, ...]) -> tuple[type, ...]:
    return base if isinstance(base, tuple) else (base,)


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
        nanoseconds.map(lambda it: timedelta(microseconds=it // 1000)),
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


# --------------------------------------------------------------------- what cannot be a key


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
        for use in (stable_hash, key_bytes):
            with pytest.raises(InvalidKeyError) as raised:
                use(value)

            assert raised.value.message == (
                f"A key cannot be of type {type(value).__qualname__}, as it cannot be hashed: {value!r}."
            )
            assert raised.value.hint

    @pytest.mark.parametrize("value", UNSTABLE, ids=lambda value: type(value).__name__)
    def test_has_a_hash_that_means_nothing_elsewhere(self, value: Any) -> None:
        for use in (stable_hash, key_bytes):
            with pytest.raises(InvalidKeyError) as raised:
                use(value)

            assert raised.value.message == (
                f"A key cannot be of type {type(value).__qualname__}, as its hash may differ between "
                f"processes: {value!r}."
            )

    @pytest.mark.parametrize("value", NANS, ids=repr)
    def test_is_not_equal_to_itself(self, value: Any) -> None:
        for use in (stable_hash, key_bytes):
            with pytest.raises(InvalidKeyError, match="NaN cannot be a key"):
                use(value)

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
            for use in (stable_hash, key_bytes):
                with pytest.raises(InvalidKeyError):
                    use(key)
        if isinstance(value, list):
            return
        for use in (stable_hash, key_bytes):
            with pytest.raises(InvalidKeyError):
                use(frozenset({value}))

    def test_is_shown_in_short(self) -> None:
        with pytest.raises(InvalidKeyError) as raised:
            stable_hash(["x" * 1000])

        assert "['xxx" in raised.value.message
        assert len(raised.value.message) < 300
