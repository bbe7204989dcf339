"""What a record of Avro is made of, and fastavro, which reads and writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from penstock.common.typeinfo.basic_typeinfo import PickledBytesTypeInfo
from penstock.common.typeinfo.type_information import WrappingTypeInfo
from penstock.errors import FastavroNotFoundError, InvalidArgumentError

__all__ = ["AvroSchema", "GenericRecordAvroTypeInfo"]


class AvroSchema:
    """The schema of Avro's records. Made by `parse_string` or `parse_file`.

    Two are equal if their text is.

    Args:
        json_schema: The schema as JSON.

    Raises:
        InvalidArgumentError: If that is no schema of Avro's.
        FastavroNotFoundError: If fastavro is not installed.

    Example:
        >>> str(AvroSchema.parse_string('{"type": "array", "items": "long"}'))
        '{"type":"array","items":"long"}'
    """

    def __init__(self, json_schema: str) -> None:
        try:
            definition = json.loads(json_schema)
        except (TypeError, ValueError) as error:
            raise _no_schema(json_schema, error) from error
        self._text = json.dumps(definition, ensure_ascii=False, separators=(",", ":"))
        self._parsed: Any = None
        self.parsed()

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """Return the schema that JSON describes.

        Args:
            json_schema: The schema as JSON.

        Raises:
            InvalidArgumentError: If that is no schema of Avro's.
            FastavroNotFoundError: If fastavro is not installed.
        """
        return AvroSchema(json_schema)

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """Return the schema that a file describes, as JSON in UTF-8.

        Args:
            file_path: The path of the file, which this process reads, now.

        Raises:
            InvalidArgumentError: If the file has no schema of Avro's, or cannot be read.
            FastavroNotFoundError: If fastavro is not installed.
        """
        try:
            text = Path(file_path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidArgumentError(
                f"No schema can be read from {file_path!r}: {error}",
                hint="Give the path of a file that holds a schema of Avro's as JSON.",
            ) from error
        return AvroSchema(text)

    def parsed(self) -> Any:
        """Return the schema as fastavro has it."""
        if self._parsed is None:
            schema = fastavro().schema
            try:
                self._parsed = schema.parse_schema(json.loads(self._text))
            except (schema.SchemaParseException, schema.UnknownType, TypeError, KeyError) as error:
                raise _no_schema(self._text, error) from error
        return self._parsed

    def definition(self) -> Any:
        """Return the schema as JSON describes it: a new dict, list or string."""
        return json.loads(self._text)

    def __reduce__(self) -> tuple[Any, ...]:
        return AvroSchema, (self._text,)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"AvroSchema({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)


class GenericRecordAvroTypeInfo(WrappingTypeInfo):
    """Describes records of Avro: dicts, lists and what else stands for Avro's types in Python.

    Between functions they are what they are: nothing is converted, and nothing has to be declared before a
    sink, as PyFlink wants it.

    Args:
        schema: The schema of the records.

    Example:
        >>> GenericRecordAvroTypeInfo(AvroSchema('"long"'))
        GenericRecordAvroTypeInfo("long")
    """

    def __init__(self, schema: AvroSchema) -> None:
        super().__init__(PickledBytesTypeInfo())
        self.schema = schema

    def _identity(self) -> object:
        return self.schema

    def __repr__(self) -> str:
        return f"GenericRecordAvroTypeInfo({self.schema})"


def fastavro() -> Any:
    """Return the module fastavro.

    Raises:
        FastavroNotFoundError: If it is not installed.
    """
    try:
        import fastavro as module
    except ImportError as error:
        raise FastavroNotFoundError(
            "fastavro, which reads and writes Avro, is not installed.",
            hint="Install it where the program starts and where its tasks run: pip install 'penstock[avro]'.",
        ) from error
    return module


NO_RECORD: Final = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    TypeError,
    ValueError,
)
"""What fastavro raises for what is no record of a schema, beside errors of its own."""


def _no_schema(text: object, error: Exception) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{text!r} is no schema of Avro's: {error}",
        hint="Give JSON such as "
        '\'{"type": "record", "name": "Event", "fields": [{"name": "id", "type": "long"}]}\'.',
    )
