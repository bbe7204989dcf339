"""Columns that hold records of Avro."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.datastream.formats.avro.avro_schema import AvroSchema
from penstock.datastream.formats.avro.avro_values import AvroValues
from penstock.errors import UnsupportedTypeError

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_schema(schema: AvroSchema) -> pa.Schema:
    """Return the columns that hold records of a schema, and the schema itself, where readers of Parquet look for it.

    Raises:
        UnsupportedTypeError: If the schema is not one of records, or has unions of several types, or records that
            contain themselves.
    """
    import pyarrow as pa

    columns = _Columns(schema.parsed())
    found = columns.field("record", schema.parsed(), ()).type
    if not pa.types.is_struct(found):
        raise UnsupportedTypeError(
            f"{schema} is no schema of records, whose fields could be columns.",
            hint="Write records.",
        )
    return pa.schema(list(found), {"parquet.avro.schema": str(schema), "writer.model.name": "avro"})


class _Columns:
    def __init__(self, schema: Any) -> None:
        self._resolved = AvroValues(schema).resolved

    def field(self, name: str, schema: Any, outer: tuple[str, ...]) -> pa.Field:
        import pyarrow as pa

        kind, definition = self._resolved(schema)
        is_nullable = kind == "null" or (isinstance(schema, list) and "null" in schema)
        return pa.field(name, self._type_of(kind, definition, outer), nullable=is_nullable)

    def _type_of(
        self, kind: str, definition: dict[str, Any], outer: tuple[str, ...]
    ) -> pa.DataType:
        import pyarrow as pa

        if kind == "record":
            name = definition["name"]
            if name in outer:
                raise _refused(f"The record {name!r} contains itself")
            return pa.struct(
                [
                    self.field(field["name"], field["type"], (*outer, name))
                    for field in definition["fields"]
                ]
            )
        if kind == "array":
            return pa.list_(self.field("element", definition["items"], outer))
        if kind == "map":
            return pa.map_(pa.string(), self.field("value", definition["values"], outer))
        if kind == "union":
            raise _refused("A union has several types")
        return _logical(definition) or _plain(kind, definition)


def _logical(definition: dict[str, Any]) -> pa.DataType | None:
    import pyarrow as pa

    name = definition.get("logicalType", "")
    if name == "decimal":
        return pa.decimal128(definition["precision"], definition.get("scale", 0))
    return {
        "date": pa.date32(),
        "time-millis": pa.time32("ms"),
        "time-micros": pa.time64("us"),
        "timestamp-millis": pa.timestamp("ms", "UTC"),
        "timestamp-micros": pa.timestamp("us", "UTC"),
        "local-timestamp-millis": pa.timestamp("ms"),
        "local-timestamp-micros": pa.timestamp("us"),
    }.get(name)


def _plain(kind: str, definition: dict[str, Any]) -> pa.DataType:
    import pyarrow as pa

    if kind == "fixed":
        return pa.binary(definition["size"])
    return {
        "boolean": pa.bool_(),
        "int": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "bytes": pa.binary(),
        "string": pa.string(),
        "enum": pa.string(),
        "null": pa.null(),
    }[kind]


def _refused(what: str) -> UnsupportedTypeError:
    return UnsupportedTypeError(
        f"{what}, which no column can hold.", hint="Write Avro files, or another schema."
    )
