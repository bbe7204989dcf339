from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
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


GOOD: list[tuple[BasicTypeInfo, list[Any]]] = [
    (BasicTypeInfo.STRING_TYPE_INFO(), ["", "text", np.str_("text")]),
    (BasicTypeInfo.BYTE_TYPE_INFO(), [-128, 0, 127, np.int8(1)]),
    (BasicTypeInfo.BOOLEAN_TYPE_INFO(), [True, False, np.bool_(1)]),
    (BasicTypeInfo.SHORT_TYPE_INFO(), [-(2**15), 2**15 - 1]),
    (BasicTypeInfo.INT_TYPE_INFO(), [-(2**31), 2**31 - 1, np.int64(5)]),
    (BasicTypeInfo.LONG_TYPE_INFO(), [-(2**63), 2**63 - 1, np.uint64(5)]),
    (BasicTypeInfo.FLOAT_TYPE_INFO(), [1.5, 1, float("nan"), np.float32(1.5), Fraction(1, 2)]),
    (BasicTypeInfo.DOUBLE_TYPE_INFO(), [1.5, 1, float("inf"), np.float64(1.5)]),
    (BasicTypeInfo.CHAR_TYPE_INFO(), ["c"]),
    (BasicTypeInfo.BIG_INT_TYPE_INFO(), [2**100, np.int8(1)]),
    (BasicTypeInfo.BIG_DEC_TYPE_INFO(), [Decimal("1.5"), 2]),
    (BasicTypeInfo.INSTANT_TYPE_INFO(), [Instant(1, 2)]),
]
BAD: list[tuple[BasicTypeInfo, list[Any]]] = [
    (BasicTypeInfo.STRING_TYPE_INFO(), [1, b"bytes"]),
    (BasicTypeInfo.BYTE_TYPE_INFO(), [-129, 128, 1.0, True, "1"]),
    (BasicTypeInfo.BOOLEAN_TYPE_INFO(), [0, 1, "true"]),
    (BasicTypeInfo.SHORT_TYPE_INFO(), [-(2**15) - 1, 2**15, np.int32(2**15)]),
    (BasicTypeInfo.INT_TYPE_INFO(), [-(2**31) - 1, 2**31, np.bool_(1), Decimal(1)]),
    (BasicTypeInfo.LONG_TYPE_INFO(), [-(2**63) - 1, 2**63]),
    (BasicTypeInfo.FLOAT_TYPE_INFO(), ["1.5", True, Decimal("1.5")]),
    (BasicTypeInfo.DOUBLE_TYPE_INFO(), ["1.5", True, 1j]),
    (BasicTypeInfo.CHAR_TYPE_INFO(), ["", "ab", 1]),
    (BasicTypeInfo.BIG_INT_TYPE_INFO(), [1.0, True]),
    (BasicTypeInfo.BIG_DEC_TYPE_INFO(), [1.5, "1.5"]),
    (BasicTypeInfo.INSTANT_TYPE_INFO(), [1, 1.5]),
]


@pytest.mark.parametrize(
    ("info", "value"), [(info, value) for info, values in GOOD for value in values]
)
def test_takes_its_values(info: BasicTypeInfo, value: Any) -> None:
    info.check(value)


@pytest.mark.parametrize(
    ("info", "value"), [(info, value) for info, values in BAD for value in values]
)
def test_refuses_all_others(info: BasicTypeInfo, value: Any) -> None:
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
