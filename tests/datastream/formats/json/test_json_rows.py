from __future__ import annotations

import datetime
import json
import math
import pickle
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Instant, Row, TypeInformation, Types
from penstock.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from penstock.errors import (
    InvalidArgumentError,
    MalformedMessageError,
    TypeMismatchError,
    UnsupportedTypeError,
)

BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
AT = datetime.datetime(2020, 1, 2, 3, 4, 5)  # noqa: DTZ001
INNER = Types.ROW_NAMED(["p", "q"], [Types.INT(), Types.STRING()])


def writer(kind: TypeInformation) -> JsonRowSerializationSchema:
    return (
        JsonRowSerializationSchema.builder().with_type_info(Types.ROW_NAMED(["c"], [kind])).build()
    )


def reader(kind: TypeInformation) -> JsonRowDeserializationSchema.Builder:
    return JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(["c"], [kind]))


def read(kind: TypeInformation, text: str) -> Any:
    return reader(kind).build().deserialize(f'{{"c": {text}}}'.encode())["c"]


# What PyFlink 2.3 writes for each, found by running it; numbers alone may be spelled in another way.
WRITTEN: list[tuple[TypeInformation, Any, str]] = [
    (Types.STRING(), 'a"b,c\n/<é☃', '"a\\"b,c\\n/<é☃"'),
    (Types.BOOLEAN(), True, "true"),
    (Types.INT(), 1, "1"),
    (Types.LONG(), 1 << 40, "1099511627776"),
    (Types.DOUBLE(), 1, "1.0"),
    (Types.DOUBLE(), math.nan, '"NaN"'),
    (Types.DOUBLE(), -math.inf, '"-Infinity"'),
    (Types.FLOAT(), 0.1, "0.1"),
    (Types.FLOAT(), 0.10000000149011612, "0.1"),
    (Types.FLOAT(), 16777216.0, "16777216.0"),
    (Types.BIG_DEC(), Decimal("1.500"), "1.500"),
    (Types.BIG_DEC(), Decimal("1E+3"), "1000"),
    (Types.BIG_INT(), 123456789012345678901234567890, "123456789012345678901234567890"),
    (Types.SQL_DATE(), AT.date(), '"2020-01-02"'),
    (Types.SQL_TIME(), AT.time(), '"03:04:05Z"'),
    (Types.SQL_TIME(), datetime.time(3, 4, 5, 120_000), '"03:04:05.12Z"'),
    (Types.SQL_TIMESTAMP(), AT.replace(microsecond=120_000), '"2020-01-02T03:04:05.12Z"'),
    (Types.SQL_TIMESTAMP(), AT.replace(second=0), '"2020-01-02T03:04:00Z"'),
    (Types.INSTANT(), Instant(1577934245, 120_000_000), '"2020-01-02T03:04:05.120Z"'),
    (Types.INSTANT(), Instant(1577934245, 0), '"2020-01-02T03:04:05Z"'),
    (Types.INSTANT(), Instant(1577934245, 1_000), '"2020-01-02T03:04:05.000001Z"'),
    (BYTES, b"\0\xff", '"AP8="'),
    (Types.MAP(Types.STRING(), Types.INT()), {"a": 1, "b": None}, '{"a":1,"b":null}'),
    (Types.MAP(Types.INT(), Types.INT()), {1: 2}, '{"1":2}'),
    (Types.LIST(Types.INT()), [1, None, 3], "[1,null,3]"),
    (Types.PRIMITIVE_ARRAY(Types.INT()), [5, 0], "[5,0]"),
    (Types.OBJECT_ARRAY(Types.STRING()), ["x", "y;z", None], '["x","y;z",null]'),
    (Types.BASIC_ARRAY(Types.STRING()), ["x"], '["x"]'),
    (INNER, Row(p=1, q=None), '{"p":1,"q":null}'),
    (Types.LIST(INNER), [Row(1, "a"), {"q": "b"}], '[{"p":1,"q":"a"},{"p":null,"q":"b"}]'),
]


