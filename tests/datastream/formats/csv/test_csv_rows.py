from __future__ import annotations

import csv
import datetime
import io
import math
import pickle
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Instant, Row, TypeInformation, Types
from penstock.datastream.formats.csv import CsvRowDeserializationSchema, CsvRowSerializationSchema
from penstock.errors import (
    InvalidArgumentError,
    MalformedMessageError,
    TypeMismatchError,
    UnsupportedTypeError,
)

STRING = Types.STRING()
BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
AT = datetime.datetime(2020, 1, 2, 3, 4, 5)  # noqa: DTZ001
INNER = Types.ROW([Types.INT(), STRING, Types.SQL_TIMESTAMP()])


def writer(*kinds: TypeInformation) -> CsvRowSerializationSchema.Builder:
    return CsvRowSerializationSchema.Builder(Types.ROW(list(kinds)))


def reader(*kinds: TypeInformation) -> CsvRowDeserializationSchema.Builder:
    return CsvRowDeserializationSchema.Builder(Types.ROW(list(kinds)))


def read(kind: TypeInformation, text: str) -> Any:
    return reader(kind, STRING).build().deserialize(f"{text},z".encode())[0]


# What PyFlink 2.3 writes for each, found by running it.
WRITTEN: list[tuple[TypeInformation, Any, str]] = [
    *(
        (STRING, text, text)
        for text in ["", "a-b", "a.b", "a/b", "x" * 24, "é☃", "a;b", "a|b", "null", "12", "-1"]
    ),
    *((STRING, text, f'"{text}"') for text in [" ", "a b", "a+b", "#a", "a'b", "*", "x" * 25]),
    *((STRING, text, f'"{text}"') for text in ["a,b", "a\tb", "a\rb", "a\nb", "a\\b", "é ,"]),
    (STRING, 'a"b', '"a""b"'),
    (Types.BOOLEAN(), True, "true"),
    (Types.LONG(), 1 << 40, "1099511627776"),
    (Types.INT(), -5, "-5"),
    (Types.DOUBLE(), 1, "1.0"),
    (Types.DOUBLE(), math.nan, "NaN"),
    (Types.DOUBLE(), -math.inf, "-Infinity"),
    (Types.BIG_DEC(), Decimal("1E+3"), "1000"),
    (Types.BIG_DEC(), Decimal("1.500"), "1.500"),
    (Types.BIG_INT(), 10**30, "1" + "0" * 30),
    (Types.SQL_DATE(), AT.date(), "2020-01-02"),
    (Types.SQL_TIME(), AT.time(), "03:04:05"),
    (Types.SQL_TIMESTAMP(), AT.replace(microsecond=120_000), '"2020-01-02 03:04:05.12"'),
    (Types.SQL_TIMESTAMP(), AT, '"2020-01-02 03:04:05.0"'),
    (Types.INSTANT(), Instant(1577934245, 120_000_000), '"2020-01-02 03:04:05.12Z"'),
    (BYTES, b"\0\xff", "AP8="),
    (Types.OBJECT_ARRAY(STRING), ["x", "y", "", None], "x;y;;"),
    (Types.BASIC_ARRAY(Types.INT()), [1, 2], "1;2"),
    (Types.LIST(STRING), ["x"], "x"),
    (INNER, Row(1, None, AT), '"1;;2020-01-02 03:04:05.0"'),
]


@pytest.mark.parametrize(("kind", "value", "expected"), WRITTEN)
def test_values_are_written_as_flink_does(kind: TypeInformation, value: Any, expected: str) -> None:
    schema = pickle.loads(pickle.dumps(writer(kind, STRING).build()))
    assert schema.serialize(Row(value, "z")).decode() == f"{expected},z\n"


S2 = (STRING, STRING)


@pytest.mark.parametrize(
    ("builder", "row", "expected"),
    [
        (writer(*S2), (None, None), b",\n"),
        (writer(*S2).set_null_literal("n/a"), (None, "z"), b"n/a,z\n"),
        (writer(STRING, Types.INT()).set_null_literal("n a"), ("n/a", None), b"n/a,n a\n"),
        (writer(*S2).set_line_delimiter("\r\n"), ("a", "z"), b"a,z\r\n"),
        (writer(*S2).set_line_delimiter(""), ("a", "z"), b"a,z"),
        (writer(*S2).set_field_delimiter("\t"), ("a b", "z"), b'"a b"\tz\n'),
        (writer(*S2).set_field_delimiter("|"), ("a,b|", "z"), b'"a,b|"|"z"\n'),
        (writer(*S2).set_field_delimiter(";"), ("12", "z"), b'"12";z\n'),
        (writer(STRING).set_quote_character("'"), ("a'b c",), b"'a''b c'\n"),
        (
            writer(*S2).set_quote_character("'").set_escape_character("\\"),
            ("a\\b", 'a"b'),
            b"'a\\\\b','a\"b'\n",
        ),
        (writer(*S2).disable_quote_character(), ("a b", 'a"b'), b'a b,a"b\n'),
        (
            writer(*S2).disable_quote_character().set_escape_character("\\"),
            ("a,b", "z"),
            b"a\\,b,z\n",
        ),
        (
            writer(Types.OBJECT_ARRAY(STRING)).set_array_element_delimiter(":"),
            (["x", "y;z"],),
            b"x:y;z\n",
        ),
        (
            writer(Types.OBJECT_ARRAY(STRING)).set_null_literal("N"),
            (["x", None],),
            b"x;N\n",
        ),
    ],
)
def test_lines_look_as_they_are_set(
    builder: CsvRowSerializationSchema.Builder, row: Any, expected: bytes
) -> None:
    schema = pickle.loads(pickle.dumps(builder.build()))
    assert schema.serialize(row) == expected


