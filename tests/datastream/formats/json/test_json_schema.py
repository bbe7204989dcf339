from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.common import Row, TypeInformation, Types
from penstock.datastream.formats.json import JsonRowDeserializationSchema
from penstock.errors import InvalidArgumentError


def type_of(field: dict[str, Any]) -> TypeInformation:
    schema = {
        "type": "object",
        "properties": {"c": field},
        "definitions": {"whole": {"type": "integer"}, "again": {"$ref": "#/definitions/whole"}},
    }
    built = JsonRowDeserializationSchema.builder().json_schema(json.dumps(schema)).build()
    row: Any = built.get_produced_type()
    assert row.get_field_names() == ["c"]
    found: TypeInformation = row.get_field_types()[0]
    return found


NUMBER = {"type": "number"}
STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({"type": "boolean"}, Types.BOOLEAN()),
        (STRING, Types.STRING()),
        ({"type": "string", "format": "date-time"}, Types.SQL_TIMESTAMP()),
        ({"type": "string", "format": "date"}, Types.SQL_DATE()),
        ({"type": "string", "format": "time"}, Types.SQL_TIME()),
        ({"type": "string", "format": "uuid"}, Types.STRING()),
        ({"type": "string", "contentEncoding": "base64"}, Types.PRIMITIVE_ARRAY(Types.BYTE())),
        (NUMBER, Types.BIG_DEC()),
        ({"type": "integer"}, Types.BIG_DEC()),
        ({"type": ["null", "string"]}, Types.STRING()),
        ({"oneOf": [{"type": "null"}, STRING]}, Types.STRING()),
        ({"$ref": "#/definitions/whole"}, Types.BIG_DEC()),
        (
            {"type": "object", "properties": {"x": NUMBER}},
            Types.ROW_NAMED(["x"], [Types.BIG_DEC()]),
        ),
        ({"type": "object"}, Types.ROW_NAMED([], [])),
        ({"type": "array", "items": NUMBER}, Types.OBJECT_ARRAY(Types.BIG_DEC())),
        (
            {"type": "array", "items": [STRING, NUMBER]},
            Types.ROW([Types.STRING(), Types.BIG_DEC()]),
        ),
    ],
)
def test_types_are_those_of_flink(field: dict[str, Any], expected: TypeInformation) -> None:
    assert type_of(field) == expected


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"anyOf": [STRING]}, "is a union"),
        ({"type": ["string", "number"]}, "has several types"),
        ({"oneOf": [STRING, NUMBER]}, "has several types"),
        ({"enum": ["a"]}, "'c' has no type"),
        ({"type": "array"}, "does not say of what"),
        ({"type": "string", "contentEncoding": "x"}, "has the encoding 'x'"),
        ({"type": "any"}, "has the type 'any'"),
        ({"$ref": "other.json"}, "which is not in the schema"),
        ({"$ref": "#/definitions/none"}, "which is not in the schema"),
        ({"$ref": "#/definitions/again"}, "which refers to something else"),
    ],
)
def test_what_no_type_has_is_refused(field: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        type_of(field)


def test_it_has_to_be_json_and_of_objects() -> None:
    builder = JsonRowDeserializationSchema.builder()
    with pytest.raises(InvalidArgumentError, match="'x' is no JSON Schema"):
        builder.json_schema("x")
    with pytest.raises(InvalidArgumentError, match="String is no type of rows"):
        builder.json_schema('{"type": "string"}')


def test_a_message_is_read_by_it() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "integer"}, "name": STRING}}
    built = JsonRowDeserializationSchema.builder().json_schema(json.dumps(schema)).build()
    assert built.deserialize(b'{"id": 5, "name": "a"}') == Row(id=5, name="a")