@pytest.mark.parametrize(("kind", "value", "expected"), WRITTEN)
def test_values_are_written_as_flink_does(kind: TypeInformation, value: Any, expected: str) -> None:
    schema = pickle.loads(pickle.dumps(writer(kind)))
    assert schema.serialize(Row(value)).decode() == f'{{"c":{expected}}}'
    assert schema.serialize(Row(None)) == b'{"c":null}'


# What PyFlink 2.3 reads.
READ: list[tuple[TypeInformation, str, Any]] = [
    (Types.INT(), "1", 1),
    (Types.INT(), '"1"', 1),
    (Types.INT(), "1.0", 1),
    (Types.INT(), '" 1 "', 1),
    (Types.INT(), "1e2", 100),
    (Types.BOOLEAN(), '"TRUE"', True),
    (Types.DOUBLE(), "1", 1.0),
    (Types.DOUBLE(), '"1.5"', 1.5),
    (Types.DOUBLE(), '"Infinity"', math.inf),
    (Types.FLOAT(), "0.1", 0.10000000149011612),
    (Types.STRING(), "1", "1"),
    (Types.STRING(), "1.50", "1.5"),
    (Types.STRING(), "true", "true"),
    (Types.STRING(), '{"a": 1}', '{"a":1}'),
    (Types.STRING(), "[1, 2]", "[1,2]"),
    (Types.BIG_DEC(), '"1.50"', Decimal("1.50")),
    (Types.BIG_DEC(), "1e3", Decimal(1000)),
    (Types.BIG_INT(), '"12345678901234567890"', 12345678901234567890),
    (Types.SQL_TIMESTAMP(), '"2020-01-02T03:04:05.123456789Z"', AT.replace(microsecond=123456)),
    (Types.LIST(Types.INT()), '[1, null, "2"]', [1, None, 2]),
    (INNER, "{}", Row(p=None, q=None)),
]


@pytest.mark.parametrize(("kind", "text", "expected"), READ)
def test_values_are_read_as_flink_does(kind: TypeInformation, text: str, expected: Any) -> None:
    found = read(kind, text)
    assert (found, type(found)) == (expected, type(expected))


def test_characters_and_times_of_a_zone() -> None:
    # PyFlink reads and writes neither.
    assert read(Types.CHAR(), '"é"') == "é"
    with pytest.raises(MalformedMessageError, match="'ab' is not one character"):
        read(Types.CHAR(), '"ab"')
    east = AT.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    assert writer(Types.SQL_TIMESTAMP()).serialize(Row(east)) == b'{"c":"2020-01-02T01:04:05Z"}'


def test_characters_that_json_escapes_by_halves_are_whole() -> None:
    assert read(Types.STRING(), r'"\ud83d\ude00, no \\ud83d"') == r"😀, no \ud83d"


def test_decimal_numbers_are_read_exactly() -> None:
    # Flink reads them by way of a double.
    assert read(Types.BIG_DEC(), "12345678901234567.890") == Decimal("12345678901234567.890")
    row = Types.ROW_NAMED(["d", "f", "i"], [Types.BIG_DEC(), Types.DOUBLE(), Types.INT()])
    schema = JsonRowDeserializationSchema.builder().type_info(row).build()
    assert schema.deserialize(b'{"d": 0.10, "f": 0.1, "i": 1.0}') == Row(
        d=Decimal("0.10"), f=0.1, i=1
    )


