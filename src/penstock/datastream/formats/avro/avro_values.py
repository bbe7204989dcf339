"""What fastavro takes for records of the program, and records of what it gives."""

from __future__ import annotations

import copy
import datetime
import uuid
from collections.abc import Callable
from operator import itemgetter
from typing import Any, Final

from penstock.common.rows.row_values import row_fields
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.common.typeinfo.types import Types
from penstock.common.types import Row, row_of
from penstock.datastream.formats.avro.avro_schema import NO_RECORD, AvroSchema, fastavro
from penstock.datastream.formats.scalars import BYTES
from penstock.errors import TypeMismatchError, UnsupportedTypeError

Convert = Callable[[Any], Any]

_TIMESTAMPS: Final = ("timestamp-millis", "timestamp-micros")
_LOCAL_TIMESTAMPS: Final = ("local-timestamp-millis", "local-timestamp-micros")
_LOGICAL: Final[dict[str, TypeInformation]] = {
    "decimal": Types.BIG_DEC(),
    "date": Types.SQL_DATE(),
    "time-millis": Types.SQL_TIME(),
    "time-micros": Types.SQL_TIME(),
    **dict.fromkeys(_TIMESTAMPS + _LOCAL_TIMESTAMPS, Types.SQL_TIMESTAMP()),
}
_PLAIN: Final[dict[str, TypeInformation]] = {
    "string": Types.STRING(),
    "enum": Types.STRING(),
    "bytes": BYTES,
    "fixed": BYTES,
    "int": Types.INT(),
    "long": Types.LONG(),
    "float": Types.FLOAT(),
    "double": Types.DOUBLE(),
    "boolean": Types.BOOLEAN(),
}


class AvroValues:
    """Knows the types of a schema by their names.

    Args:
        schema: The schema, as fastavro has it.
    """

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._named: dict[str, dict[str, Any]] = {}
        self._collect(schema)
        self._writers: dict[str, Convert] = {}

    def _collect(self, schema: Any) -> None:
        if isinstance(schema, list):
            for branch in schema:
                self._collect(branch)
        elif isinstance(schema, dict):
            if "name" in schema:
                self._named[schema["name"]] = schema
            for field in schema.get("fields", ()):
                self._collect(field["type"])
            for inner in ("items", "values", "type"):
                self._collect(schema.get(inner))

    def resolved(self, schema: Any) -> tuple[str, dict[str, Any]]:
        """Return the kind of a type, and its definition; of a union the type beside null, if it is one."""
        if isinstance(schema, list):
            branches = [branch for branch in schema if branch != "null"]
            return self.resolved(branches[0]) if len(branches) == 1 else ("union", {})
        if isinstance(schema, str):
            schema = self._named.get(schema, {"type": schema})
        kind = schema["type"]
        return (kind, schema) if isinstance(kind, str) else self.resolved(kind)

    def type_info(self) -> TypeInformation:
        """Return the type of what `reader` gives.

        Raises:
            UnsupportedTypeError: If the schema's types contain themselves.
        """
        return self._type_of(self._schema, ())

    def _type_of(self, schema: Any, outer: tuple[str, ...]) -> TypeInformation:
        kind, definition = self.resolved(schema)
        if kind == "record":
            name = definition["name"]
            if name in outer:
                raise UnsupportedTypeError(
                    f"The Avro record {name!r} contains itself, which no type of rows does.",
                    hint="Read such records with fastavro, in a DeserializationSchema of your own.",
                )
            fields = definition["fields"]
            kinds = [self._type_of(field["type"], (*outer, name)) for field in fields]
            return Types.ROW_NAMED([field["name"] for field in fields], kinds)
        if kind == "array":
            return Types.OBJECT_ARRAY(self._type_of(definition["items"], outer))
        if kind == "map":
            return Types.MAP(Types.STRING(), self._type_of(definition["values"], outer))
        logical = _LOGICAL.get(definition.get("logicalType", ""))
        return logical or _PLAIN.get(kind, Types.PICKLED_BYTE_ARRAY())

    def writer(self) -> Convert:
        """Return what makes what fastavro takes of a record, whose rows may be rows, dicts, tuples and lists.

        It raises a `TypeMismatchError` if a row has not the fields that it should have.
        """
        return self._writer_of(self._schema)

    def _writer_of(self, schema: Any) -> Convert:
        kind, definition = self.resolved(schema)
        if kind == "record":
            name = definition["name"]
            if name not in self._writers:
                self._writers[name] = _as_it_is  # until it is made: a record may contain itself
                self._writers[name] = self._record_writer(definition)
            return lambda value: None if value is None else self._writers[name](value)
        if kind == "array":
            item = self._writer_of(definition["items"])
            return lambda value: None if value is None else [item(one) for one in value]
        if kind == "map":
            entry = self._writer_of(definition["values"])
            return lambda value: (
                None if value is None else {key: entry(one) for key, one in value.items()}
            )
        if kind == "union":
            return _without_names
        if definition.get("logicalType") in _TIMESTAMPS:
            return _in_utc
        return _as_it_is

    def _record_writer(self, definition: dict[str, Any]) -> Convert:
        names = [field["name"] for field in definition["fields"]]
        writers = [self._writer_of(field["type"]) for field in definition["fields"]]
        converted = [
            (name, convert)
            for name, convert in zip(names, writers, strict=True)
            if convert is not _as_it_is
        ]
        defaults = {
            field["name"]: self.default_of(field)
            for field in definition["fields"]
            if "default" in field
        }

        def write(record: Any) -> dict[str, Any]:
            if isinstance(record, dict):
                record = defaults | record
                # Whoever writes it says what is missing.
                return {
                    name: convert(record[name])
                    for name, convert in zip(names, writers, strict=True)
                    if name in record
                }
            datum = dict(zip(names, row_fields(record, names), strict=True))
            for name, convert in converted:
                datum[name] = convert(datum[name])
            return datum

        return write

    def default_of(self, field: dict[str, Any]) -> Any:
        """Return what a field has that a record lacks, as fastavro would have read it."""
        try:
            return self._value_of(field["type"], field["default"])
        except NO_RECORD:  # Whoever reads or writes it says what is wrong.
            return field["default"]

    def _value_of(self, schema: Any, default: Any) -> Any:
        """Return the value of a type that JSON describes."""
        if isinstance(schema, list):
            schema = next((branch for branch in schema if branch != "null"), "null")
        kind, definition = self.resolved(schema)
        if default is None or kind == "union":
            return default
        if kind == "record":
            fields = definition["fields"]
            given = {field["name"]: field.get("default") for field in fields} | default
            return {
                field["name"]: self._value_of(field["type"], given[field["name"]])
                for field in fields
            }
        if kind == "array":
            return [self._value_of(definition["items"], item) for item in default]
        if kind == "map":
            values = definition["values"]
            return {key: self._value_of(values, item) for key, item in default.items()}
        if kind in {"bytes", "fixed"}:
            default = default.encode("latin-1")
        elif kind in {"float", "double"}:
            default = float(default)
        read = fastavro().read.LOGICAL_READERS.get(f"{kind}-{definition.get('logicalType')}")
        return default if read is None else read(default, definition, None)

    def with_defaults(self) -> Any:
        """Return the schema for fastavro to read with, which gives defaults as they stand there."""
        copied = AvroValues(copy.deepcopy(self._schema))
        for name, definition in self._named.items():
            fields = definition.get("fields", ())
            for field, own in zip(fields, copied._named[name].get("fields", ()), strict=True):
                if "default" in field:
                    own["default"] = self.default_of(field)
        return copied._schema

    def reader(self) -> Convert:
        """Return what makes records of what fastavro gives: rows of records."""
        return self._reader_of(self._schema)

    def _reader_of(self, schema: Any) -> Convert:
        kind, definition = self.resolved(schema)
        if kind == "record":
            return self._record_reader(definition)
        if kind == "array":
            item = self._reader_of(definition["items"])
            return lambda value: None if value is None else [item(one) for one in value]
        if kind == "map":
            entry = self._reader_of(definition["values"])
            return lambda value: (
                None if value is None else {key: entry(one) for key, one in value.items()}
            )
        logical = definition.get("logicalType")
        if logical in _TIMESTAMPS:
            return lambda value: None if value is None else value.replace(tzinfo=None)
        return _as_text if logical == "uuid" else _as_it_is

    def _record_reader(self, definition: dict[str, Any]) -> Convert:
        names = tuple(field["name"] for field in definition["fields"])
        readers = [self._reader_of(field["type"]) for field in definition["fields"]]
        converted = [(place, read) for place, read in enumerate(readers) if read is not _as_it_is]
        fields_of = _fields_by_name(names)

        def read_some(value: Any) -> Row | None:
            if value is None:
                return None
            fields = list(fields_of(value))
            for place, read in converted:
                fields[place] = read(fields[place])
            return row_of(names, tuple(fields))

        def read_none(value: Any) -> Row | None:
            return None if value is None else row_of(names, fields_of(value))

        return read_some if converted else read_none


