from __future__ import annotations

from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from math import isnan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.time import Instant
from penstock.common.typeinfo import Types
from penstock.common.typeinfo.basic_typeinfo import (
    BasicType,
    BasicTypeInfo,
    ExternalTypeInfo,
    PickledBytesTypeInfo,
)
from penstock.common.typeinfo.conversion import MISFIT_NAMES
from penstock.errors import TypeMismatchError, UnsupportedTypeError


@pytest.mark.parametrize("basic_type", BasicType)
def test_is_shown_by_its_name_and_compares_by_it(basic_type: BasicType) -> None:
    info = BasicTypeInfo(basic_type)

    assert repr(info) == basic_type.value
    assert info == BasicTypeInfo(basic_type)
    assert hash(info) == hash(BasicTypeInfo(basic_type))
    assert [other for other in BasicType if BasicTypeInfo(other) == info] == [basic_type]


@pytest.mark.parametrize("basic_type", BasicType)
def test_can_be_made_by_the_method_of_its_name(basic_type: BasicType) -> None:
    info = getattr(BasicTypeInfo, f"{basic_type.name}_TYPE_INFO")()

    assert info.basic_type is basic_type
    assert info == getattr(Types, basic_type.name)()


class Text(str):
    __slots__ = ()


class Size(IntEnum):
    BIG = 5


STRING, BOOLEAN = BasicTypeInfo.STRING_TYPE_INFO(), BasicTypeInfo.BOOLEAN_TYPE_INFO()
BYTE, SHORT = BasicTypeInfo.BYTE_TYPE_INFO(), BasicTypeInfo.SHORT_TYPE_INFO()
INT, LONG = BasicTypeInfo.INT_TYPE_INFO(), BasicTypeInfo.LONG_TYPE_INFO()
FLOAT, DOUBLE = BasicTypeInfo.FLOAT_TYPE_INFO(), BasicTypeInfo.DOUBLE_TYPE_INFO()
CHAR, BIG_INT = BasicTypeInfo.CHAR_TYPE_INFO(), BasicTypeInfo.BIG_INT_TYPE_INFO()
BIG_DEC, INSTANT = BasicTypeInfo.BIG_DEC_TYPE_INFO(), BasicTypeInfo.INSTANT_TYPE_INFO()

OWN: list[tuple[BasicTypeInfo, list[Any]]] = [
    (STRING, ["", "text"]),
    (BOOLEAN, [True, False]),
    (BYTE, [-128, 0, 127]),
    (SHORT, [-(2**15), 2**15 - 1]),
    (INT, [-(2**31), 2**31 - 1]),
    (LONG, [-(2**63), 2**63 - 1]),
    (FLOAT, [1.5, float("inf"), -0.0]),
    (DOUBLE, [1.5, 0.1, float("inf")]),
    (CHAR, ["c"]),
    (BIG_INT, [2**100]),
    (BIG_DEC, [Decimal("1.50"), Decimal("1E+5")]),
    (INSTANT, [Instant(1, 2)]),
]
CONVERTED: list[tuple[BasicTypeInfo, list[tuple[Any, Any]]]] = [
    (STRING, [(np.str_("text"), "text"), (Text("text"), "text")]),
    (BOOLEAN, [(1, True), (0, False), (1.0, True), (np.bool_(1), True), (np.int8(0), False)]),
    (BYTE, [(True, 1), (1.0, 1), (np.int8(1), 1)]),
    (INT, [(np.int64(5), 5), (Decimal(5), 5), (Fraction(4, 2), 2), (Size.BIG, 5)]),
    (LONG, [(np.uint64(5), 5), (1e3, 1000)]),
    (BIG_INT, [(True, 1), (1e20, 10**20)]),
    (FLOAT, [(0.1, 0.10000000149011612), (1, 1.0), (True, 1.0), (2**24 + 1, 2.0**24)]),
    (FLOAT, [(np.float32(1.5), 1.5), (Decimal("0.1"), 0.10000000149011612), (1e-50, 0.0)]),
    (DOUBLE, [(1, 1.0), (True, 1.0), (Decimal("0.1"), 0.1), (np.float64(1.5), 1.5)]),
    (DOUBLE, [(2**53 + 1, 2.0**53), (Fraction(1, 2), 0.5)]),
    (BIG_DEC, [(2, Decimal(2)), (0.1, Decimal("0.1")), ("2.50", Decimal("2.50"))]),
    (BIG_DEC, [(np.float64(0.1), Decimal("0.1"))]),
]
BAD: list[tuple[BasicTypeInfo, list[Any]]] = [
    (STRING, [1, b"bytes", True]),
    (BOOLEAN, [2, -1, "true", "", 0.5, []]),
    (BYTE, [-129, 128, 1.5, "1", float("nan"), float("inf")]),
    (SHORT, [-(2**15) - 1, 2**15, np.int32(2**15)]),
    (INT, [-(2**31) - 1, 2**31, 2.0**31, Decimal("1.5"), 1j]),
    (LONG, [-(2**63) - 1, 2**63]),
    (FLOAT, ["1.5", 1e39, -1e39, 1j, 10**400]),
    (DOUBLE, ["1.5", 1j, 10**400]),
    (CHAR, ["", "ab", 1]),
    (BIG_INT, [1.5, "1"]),
    (BIG_DEC, ["x", True, Decimal("NaN"), float("inf"), b"1"]),
    (INSTANT, [1, 1.5]),
]