NOT_READ: list[tuple[TypeInformation, str]] = [
    *((Types.INT(), text) for text in ('"1.5"', '"x"', "true", "3000000000", '""', "[1]", '"1_0"')),
    *((Types.LONG(), text) for text in ("1e30", "true")),
    (Types.SHORT(), "70000"),
    (Types.BYTE(), "300"),
    *((Types.DOUBLE(), text) for text in ("NaN", "true", '"x"', '"nan"', '"1_0"')),
    *((Types.BIG_DEC(), text) for text in ('"x"', '"NaN"')),
    *((Types.FLOAT(), text) for text in ("1e40", '"1e40"')),
    (Types.BIG_INT(), "1.5"),
    (Types.BIG_INT(), "1e999999999"),
    *((Types.SQL_DATE(), text) for text in ('"2020-1-2"', "18000", '"2020-01-02Z"', '"20200102"')),
    *((Types.SQL_TIME(), text) for text in ('"03:04:05"', '"03:04:05+01:00"', '"030405Z"')),
    *(
        (Types.SQL_TIMESTAMP(), text)
        for text in (
            '"2020-01-02T03:04:05"',
            '"2020-01-02 03:04:05Z"',
            '"2020-01-02T03:04:05+01:00"',
            '"2020-13-02T03:04:05Z"',
            "1577934245000",
        )
    ),
    *((BYTES, text) for text in ('"!"', "[1]")),
    *((Types.LIST(Types.INT()), text) for text in ("1", "{}")),
    (INNER, "1"),
    (INNER, "[1]"),
    # What Flink reads as 1, False, False, {} and [0].
    (Types.INT(), "1.5"),
    (Types.BOOLEAN(), "1"),
    (Types.BOOLEAN(), '"x"'),
    (Types.MAP(Types.STRING(), Types.INT()), "[1]"),
    (Types.PRIMITIVE_ARRAY(Types.INT()), "[null]"),
]


@pytest.mark.parametrize(("kind", "text"), NOT_READ)
def test_a_value_not_of_its_type_is_an_error_or_missing(kind: TypeInformation, text: str) -> None:
    with pytest.raises(MalformedMessageError, match="is no JSON"):
        read(kind, text)
    message = f'{{"c": {text}}}'.encode()
    found = reader(kind).ignore_parse_errors().build().deserialize(message)
    assert found == (Row(c=None) if text != "NaN" else None)


def test_an_error_says_where() -> None:
    kind = Types.ROW_NAMED(["in"], [INNER])
    with pytest.raises(MalformedMessageError) as caught:
        read(kind, '{"in": {"p": "x"}}')
    assert str(caught.value).startswith(
        'The message b\'{"c": {"in": {"p": "x"}}}\' is no JSON object of the declared type: '
        "field 'c': field 'in': field 'p': 'x' is no Integer."
    )


NO_OBJECTS = [
    *(b"", b"[1]", b"1", b"{'c':1}", b'{"c":1} x', b"\xff", b'{"c":' * 100_000),
    *(b'{"x":"\\ud800"}', b'{"x":"\\uDC00\\uD83D"}', b'{"\\ud83dx":1}'),
]


@pytest.mark.parametrize("message", NO_OBJECTS, ids=range(len(NO_OBJECTS)))
def test_a_message_that_is_no_object_is_an_error_or_passed_over(message: bytes) -> None:
    with pytest.raises(MalformedMessageError, match="is no JSON object"):
        reader(Types.INT()).build().deserialize(message)
    assert reader(Types.INT()).ignore_parse_errors().build().deserialize(message) is None


def test_a_message_that_is_null_is_passed_over() -> None:
    assert reader(Types.INT()).build().deserialize(b"null") is None


def test_missing_fields_are_none_or_an_error() -> None:
    assert reader(Types.INT()).build().deserialize(b'{"C": 1}') == Row(c=None)
    strict = pickle.loads(pickle.dumps(reader(Types.INT()).fail_on_missing_field().build()))
    assert strict.deserialize(b'{"c": null}') == Row(c=None)
    with pytest.raises(MalformedMessageError, match="it has no field 'c'"):
        strict.deserialize(b"{}")