# What PyFlink 2.3 reads.
READ: list[tuple[TypeInformation, str, Any]] = [
    (Types.INT(), " 1 ", 1),
    (Types.INT(), '"1"', 1),
    (STRING, " a ", " a "),
    (STRING, '"a""b"', 'a"b'),
    (STRING, 'a"b"', 'a"b"'),
    (STRING, '"a\nb"', "a\nb"),
    (STRING, '\\"a', '\\"a'),
    (STRING, "", ""),
    (STRING, "null", "null"),
    (Types.BOOLEAN(), "TRUE", True),
    (Types.DOUBLE(), "Infinity", math.inf),
    (Types.DOUBLE(), "1e5", 100_000.0),
    (Types.FLOAT(), "0.1", 0.10000000149011612),
    (Types.BIG_DEC(), "1.50", Decimal("1.50")),
    (Types.BIG_INT(), "12345678901234567890", 12345678901234567890),
    (Types.SQL_DATE(), "2020-1-2", AT.date()),
    (Types.SQL_TIME(), "03:04:05", AT.time()),
    (Types.SQL_TIMESTAMP(), "2020-01-02 03:04:05.12", AT.replace(microsecond=120_000)),
    (Types.SQL_TIMESTAMP(), "2020-01-02 03:04:05", AT),
    (Types.INSTANT(), "2020-01-02 03:04:05.12Z", Instant(1577934245, 120_000_000)),
    (BYTES, "AP8=", b"\0\xff"),
    (Types.OBJECT_ARRAY(STRING), "x; y;", ["x", " y", ""]),
    (Types.OBJECT_ARRAY(STRING), '"x"";y"', ['x"', "y"]),
    (Types.OBJECT_ARRAY(STRING), "", []),
    (Types.BASIC_ARRAY(Types.INT()), "1;2", [1, 2]),
    (Types.ROW([Types.INT(), STRING]), "1;a", Row(f0=1, f1="a")),
    (Types.ROW([Types.INT(), STRING]), "", None),
]


@pytest.mark.parametrize(("kind", "text", "expected"), READ)
def test_values_are_read_as_flink_does(kind: TypeInformation, text: str, expected: Any) -> None:
    found = read(kind, text)
    assert (found, type(found)) == (expected, type(expected))


NOT_READ: list[tuple[TypeInformation, str]] = [
    *((Types.INT(), text) for text in ("", "x", "1.5", "3000000000")),
    (Types.SHORT(), "70000"),
    (Types.BYTE(), "300"),
    (Types.DOUBLE(), "x"),
    (Types.FLOAT(), "1e40"),
    (Types.BIG_DEC(), "x"),
    (Types.BIG_INT(), "1.5"),
    (Types.SQL_DATE(), "x"),
    (Types.SQL_DATE(), "2020-13-02"),
    (Types.SQL_TIME(), "03:04:05Z"),
    (Types.SQL_TIMESTAMP(), "2020-01-02T03:04:05"),
    (Types.INSTANT(), "2020-01-02T03:04:05Z"),
    (BYTES, "!"),
    (Types.OBJECT_ARRAY(Types.INT()), "1;"),
    *((Types.ROW([Types.INT(), STRING]), text) for text in ("1", ";", "1;a;b")),
    # What Flink reads as False.
    (Types.BOOLEAN(), "1"),
    (Types.BOOLEAN(), "x"),
]


@pytest.mark.parametrize(("kind", "text"), NOT_READ)
def test_a_value_not_of_its_type_is_an_error_or_missing(kind: TypeInformation, text: str) -> None:
    with pytest.raises(MalformedMessageError, match=r"is no line of CSV .* field 'f0'"):
        read(kind, text)
    lenient = reader(kind, STRING).set_ignore_parse_errors(True).build()
    assert lenient.deserialize(f"{text},z".encode()) == Row(f0=None, f1="z")


