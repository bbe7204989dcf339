"""Messages that are records of Avro, without the schema."""

from __future__ import annotations

import io
from typing import Any

from penstock.common.plain_text import shown_bytes
from penstock.common.serialization.schema import DeserializationSchema, SerializationSchema
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.datastream.formats.avro.avro_schema import NO_RECORD, AvroSchema, fastavro
from penstock.datastream.formats.avro.avro_values import AvroValues, datum_writer
from penstock.errors import (
    InvalidArgumentError,
    MalformedMessageError,
    UnsupportedOperationError,
)

__all__ = ["AvroRowDeserializationSchema", "AvroRowSerializationSchema"]


class AvroRowSerializationSchema(SerializationSchema):
    r"""Writes rows as records of Avro, without the schema.

    Dicts are taken by name, rows by name if they have all the names, and all others by position: the names of the
    schema need not be those of the rows. A timestamp without zone is one of UTC.

    Args:
        record_class: A class of Java, which is not here.
        avro_schema_string: The schema of the records, as JSON.

    Raises:
        InvalidArgumentError: If there is no schema, or it is none of Avro's, or not one of records.
        UnsupportedOperationError: If a class is given.
        FastavroNotFoundError: If fastavro is not installed.
        TypeMismatchError: If a record is none of the schema.

    Example:
        >>> from penstock.common import Row
        >>> text = '{"type": "record", "name": "Event", "fields": [{"name": "id", "type": "long"}]}'
        >>> AvroRowSerializationSchema(avro_schema_string=text).serialize(Row(5))
        b'\n'
    """

    def __init__(
        self, record_class: str | None = None, avro_schema_string: str | None = None
    ) -> None:
        self._schema = _record_schema(record_class, avro_schema_string)
        self._datum_of = datum_writer(self._schema)

    def serialize(self, element: Any) -> bytes:
        """See `SerializationSchema.serialize`."""
        stream = io.BytesIO()
        fastavro().schemaless_writer(stream, self._schema.parsed(), self._datum_of(element))
        return stream.getvalue()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None, str(self._schema))


class AvroRowDeserializationSchema(DeserializationSchema):
    r"""Reads rows of records of Avro that come without the schema.

    Records become rows, enums and UUIDs strings, timestamps such without zone, in UTC; a union of null and one
    other type is that type. What is of other unions can be of any type.

    Args:
        record_class: A class of Java, which is not here.
        avro_schema_string: The schema with which the records were written, as JSON.

    Raises:
        InvalidArgumentError: If there is no schema, or it is none of Avro's, or not one of records.
        UnsupportedOperationError: If a class is given.
        UnsupportedTypeError: If records contain themselves.
        FastavroNotFoundError: If fastavro is not installed.
        MalformedMessageError: If a message is no record of the schema.

    Example:
        >>> text = '{"type": "record", "name": "Event", "fields": [{"name": "id", "type": "long"}]}'
        >>> AvroRowDeserializationSchema(avro_schema_string=text).deserialize(b"\n")
        Row(id=5)
    """

    def __init__(
        self, record_class: str | None = None, avro_schema_string: str | None = None
    ) -> None:
        self._schema = _record_schema(record_class, avro_schema_string)
        values = AvroValues(self._schema.parsed())
        self._type_info = values.type_info()
        self._convert = values.reader()
        self._datum = fastavro().schemaless_reader
        self._parsed = self._schema.parsed()

    def deserialize(self, message: bytes) -> Any:
        """See `DeserializationSchema.deserialize`."""
        stream = io.BytesIO(message)
        try:
            datum = self._datum(stream, self._parsed, None)
            if left := len(message) - stream.tell():
                raise ValueError(f"{left} bytes are left")
            return self._convert(datum)
        except NO_RECORD as error:
            raise MalformedMessageError(
                f"The message {shown_bytes(message)} is no record of the Avro schema {self._schema}: "
                f"{str(error) or type(error).__name__}.",
                hint="Give the schema with which it was written. What a schema registry puts before a "
                "record is none of Avro's.",
            ) from error

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the rows."""
        return self._type_info

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None, str(self._schema))


def _record_schema(record_class: str | None, text: str | None) -> AvroSchema:
    if record_class is not None:
        raise UnsupportedOperationError(
            f"{record_class!r} is a class of Java, which is not here.",
            hint="Give avro_schema_string: the class has it as `SCHEMA$`.",
        )
    if text is None:
        raise InvalidArgumentError(
            "There is no Avro schema.", hint="Give avro_schema_string, the schema as JSON."
        )
    schema = AvroSchema(text)
    parsed = schema.parsed()
    if not isinstance(parsed, dict) or parsed.get("type") != "record":
        raise InvalidArgumentError(
            f"{text!r} is no Avro schema of records.", hint='Give one whose "type" is "record".'
        )
    return schema
