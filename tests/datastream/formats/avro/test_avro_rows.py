from __future__ import annotations

import datetime
import json
import pickle
import uuid
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Row, TypeInformation, Types
from penstock.datastream.formats.avro import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
)
from penstock.errors import (
    InvalidArgumentError,
    MalformedMessageError,
    TypeMismatchError,
    UnsupportedOperationError,
    UnsupportedTypeError,
)

INNER = {"type": "record", "name": "Inner", "fields": [{"name": "p", "type": "int"}]}
AT = datetime.datetime(2020, 1, 2, 3, 4, 5, 120_000)  # noqa: DTZ001
HOUR_AHEAD = datetime.timezone(datetime.timedelta(hours=1))
BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


FIELDS: dict[str, tuple[Any, TypeInformation, Any, st.SearchStrategy[Any]]] = {
    "string": ("string", Types.STRING(), "é", st.text(st.characters(codec="utf-8"))),
    "int": ("int", Types.INT(), 5, st.integers(-(1 << 31), (1 << 31) - 1)),
    "long": ("long", Types.LONG(), 1 << 40, st.integers(-(1 << 63), (1 << 63) - 1)),
    "float": ("float", Types.FLOAT(), 0.5, st.floats(width=32, allow_nan=False)),
    "double": ("double", Types.DOUBLE(), 0.1, st.floats(allow_nan=False)),
    "boolean": ("boolean", Types.BOOLEAN(), True, st.booleans()),
    "bytes": ("bytes", BYTES, b"\0", st.binary()),
    "fixed": (
        {"type": "fixed", "name": "Two", "size": 2},
        BYTES,
        b"ab",
        st.binary(min_size=2, max_size=2),
    ),
    "enum": (
        {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]},
        Types.STRING(),
        "BLUE",
        st.sampled_from(["RED", "BLUE"]),
    ),
    "array": (
        {"type": "array", "items": ["null", "int"]},
        Types.OBJECT_ARRAY(Types.INT()),
        [1, None],
        st.lists(st.none() | st.integers(0, 9)),
    ),
    "map": (
        {"type": "map", "values": INNER},
        Types.MAP(Types.STRING(), Types.ROW_NAMED(["p"], [Types.INT()])),
        {"a": Row(p=1)},
        st.dictionaries(st.sampled_from("ab"), st.builds(lambda p: Row(p=p), st.integers(0, 9))),
    ),
    "again": (
        "Inner",
        Types.ROW_NAMED(["p"], [Types.INT()]),
        Row(p=2),
        st.just(Row(p=3)),
    ),
    "decimal": (
        logical("bytes", "decimal", precision=9, scale=2),
        Types.BIG_DEC(),
        Decimal("-1.50"),
        st.decimals(-9999, 9999, places=2),
    ),
    "date": (logical("int", "date"), Types.SQL_DATE(), AT.date(), st.dates()),
    "millis": (
        logical("int", "time-millis"),
        Types.SQL_TIME(),
        AT.time(),
        st.times().map(lambda time: time.replace(microsecond=0)),
    ),
    "micros": (logical("long", "time-micros"), Types.SQL_TIME(), AT.time(), st.times()),
    "at": (logical("long", "timestamp-micros"), Types.SQL_TIMESTAMP(), AT, st.datetimes()),
    "at_millis": (logical("long", "timestamp-millis"), Types.SQL_TIMESTAMP(), AT, st.just(AT)),
    "local": (logical("long", "local-timestamp-micros"), Types.SQL_TIMESTAMP(), AT, st.datetimes()),
    "uuid": (logical("string", "uuid"), Types.STRING(), str(uuid.UUID(int=5)), st.uuids().map(str)),
    "null_or": (["null", "string"], Types.STRING(), None, st.none() | st.just("a")),
    "several": (
        ["int", "string", "null"],
        Types.PICKLED_BYTE_ARRAY(),
        "a",
        st.sampled_from([5, "a", None]),
    ),
}
EVERYTHING = {
    "type": "record",
    "name": "Everything",
    "fields": [{"name": name, "type": kind} for name, (kind, _, _, _) in FIELDS.items()],
}
VALUES = {name: value for name, (_, _, value, _) in FIELDS.items()}


def writer(schema: Any) -> AvroRowSerializationSchema:
    schema = AvroRowSerializationSchema(avro_schema_string=json.dumps(schema))
    found: AvroRowSerializationSchema = pickle.loads(pickle.dumps(schema))
    return found