def _fields_by_name(names: tuple[str, ...]) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    """Return what gives the fields of a record in the order of names."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda record: tuple([record[name] for name in names])


def datum_writer(schema: AvroSchema) -> Convert:
    """Return what makes what fastavro takes of a record, and makes sure that it is of a schema.

    It raises a `TypeMismatchError` if the record is not.
    """
    parsed, validation = schema.parsed(), fastavro().validation
    convert = AvroValues(parsed).writer()

    def write(record: Any) -> Any:
        datum = convert(record)
        try:
            validation.validate(datum, parsed, raise_errors=True)
        except (validation.ValidationError, *NO_RECORD) as error:
            raise TypeMismatchError(
                f"{record!r} is no record of the Avro schema {schema}: {error}",
                hint="Make one of it in a map() before the sink, or change the schema.",
            ) from error
        return datum

    return write


def has_changeable_defaults(definition: Any) -> bool:
    """Whether a schema, as JSON describes it, gives fields lists or dicts that they lack."""
    if isinstance(definition, dict):
        is_one = isinstance(definition.get("default"), (list, dict))
        return is_one or any(map(has_changeable_defaults, definition.values()))
    return isinstance(definition, list) and any(map(has_changeable_defaults, definition))


def unshared(value: Any) -> Any:
    """Return a value whose lists and dicts nobody else has: those of a default are the schema's own."""
    if isinstance(value, dict):
        return {key: unshared(item) for key, item in value.items()}
    return list(map(unshared, value)) if isinstance(value, list) else value


def _as_it_is(value: Any) -> Any:
    return value


def _in_utc(value: Any) -> Any:
    """Return a timestamp that says its zone: one without is UTC, not the zone of the machine."""
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        return value.replace(tzinfo=datetime.UTC)
    return value


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, uuid.UUID) else value


def _without_names(value: Any) -> Any:
    """Return a value of one of several types, in which rows are dicts."""
    if isinstance(value, Row):
        return {name: _without_names(field) for name, field in value.as_dict().items()}
    if isinstance(value, list):
        return [_without_names(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_names(item) for key, item in value.items()}
    return _in_utc(value)