def test_rows_are_taken_by_name_or_by_position() -> None:
    schema = JsonRowSerializationSchema.builder().with_type_info(INNER).build()
    records = [Row(1, "a"), (1, "a"), [1, "a"], {"q": "a", "p": 1}, Row(q="a", p=1)]
    records += [Row(f0=1, f1="a"), Row(q="a", p=1, more=2)]
    assert {schema.serialize(record) for record in records} == {b'{"p":1,"q":"a"}'}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (Row(1), "is no row with the fields p, q"),
        (5, "5 is no row"),
        (Row("1", "a"), "the field 'p' is no Integer: '1'"),
        (Row(1.5, "a"), "the field 'p' is no Integer"),
        (Row(1 << 31, "a"), "the field 'p' is no Integer"),
        (Row(1, 2), "the field 'q' is no String"),
    ],
)
def test_a_record_of_another_type_is_an_error(record: Any, message: str) -> None:
    with pytest.raises(TypeMismatchError, match=message):
        JsonRowSerializationSchema.builder().with_type_info(INNER).build().serialize(record)


@pytest.mark.parametrize(
    "kind",
    [
        Types.PICKLED_BYTE_ARRAY(),
        Types.TUPLE([Types.INT()]),
        Types.MAP(Types.LIST(Types.INT()), Types.INT()),
    ],
)
def test_a_type_that_json_lacks_is_named_at_once(kind: TypeInformation) -> None:
    for build in (lambda: writer(kind), lambda: reader(kind).build()):
        with pytest.raises(UnsupportedTypeError, match="cannot be the type of"):
            build()


def test_a_builder_needs_a_type_of_rows() -> None:
    for build in (
        JsonRowSerializationSchema.builder().build,
        JsonRowDeserializationSchema.builder().build,
        lambda: JsonRowDeserializationSchema.builder().type_info(Types.INT()),
    ):
        with pytest.raises(InvalidArgumentError, match="is no type of rows"):
            build()
    with pytest.raises(InvalidArgumentError, match="cannot be errors where errors are ignored"):
        reader(Types.INT()).fail_on_missing_field().ignore_parse_errors().build()


VALUES = st.fixed_dictionaries(
    {
        "text": st.none() | st.text(st.characters(codec="utf-8")),
        "whole": st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
        "float": st.none() | st.floats(allow_nan=False),
        "single": st.none() | st.floats(width=32, allow_nan=False),
        "decimal": st.none() | st.decimals(allow_nan=False, allow_infinity=False, places=9),
        "bytes": st.none() | st.binary(),
        "date": st.none() | st.dates(),
        "time": st.none() | st.times(),
        "at": st.none() | st.datetimes(),
        "instant": st.none()
        | st.builds(Instant, st.integers(0, 1 << 33), st.integers(0, 999_999_999)),
        "list": st.none() | st.lists(st.none() | st.booleans()),
        "map": st.none()
        | st.dictionaries(st.text(st.characters(codec="utf-8")), st.integers(0, 9)),
        "row": st.none() | st.builds(lambda p, q: Row(p=p, q=q), st.integers(0, 9), st.just("q")),
    }
)
EVERYTHING = Types.ROW_NAMED(
    [
        "text",
        "whole",
        "float",
        "single",
        "decimal",
        "bytes",
        "date",
        "time",
        "at",
        "instant",
        "list",
        "map",
        "row",
    ],
    [
        Types.STRING(),
        Types.LONG(),
        Types.DOUBLE(),
        Types.FLOAT(),
        Types.BIG_DEC(),
        BYTES,
        Types.SQL_DATE(),
        Types.SQL_TIME(),
        Types.SQL_TIMESTAMP(),
        Types.INSTANT(),
        Types.LIST(Types.BOOLEAN()),
        Types.MAP(Types.STRING(), Types.INT()),
        INNER,
    ],
)


@settings(max_examples=30)
@given(VALUES)
def test_what_is_written_is_json_and_read_back(values: dict[str, Any]) -> None:
    written = (
        JsonRowSerializationSchema.builder().with_type_info(EVERYTHING).build().serialize(values)
    )
    assert set(json.loads(written)) == set(values)
    found = (
        JsonRowDeserializationSchema.builder().type_info(EVERYTHING).build().deserialize(written)
    )
    assert found.as_dict() == values