def reader(schema: Any) -> AvroRowDeserializationSchema:
    schema = AvroRowDeserializationSchema(avro_schema_string=json.dumps(schema))
    found: AvroRowDeserializationSchema = pickle.loads(pickle.dumps(schema))
    return found


def of(kind: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [{"name": "c", "type": kind}]}


@settings(max_examples=30)
@given(st.fixed_dictionaries({name: values for name, (_, _, _, values) in FIELDS.items()}))
def test_what_is_written_is_read_back(values: dict[str, Any]) -> None:
    message = writer(EVERYTHING).serialize(values)
    assert reader(EVERYTHING).deserialize(message).as_dict() == values


def test_types_are_those_of_flink() -> None:
    kind: Any = reader(EVERYTHING).get_produced_type()
    assert dict(zip(kind.get_field_names(), kind.get_field_types(), strict=True)) == {
        name: kind for name, (_, kind, _, _) in FIELDS.items()
    }


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("int", -1, b"\x01"),
        ("string", "ab", b"\x04ab"),
        ("boolean", True, b"\x01"),
        ("double", 1.0, b"\0\0\0\0\0\0\xf0\x3f"),
        (["null", "int"], None, b"\x00"),
        (["null", "int"], 1, b"\x02\x02"),
        ({"type": "array", "items": "int"}, [1, 2], b"\x04\x02\x04\x00"),
        (logical("int", "date"), datetime.date(1970, 1, 2), b"\x02"),
        (logical("long", "timestamp-millis"), datetime.datetime(1970, 1, 1, 0, 0, 1), b"\xd0\x0f"),  # noqa: DTZ001
        (
            logical("long", "timestamp-millis"),
            datetime.datetime(1970, 1, 1, 1, 0, 1, tzinfo=HOUR_AHEAD),
            b"\xd0\x0f",
        ),
        (["int", logical("long", "timestamp-millis")], datetime.datetime(1970, 1, 1), b"\x02\x00"),  # noqa: DTZ001
        (["int", INNER], Row(p=1), b"\x02\x02"),
    ],
)
def test_bytes_are_those_of_avro(
    kind: Any, value: Any, expected: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    assert writer(of(kind)).serialize(Row(value)) == expected


def test_rows_are_taken_by_name_or_by_position() -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "string", "default": "x"}],
    }
    records = [Row(1, "x"), (1, "x"), {"b": "x", "a": 1}, Row(b="x", a=1), Row(f0=1, f1="x")]
    assert {writer(schema).serialize(record) for record in [*records, {"a": 1}]} == {b"\x02\x02x"}


@pytest.mark.parametrize(
    ("kind", "record"),
    [
        *(("int", (value,)) for value in (1 << 31, 1.5, True, "1", None)),
        ("long", (1 << 63,)),
        ("string", (5,)),
        ("string", {}),
        ("string", (1, 2)),
        ("string", 5),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, ("B",)),
        (logical("bytes", "decimal", precision=4, scale=2), (Decimal("1.234"),)),
        ({"type": "array", "items": "int"}, ([None],)),
    ],
)
def test_a_record_not_of_the_schema_is_an_error(kind: Any, record: Any) -> None:
    with pytest.raises(TypeMismatchError, match=r"is no (record of the Avro schema|row with)"):
        writer(of(kind)).serialize(record)


@pytest.mark.parametrize("message", [b"", b"\x04a", b"\x01", b"\x02ab", b"\x02\xff"])
def test_a_message_not_of_the_schema_is_an_error(message: bytes) -> None:
    assert reader(of("string")).deserialize(b"\x02a") == Row(c="a")
    with pytest.raises(MalformedMessageError, match="is no record of the Avro schema"):
        reader(of("string")).deserialize(message)


def test_a_schema_is_needed() -> None:
    for schema in (AvroRowSerializationSchema, AvroRowDeserializationSchema):
        with pytest.raises(InvalidArgumentError, match="There is no Avro schema"):
            schema()
        with pytest.raises(InvalidArgumentError, match="is no Avro schema of records"):
            schema(avro_schema_string='"long"')
        with pytest.raises(UnsupportedOperationError, match=r"'com.Event' is a class of Java"):
            schema("com.Event")


def test_a_record_that_contains_itself_is_written_and_not_read() -> None:
    schema = of(["null", "R"])
    assert writer(schema).serialize(Row(Row(None))) == b"\x02\x00"
    with pytest.raises(UnsupportedTypeError, match="'R' contains itself"):
        reader(schema)