@pytest.mark.parametrize(
    ("message", "why", "lenient"),
    [
        (b"1", "it has 1 values, not 2", Row(f0=1, f1=None)),
        (b"1,a,b", "it has 3 values, not 2", None),
        (b"", "it is empty", None),
        (b'1,"a', "unexpected end of data", None),
        (b'1,"a"b', "',' expected after '\"'", None),
        (b"\xff,a", "invalid start byte", None),
        # Of which Flink reads the first.
        (b"1,a\n2,b", "it has 2 lines", None),
    ],
)
def test_a_message_that_is_no_such_line_is_an_error_or_passed_over(
    message: bytes, why: str, lenient: Row | None
) -> None:
    with pytest.raises(MalformedMessageError, match=why):
        reader(Types.INT(), STRING).build().deserialize(message)
    schema = pickle.loads(
        pickle.dumps(reader(Types.INT(), STRING).set_ignore_parse_errors(True).build())
    )
    assert schema.deserialize(message) == lenient


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_line_may_end(end: bytes) -> None:
    assert reader(Types.INT(), STRING).build().deserialize(b"1,a" + end) == Row(f0=1, f1="a")


@pytest.mark.parametrize(
    ("change", "message", "expected"),
    [
        (lambda it: it.set_null_literal(""), b',""', Row(f0=None, f1=None)),
        (lambda it: it.set_null_literal("N"), b"N,n", Row(f0=None, f1="n")),
        (lambda it: it.set_allow_comments(True), b"#x\n\n1,#a", Row(f0=1, f1="#a")),
        (lambda it: it.set_escape_character("\\"), b'1,\\"a', Row(f0=1, f1='"a')),
        (lambda it: it.set_field_delimiter(";"), b"1;a,b", Row(f0=1, f1="a,b")),
        (lambda it: it.set_quote_character("'"), b"1,'a,''b'", Row(f0=1, f1="a,'b")),
    ],
)
def test_lines_are_read_as_they_are_set(
    change: Callable[[Any], Any], message: bytes, expected: Row
) -> None:
    assert change(reader(Types.INT(), STRING)).build().deserialize(message) == expected


def test_a_comment_alone_is_no_line() -> None:
    schema = reader(Types.INT(), STRING).set_allow_comments(True).build()
    with pytest.raises(MalformedMessageError, match="it is empty"):
        schema.deserialize(b"#1,a")


def test_a_value_may_be_long() -> None:
    # Longer than csv.field_size_limit() at first.
    text = "ab" * 200_000
    line = writer(STRING).build().serialize((text,))
    assert reader(STRING).build().deserialize(line) == Row(f0=text)


@pytest.mark.parametrize(
    ("builder", "row", "message"),
    [
        (writer(*S2).disable_quote_character(), ("a,b", "z"), "need to escape"),
        (writer(*S2).disable_quote_character(), ("a\nb", "z"), "need to escape"),
        (writer(Types.LIST(STRING)), (["a;b", "c"],), "';' cannot stand between its elements"),
        (writer(*S2), ("a",), "is no row with the fields f0, f1"),
        (writer(*S2), ("a", 1), "the field 'f1' is no String: 1"),
    ],
)
def test_a_record_that_would_not_be_read_again_is_an_error(
    builder: CsvRowSerializationSchema.Builder, row: Any, message: str
) -> None:
    with pytest.raises(TypeMismatchError, match=message):
        builder.build().serialize(row)


@pytest.mark.parametrize(
    "kind",
    [
        Types.MAP(STRING, STRING),
        Types.PICKLED_BYTE_ARRAY(),
        Types.TUPLE([STRING]),
        Types.OBJECT_ARRAY(Types.ROW([STRING])),
        Types.ROW([Types.ROW([STRING])]),
    ],
)
def test_a_type_that_a_column_cannot_have_is_named_at_once(kind: TypeInformation) -> None:
    for builder in (writer(kind), reader(kind)):
        with pytest.raises(UnsupportedTypeError, match="cannot be the type of a column of CSV"):
            builder.build()


def test_a_setting_that_cannot_be_is_named_at_once() -> None:
    for change, message in (
        (lambda: writer(STRING).set_field_delimiter(",,"), "is no field delimiter"),
        (lambda: writer(STRING).set_line_delimiter("|"), r"'\|' cannot end lines"),
        (lambda: reader(STRING).set_quote_character(""), "is no quote character"),
        (lambda: CsvRowSerializationSchema.Builder(STRING), "String is no type of rows"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            change()


TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
ROWS = st.tuples(TEXTS, st.lists(st.integers(0, 9), min_size=1), TEXTS)


@given(
    ROWS, st.sampled_from(",;|\t\u00a7"), st.sampled_from("\"'"), st.sampled_from([None, "\\", "~"])
)
def test_what_is_written_is_read_back_by_anyone(
    row: tuple[str, list[int], str], delimiter: str, quote: str, escape: str | None
) -> None:
    kinds = (STRING, Types.LIST(Types.INT()), STRING)
    builders: list[Any] = [writer(*kinds), reader(*kinds)]
    for builder in builders:
        builder.set_field_delimiter(delimiter).set_quote_character(quote)
        builder.set_array_element_delimiter(":")
        if escape is not None:
            builder.set_escape_character(escape)
    written = builders[0].build().serialize(row)
    assert tuple(builders[1].build().deserialize(written)) == row
    lines = csv.reader(
        io.StringIO(written.decode(), newline=""),
        delimiter=delimiter,
        quotechar=quote,
        escapechar=escape,
    )
    assert list(lines) == [[row[0], ":".join(map(str, row[1])), row[2]]]
