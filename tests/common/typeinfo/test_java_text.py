"""What PyFlink 2.3 printed for values of declared types, and wrote by its simple string encoder, is written down here."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Instant, Row, RowKind, Types
from penstock.common.typeinfo import ExternalTypeInfo, TypeInformation
from penstock.common.typeinfo.java_text import java_text_of, shortest_single

PAIR = [Types.INT(), Types.STRING()]


@pytest.mark.parametrize(
    ("type_info", "value", "text"),
    [
        (Types.STRING(), "a", "a"),
        (Types.BOOLEAN(), True, "true"),
        (Types.BYTE(), -5, "-5"),
        (Types.FLOAT(), 1.100000023841858, "1.1"),
        (Types.FLOAT(), 9.999999747378752e-06, "1.0E-5"),
        (Types.FLOAT(), 100.0, "100.0"),
        (Types.FLOAT(), math.nan, "NaN"),
        (Types.DOUBLE(), 0.1, "0.1"),
        (Types.DOUBLE(), 1e7, "1.0E7"),
        (Types.DOUBLE(), 9999999.5, "9999999.5"),
        (Types.DOUBLE(), 0.001, "0.001"),
        (Types.DOUBLE(), 0.00012345, "1.2345E-4"),
        (Types.DOUBLE(), -math.inf, "-Infinity"),
        (Types.DOUBLE(), math.inf, "Infinity"),
        (Types.DOUBLE(), -0.0, "-0.0"),
        (Types.DOUBLE(), 1.7976931348623157e308, "1.7976931348623157E308"),
        (Types.DOUBLE(), -123456789.125, "-1.23456789125E8"),
        (Types.BIG_DEC(), Decimal("1.50"), "1.50"),
        (Types.BIG_DEC(), Decimal("1E+3"), "1E+3"),
        (Types.BIG_DEC(), Decimal("0.00000001"), "1E-8"),
        (Types.SQL_DATE(), date(2020, 1, 2), "2020-01-02"),
        (Types.SQL_TIME(), time(1, 2, 3), "01:02:03"),
        (Types.SQL_TIMESTAMP(), datetime(2020, 1, 2, 3, 4, 5, 678000), "2020-01-02 03:04:05.678"),  # noqa: DTZ001
        (Types.SQL_TIMESTAMP(), datetime(2020, 1, 2, 3, 4, tzinfo=UTC), "2020-01-02 03:04:00.0"),
        (Types.INSTANT(), Instant(1, 5_000_000), "1970-01-01T00:00:01.005Z"),
        (Types.INSTANT(), Instant(1, 0), "1970-01-01T00:00:01Z"),
        (Types.INSTANT(), Instant(60, 1234), "1970-01-01T00:01:00.000001234Z"),
        (Types.INSTANT(), Instant(60, 123_456_000), "1970-01-01T00:01:00.123456Z"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"ab\xff", "[97, 98, -1]"),
        (Types.PRIMITIVE_ARRAY(Types.INT()), [1, 2], "[1, 2]"),
        (Types.BASIC_ARRAY(Types.STRING()), ["a", None], "[a, null]"),
        (Types.OBJECT_ARRAY(Types.OBJECT_ARRAY(Types.STRING())), [["a"], ["b"]], "[[a], [b]]"),
        (Types.LIST(Types.DOUBLE()), [1.0, 2e9], "[1.0, 2.0E9]"),
        (Types.MAP(Types.STRING(), Types.BOOLEAN()), {"a": True, "b": False}, "{a=true, b=false}"),
        (Types.ROW(PAIR), Row(f0=1, f1="n"), "+I[1, n]"),
        (
            Types.ROW([Types.BOOLEAN(), Types.LIST(Types.DOUBLE())]),
            Row.of_kind(RowKind.DELETE, None, [2e9]),
            "-D[null, [2.0E9]]",
        ),
        (Types.TUPLE([*PAIR, Types.TUPLE(PAIR)]), (1, "t", (2, "u")), "(1,t,(2,u))"),
        (ExternalTypeInfo(Types.BOOLEAN()), False, "false"),
        (Types.ROW(PAIR), None, "null"),
        (Types.PICKLED_BYTE_ARRAY(), None, "None"),
        (None, (1, "t"), "(1, 't')"),
    ],
)
def test_texts_are_those_of_java(type_info: TypeInformation, value: Any, text: str) -> None:
    assert java_text_of(type_info)(value) == text


@pytest.mark.parametrize(
    "type_info",
    [
        Types.BOOLEAN(),
        Types.FLOAT(),
        Types.SQL_TIMESTAMP(),
        Types.INSTANT(),
        Types.LIST(Types.INT()),
        Types.MAP(Types.INT(), Types.INT()),
        Types.ROW(PAIR),
        Types.TUPLE(PAIR),
    ],
)
def test_what_is_not_of_the_type_is_shown_all_the_same(type_info: TypeInformation) -> None:
    """`reduce` may give such a value."""
    assert java_text_of(type_info)({1}) == "{1}"
    assert java_text_of(type_info)((1,)) == "(1,)"
    assert java_text_of(type_info)(1e300) == ("1.0E300" if type_info == Types.FLOAT() else "1e+300")


def _read(text: str) -> float:
    return float(text.replace("Infinity", "inf"))


@given(st.floats(), st.floats(width=32))
def test_texts_of_numbers_are_read_as_the_same_numbers(double: float, single: float) -> None:
    same: Callable[[float, float], bool] = lambda a, b: a == b or (a != a and b != b)  # noqa: E731
    assert same(_read(java_text_of(Types.DOUBLE())(double)), double)
    assert same(Types.FLOAT().convert(_read(java_text_of(Types.FLOAT())(single))), single)


def test_a_number_of_32_bits_has_the_shortest_text_that_names_it() -> None:
    assert shortest_single(Types.FLOAT().convert(16777216)) == 16777216
    assert shortest_single(Types.FLOAT().convert(0.3)) == 0.3
    with pytest.raises(OverflowError):
        shortest_single(1e39)
