from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from tests.datastream.formats.registry.test_registry_avro import (
    ID,
    OLD,
    UNIT,
    Reader,
    Writer,
    event,
    message,
    schema,
)
from tests.servers.schema_registry import FakeSchemaRegistry

from penstock.common import Row
from penstock.errors import IncompatibleSchemaError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)


def test_any_evolution_that_avro_resolves_is_read(registry: FakeSchemaRegistry) -> None:
    colours = {"type": "enum", "name": "Colour", "symbols": ["red", "blue", "green"]}
    fewer = {"type": "enum", "name": "Colour", "symbols": ["red", "other"], "default": "other"}
    inner = {"type": "record", "name": "Inner", "fields": [ID]}
    wider = {"type": "record", "name": "Inner", "fields": [UNIT, ID]}
    optional = ["null", "string"]
    cases: list[tuple[Any, Any, Any, Any]] = [
        # What was written, and with what; with what it is read, and what it becomes.
        ("int", 5, "long", 5),
        ("int", 5, "double", 5.0),
        ("float", 0.5, "double", 0.5),
        ("string", "é", "bytes", b"\xc3\xa9"),
        ("bytes", b"a", "string", "a"),
        ("string", "a", optional, "a"),
        (optional, "a", "string", "a"),
        (["null", "int"], None, ["null", "long"], None),
        (["null", "string"], None, ["null", "string", "long"], None),
        (["long", "string"], "a", ["string", "long"], "a"),
        (colours, "red", fewer, "red"),
        (colours, "green", fewer, "other"),
        (inner, {"id": 1}, wider, Row(unit="ms", id=1)),
        (wider, {"id": 1, "unit": "s"}, inner, Row(id=1)),
        ({"type": "array", "items": "int"}, [1], {"type": "array", "items": "long"}, [1]),
        ({"type": "map", "values": inner}, {"a": {"id": 1}}, {"type": "map", "values": wider}, {
            "a": Row(unit="ms", id=1)
        }),
    ]  # fmt: skip
    for number, (written, value, read, expected) in enumerate(cases):
        old = event(ID, {"name": "x", "type": written})
        # The other order, and another name.
        new = event({"name": "y", "type": read, "aliases": ["x"]}, ID)
        schema_id = registry.register(f"case-{number}", old)
        reader = Reader.for_rows(schema(new), registry.url)
        found = reader.deserialize(message(schema_id, old, {"id": 7, "x": value}))
        assert found == Row(y=expected, id=7), (written, read)
        assert reader.get_produced_type().get_field_names() == ["y", "id"]  # type: ignore[attr-defined]


def test_defaults_are_values_of_their_types(registry: FakeSchemaRegistry) -> None:
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    inner = {
        "type": "record",
        "name": "Inner",
        "fields": [ID, {"name": "raw", "type": "bytes", "default": "\u00ff"}],
    }
    cases: list[tuple[Any, Any, Any]] = [
        # The type of a field, its default as JSON has it, and what it is.
        ("bytes", "\u00ff", b"\xff"),
        ("double", 1, 1.0),
        (["null", "bytes"], None, None),
        (["bytes", "null"], "a", b"a"),
        (decimal, "\u0001", Decimal("0.01")),
        ({"type": "int", "logicalType": "date"}, 1, date(1970, 1, 2)),
        ({"type": "long", "logicalType": "timestamp-millis"}, 0, EPOCH),
        ({"type": "array", "items": decimal}, ["\u0001"], [Decimal("0.01")]),
        ({"type": "map", "values": "float"}, {"a": 1}, {"a": 1.0}),
        (inner, {"id": 1}, Row(id=1, raw=b"\xff")),
        ("Inner", {"id": 2, "raw": "a"}, Row(id=2, raw=b"a")),
    ]
    fields = [
        {"name": f"f{n}", "type": kind, "default": default}
        for n, (kind, default, _) in enumerate(cases)
    ]
    written = message(registry.register("events-value", event(ID)), event(ID), {"id": 7})
    found = Reader.for_rows(schema(event(ID, *fields)), registry.url).deserialize(written)
    assert list(found)[1:] == [value for _, _, value in cases]
    assert isinstance(found.f1, float)