def looks_misfit(info: BasicTypeInfo, value: Any) -> bool:
    return bool(eval(info.misfit("value"), dict(MISFIT_NAMES), {"value": value}))


@pytest.mark.parametrize(("info", "values"), OWN)
def test_returns_its_values_as_they_are(info: BasicTypeInfo, values: list[Any]) -> None:
    for value in values:
        assert info.convert(value) == value
        assert type(info.convert(value)) is type(value)
        if info != FLOAT:
            assert info.convert(value) is value
            assert not looks_misfit(info, value)
    nan = info.convert(float("nan")) if info in {FLOAT, DOUBLE} else None
    assert nan is None or isnan(nan)
    assert info.convert(None) is None


@pytest.mark.parametrize(("info", "pairs"), CONVERTED)
def test_makes_its_values_of_what_is_equal(
    info: BasicTypeInfo, pairs: list[tuple[Any, Any]]
) -> None:
    for value, expected in pairs:
        assert info.convert(value) == expected
        assert type(info.convert(value)) is type(expected)
        assert looks_misfit(info, value)


@pytest.mark.parametrize(("info", "values"), BAD)
def test_refuses_all_others(info: BasicTypeInfo, values: list[Any]) -> None:
    for value in values:
        assert looks_misfit(info, value)
        with pytest.raises(TypeMismatchError):
            info.convert(value)
        with pytest.raises(TypeMismatchError):
            info.check(value)


@given(st.integers(-(10**12), 10**12), st.integers(0, 999_999))
def test_instants_are_stored_as_microseconds(seconds: int, micros: int) -> None:
    info = BasicTypeInfo.INSTANT_TYPE_INFO()
    instant = Instant(seconds, micros * 1_000)

    assert info.need_conversion()
    assert info.to_internal_type(instant) == seconds * 1_000_000 + micros
    assert info.from_internal_type(info.to_internal_type(instant)) == instant
    assert info.to_internal_type(None) is None
    assert info.from_internal_type(None) is None


def test_pickled_bytes_store_any_object() -> None:
    info = PickledBytesTypeInfo()
    value = {"a": {1, 2}, "b": Decimal(1)}
    stored = info.to_internal_type(value)

    assert isinstance(stored, bytes)
    assert info.need_conversion()
    assert info.from_internal_type(stored) == value
    assert info.to_internal_type(None) is None
    assert info.from_internal_type(None) is None
    info.check(object())
    assert info == Types.PICKLED_BYTE_ARRAY()
    assert repr(info) == "PickledByteArrayTypeInfo"


def test_an_external_type_wraps_another() -> None:
    info = ExternalTypeInfo(Types.INT())

    assert info == ExternalTypeInfo(Types.INT())
    assert info != ExternalTypeInfo(Types.LONG())
    assert repr(info) == "ExternalTypeInfo<Integer>"
    with pytest.raises(TypeMismatchError):
        info.check("1")
    with pytest.raises(UnsupportedTypeError, match="ExternalTypeInfo"):
        ExternalTypeInfo(Types.INT)  # type: ignore[arg-type]
