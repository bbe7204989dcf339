"""Messages that are JSON objects."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, Final, NoReturn, Self

from penstock.common.plain_text import shown_bytes
from penstock.common.serialization.schema import DeserializationSchema, SerializationSchema
from penstock.common.typeinfo.composite_typeinfo import RowTypeInfo
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.datastream.formats.json.json_schema import type_of_json_schema
from penstock.datastream.formats.json.json_values import holds_decimals, object_writer, reader_of
from penstock.errors import InvalidArgumentError, MalformedMessageError

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
"""Half of a character, as JSON escapes it."""


class JsonRowSerializationSchema(SerializationSchema):
    """Writes rows as JSON objects, in UTF-8. Built with `JsonRowSerializationSchema.builder()`.

    Dicts are taken by name, rows by name if they have all the names, and all others by position. Numbers are
    JSON numbers, decimal ones without exponent; NaN and the infinities, which JSON lacks, are strings. Dates are
    "2024-05-17", times "09:30:00Z", timestamps "2024-05-17T09:30:00.5Z"; bytes are Base64. None is null.

    Raises:
        TypeMismatchError: If a record is no such row.

    Example:
        >>> from datetime import datetime
        >>> from penstock.common import Row, Types
        >>> rows = Types.ROW_NAMED(["id", "at"], [Types.INT(), Types.SQL_TIMESTAMP()])
        >>> schema = JsonRowSerializationSchema.builder().with_type_info(rows).build()
        >>> schema.serialize(Row(1, datetime(2024, 5, 17, 9, 30)))
        b'{"id":1,"at":"2024-05-17T09:30:00Z"}'
    """

    class Builder:
        """Builds a `JsonRowSerializationSchema`."""

        def __init__(self) -> None:
            self._type_info: RowTypeInfo | None = None

        def with_type_info(self, type_info: TypeInformation) -> Self:
            """Set the type of the rows: `Types.ROW_NAMED(...)`.

            Raises:
                InvalidArgumentError: If it is no type of rows.
            """
            self._type_info = _row_type(type_info)
            return self

        def build(self) -> JsonRowSerializationSchema:
            """Return the schema.

            Raises:
                InvalidArgumentError: If there is no type.
                UnsupportedTypeError: If JSON has nothing for the type of a field.
            """
            return JsonRowSerializationSchema(_row_type(self._type_info))

    def __init__(self, type_info: RowTypeInfo) -> None:
        self._type_info = type_info
        self._write = object_writer(type_info)

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """Return what builds a schema."""
        return JsonRowSerializationSchema.Builder()

    def serialize(self, element: Any) -> bytes:
        """See `SerializationSchema.serialize`."""
        return self._write(element).encode()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._type_info,)


class JsonRowDeserializationSchema(DeserializationSchema):
    """Reads rows of JSON objects. Built with `JsonRowDeserializationSchema.builder()`.

    It reads what `JsonRowSerializationSchema` writes, and numbers and booleans that are written as strings. A
    field that an object lacks is None, as is one that is null; one that the type lacks is passed over.

    Raises:
        MalformedMessageError: If a message is no such object.

    Example:
        >>> from penstock.common import Types
        >>> rows = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
        >>> schema = JsonRowDeserializationSchema.builder().type_info(rows).build()
        >>> schema.deserialize(b'{"id": 1, "price": 5}')
        Row(id=1, name=None)
    """

    class Builder:
        """Builds a `JsonRowDeserializationSchema`."""

        def __init__(self) -> None:
            self._type_info: RowTypeInfo | None = None
            self._fails_on_missing = False
            self._ignores_errors = False

        def type_info(self, type_info: TypeInformation) -> Self:
            """Set the type of the rows: `Types.ROW_NAMED(...)`.

            Raises:
                InvalidArgumentError: If it is no type of rows.
            """
            self._type_info = _row_type(type_info)
            return self

        def json_schema(self, json_schema: str) -> Self:
            """Set the type of the rows by a JSON Schema. Its numbers, whole ones too, become `Types.BIG_DEC()`.

            Args:
                json_schema: The schema as JSON.

            Raises:
                InvalidArgumentError: If it is no JSON Schema of objects, or has what no type has.
            """
            self._type_info = _row_type(type_of_json_schema(json_schema))
            return self

        def fail_on_missing_field(self) -> Self:
            """Let a message be an error if it lacks a field. Default: the field is None."""
            self._fails_on_missing = True
            return self

        def ignore_parse_errors(self) -> Self:
            """Pass over messages that are no JSON objects; a field with a value not of its type is None.

            Default: both are errors.
            """
            self._ignores_errors = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """Return the schema.

            Raises:
                InvalidArgumentError: If there is no type, or missing fields are errors and errors are ignored.
                UnsupportedTypeError: If JSON has nothing for the type of a field.
            """
            if self._fails_on_missing and self._ignores_errors:
                raise InvalidArgumentError(
                    "Missing fields cannot be errors where errors are ignored.",
                    hint="Call fail_on_missing_field() or ignore_parse_errors(), not both.",
                )
            return JsonRowDeserializationSchema(
                _row_type(self._type_info), self._fails_on_missing, self._ignores_errors
            )

    def __init__(
        self, type_info: RowTypeInfo, fails_on_missing: bool, ignores_errors: bool
    ) -> None:
        self._type_info = type_info
        self._fails_on_missing = fails_on_missing
        self._ignores_errors = ignores_errors
        self._read = reader_of(
            type_info, fails_on_missing=fails_on_missing, ignores_errors=ignores_errors
        )
        self._json = json.JSONDecoder(
            parse_float=Decimal if holds_decimals(type_info) else None, parse_constant=_no_number
        )

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """Return what builds a schema."""
        return JsonRowDeserializationSchema.Builder()

    def deserialize(self, message: bytes) -> Any:
        """See `DeserializationSchema.deserialize`."""
        try:
            text = bytes(message).decode()
            # All of a decoder looks for spaces around the object, and says what else is there.
            found, end = self._json.raw_decode(text) if text.startswith("{") else (None, -1)
            if end != len(text):
                found = self._json.decode(text)
            if _SURROGATE.search(text):
                _refuse_halves(found)
            return self._read(found)
        except (ValueError, RecursionError) as error:
            if self._ignores_errors:
                return None
            raise MalformedMessageError(
                f"The message {shown_bytes(message)} is no JSON object of the declared type: {error}.",
                hint="Declare the type that messages have, or call ignore_parse_errors().",
            ) from error

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the rows."""
        return self._type_info

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._type_info, self._fails_on_missing, self._ignores_errors)


def _refuse_halves(found: Any) -> None:
    """Refuse texts with half a character, which nobody could write again."""
    json.dumps(found, ensure_ascii=False, default=str).encode()


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _row_type(type_info: TypeInformation | None) -> RowTypeInfo:
    if not isinstance(type_info, RowTypeInfo):
        raise InvalidArgumentError(
            f"{type_info!r} is no type of rows.", hint="Give Types.ROW_NAMED(...)."
        )
    return type_info