def test_the_reader_says_what_numbers_and_bytes_mean(registry: FakeSchemaRegistry) -> None:
    at = {"type": "long", "logicalType": "timestamp-millis"}
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    fixed = {"type": "fixed", "name": "F", "size": 2}
    fixed_decimal = {**fixed, "logicalType": "decimal", "precision": 4, "scale": 1}

    def inner(kind: Any) -> Any:
        return {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": kind}]}

    cases: list[tuple[Any, Any, Any, Any]] = [
        # Two types, and what the reader has who has the first of them, or the second.
        ("long", at, 1000, EPOCH.replace(second=1)),
        ("bytes", decimal, b"\x7d", Decimal("1.25")),
        ("int", {"type": "int", "logicalType": "date"}, 1, date(1970, 1, 2)),
        (["null", "long"], ["null", at], 1000, EPOCH.replace(second=1)),
        ({"type": "array", "items": "long"}, {"type": "array", "items": at}, [0], [EPOCH]),
        ({"type": "map", "values": "long"}, {"type": "map", "values": at}, {"a": 0}, {"a": EPOCH}),
        (inner("long"), inner(at), Row(x=0), Row(x=EPOCH)),
        (fixed, fixed_decimal, b"\0\x7d", Decimal("12.5")),
    ]
    for number, (plain, logical, plain_value, logical_value) in enumerate(cases):
        old, new = (
            event(ID, {"name": name, "type": kind, "aliases": ["x"]})
            for name, kind in (("x", plain), ("y", logical))
        )
        writer = Writer.for_generic(f"old-{number}", schema(old), registry.url)
        reader = Reader.for_rows(schema(new), registry.url)
        written = writer.serialize(Row(id=7, x=plain_value))
        assert reader.deserialize(written) == Row(id=7, y=logical_value)

        ahead = event(ID, {"name": "x", "type": logical})
        writer = Writer.for_generic(f"new-{number}", schema(ahead), registry.url)
        behind = Reader.for_rows(schema(old), registry.url)
        written = writer.serialize(Row(id=7, x=logical_value))
        assert behind.deserialize(written) == Row(id=7, x=plain_value)


def test_what_avro_cannot_resolve_is_named(registry: FakeSchemaRegistry) -> None:
    few = {"type": "enum", "name": "Colour", "symbols": ["red"]}
    more = {"type": "enum", "name": "Colour", "symbols": ["red", "blue"]}
    cases: list[tuple[Any, Any, Any]] = [
        ("string", "a", "long"),
        ("long", 1, "int"),
        (["null", "string"], None, "string"),
        (more, "blue", few),
        (
            {"type": "fixed", "name": "F", "size": 2},
            b"ab",
            {"type": "fixed", "name": "F", "size": 3},
        ),
    ]
    for number, (written, value, read) in enumerate(cases):
        old = event({"name": "x", "type": written})
        schema_id = registry.register(f"case-{number}", old)
        reader = Reader.for_generic(schema(event({"name": "x", "type": read})), registry.url)
        with pytest.raises(
            IncompatibleSchemaError, match=f"with the id {schema_id} cannot be read"
        ):
            reader.deserialize(message(schema_id, old, {"x": value}))
    needed = Reader.for_generic(schema(event(ID, {"name": "x", "type": "long"})), registry.url)
    schema_id = registry.register("lacks", OLD)
    with pytest.raises(IncompatibleSchemaError, match="cannot be read with"):
        needed.deserialize(message(schema_id, OLD, {"id": 1}))


def test_logical_types_are_pythons(registry: FakeSchemaRegistry) -> None:
    at = datetime(2024, 5, 17, 9, 30, 0, 123456, tzinfo=UTC)
    millis = at.replace(microsecond=123000)
    cases: list[tuple[dict[str, Any], Any, Any]] = [
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal("-1.50"), None),
        ({"type": "fixed", "name": "D", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal("1.25"), None),
        ({"type": "int", "logicalType": "date"}, date(1969, 12, 31), None),
        ({"type": "int", "logicalType": "time-millis"}, time(9, 30, 0, 5000), None),
        ({"type": "long", "logicalType": "time-micros"}, time(9, 30, 0, 5), None),
        ({"type": "long", "logicalType": "timestamp-millis"}, at, millis.replace(tzinfo=None)),
        ({"type": "long", "logicalType": "timestamp-micros"}, at, at.replace(tzinfo=None)),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, at.replace(tzinfo=None), None),
        ({"type": "string", "logicalType": "uuid"}, str(UUID(int=5)), None),
    ]  # fmt: skip
    fields = [{"name": f"f{n}", "type": kind} for n, (kind, _, _) in enumerate(cases)]
    nullable = [{**field, "type": ["null", field["type"]], "default": None} for field in fields]
    values = {f"f{n}": value for n, (_, value, _) in enumerate(cases)}
    rows = Row(
        **{f"f{n}": value if read is None else read for n, (_, value, read) in enumerate(cases)}
    )
    writer = Writer.for_generic("all-value", schema(event(*fields)), registry.url)
    written = writer.serialize(values)

    assert Reader.for_rows(schema(event(*fields)), registry.url).deserialize(written) == rows
    evolved = Reader.for_rows(schema(event(*nullable)), registry.url)
    assert evolved.deserialize(written) == rows
    # What was read can be written, and read again.
    assert evolved.deserialize(writer.serialize(evolved.deserialize(written))) == rows
    generic = Reader.for_generic(schema(event(*fields)), registry.url).deserialize(written)
    assert generic == {**values, "f5": millis, "f8": UUID(int=5)}
