"""Messages that are lines of CSV."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, Self

from penstock.common.plain_text import shown_bytes
from penstock.common.serialization.schema import DeserializationSchema, SerializationSchema
from penstock.common.typeinfo.composite_typeinfo import RowTypeInfo
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.datastream.formats.csv.csv_lines import (
    CsvForm,
    CsvLineReader,
    CsvLineWriter,
    values_of_line,
)
from penstock.datastream.formats.csv.csv_schema import single_character
from penstock.errors import InvalidArgumentError, MalformedMessageError

__all__ = ["CsvRowDeserializationSchema", "CsvRowSerializationSchema"]

_LINE_ENDS: Final = ("\n", "\r", "\r\n", "")


class _Builder:
    """What the builders of both directions have in common."""

    def __init__(self, type_info: TypeInformation) -> None:
        if not isinstance(type_info, RowTypeInfo):
            raise InvalidArgumentError(
                f"{type_info!r} is no type of rows.", hint="Give Types.ROW(...)."
            )
        self._type_info = type_info
        self._form = CsvForm()

    def set_array_element_delimiter(self, delimiter: str) -> Self:
        """Set what stands between the elements of an array, or the fields of a row in a row. Default: ";"."""
        return self._with(array_delimiter=delimiter)

    def set_quote_character(self, c: str) -> Self:
        """Set what stands around values that need it: one character. Default: a double quote."""
        return self._with(quote=single_character(c, "quote character"))

    def set_escape_character(self, c: str) -> Self:
        """Set what stands before a character that is meant as such. Default: nothing does."""
        return self._with(escape=single_character(c, "escape character"))

    def _with(self, **settings: Any) -> Self:
        self._form = replace(self._form, **settings)
        return self


class CsvRowSerializationSchema(SerializationSchema):
    r"""Writes rows as lines of CSV, in UTF-8. Built with `CsvRowSerializationSchema.Builder`.

    Dicts are taken by name, rows by name if they have all the names, and all others by position. Dates are
    2024-05-17, times 09:30:00, timestamps 2024-05-17 09:30:00.5; bytes are Base64. Texts are quoted where Flink
    quotes them, which is more often than readers need.

    Raises:
        TypeMismatchError: If a record is no such row, or cannot be a line without quotes, or an element of an
            array holds what stands between two. Flink writes those so that nobody can read them.

    Example:
        >>> from penstock.common import Row, Types
        >>> rows = Types.ROW([Types.INT(), Types.STRING()])
        >>> schema = CsvRowSerializationSchema.Builder(rows).set_field_delimiter(";").build()
        >>> schema.serialize(Row(1, "a;b"))
        b'1;"a;b"\n'
    """

    class Builder(_Builder):
        """Builds a `CsvRowSerializationSchema`.

        Args:
            type_info: The type of the rows.

        Raises:
            InvalidArgumentError: If it is no type of rows.
        """

        def set_field_delimiter(self, c: str) -> Self:
            """Set what stands between two values: one character. Default: ","."""
            return self._with(delimiter=single_character(c, "field delimiter"))

        def set_null_literal(self, s: str) -> Self:
            """Set what stands for None. Default: nothing."""
            return self._with(null_literal=s)

        def set_line_delimiter(self, delimiter: str) -> Self:
            r"""Set what ends a line: "\n", "\r", "\r\n" or nothing. Default: "\n"."""
            if delimiter not in _LINE_ENDS:
                raise InvalidArgumentError(
                    f"{delimiter!r} cannot end lines.", hint=r"Give '\n', '\r', '\r\n' or ''."
                )
            return self._with(line_end=delimiter)

        def disable_quote_character(self) -> Self:
            """Let values stand without quotes."""
            return self._with(quote=None)

        def build(self) -> CsvRowSerializationSchema:
            """Return the schema.

            Raises:
                UnsupportedTypeError: If a column cannot be of its type.
            """
            return CsvRowSerializationSchema(self._type_info, self._form)

    def __init__(self, type_info: RowTypeInfo, form: CsvForm) -> None:
        self._type_info = type_info
        self._form = form
        self._writer = CsvLineWriter(type_info, form)

    def serialize(self, element: Any) -> bytes:
        """See `SerializationSchema.serialize`."""
        return self._writer.line(element)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._type_info, self._form)


class CsvRowDeserializationSchema(DeserializationSchema):
    """Reads rows of lines of CSV. Built with `CsvRowDeserializationSchema.Builder`.

    It reads what `CsvRowSerializationSchema` writes. A message is one line.

    Raises:
        MalformedMessageError: If a message is no such line.

    Example:
        >>> from penstock.common import Types
        >>> rows = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
        >>> schema = CsvRowDeserializationSchema.Builder(rows).set_null_literal("-").build()
        >>> schema.deserialize(b"1,-")
        Row(id=1, name=None)
    """

    class Builder(_Builder):
        """Builds a `CsvRowDeserializationSchema`.

        Args:
            type_info: The type of the rows.

        Raises:
            InvalidArgumentError: If it is no type of rows.
        """

        def __init__(self, type_info: TypeInformation) -> None:
            super().__init__(type_info)
            self._allows_comments = False
            self._ignores_errors = False

        def set_field_delimiter(self, delimiter: str) -> Self:
            """Set what stands between two values: one character. Default: ","."""
            return self._with(delimiter=single_character(delimiter, "field delimiter"))

        def set_null_literal(self, null_literal: str) -> Self:
            """Set what is read as None. Default: nothing is."""
            return self._with(null_literal=null_literal)

        def set_allow_comments(self, allow_comments: bool) -> Self:
            """Set whether lines that begin with #, and empty ones, are passed over. Default: they are not."""
            self._allows_comments = allow_comments
            return self

        def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> Self:
            """Set whether messages that are no such lines are passed over.

            A field is None, then, that is missing or not of its type. Default: that is an error.
            """
            self._ignores_errors = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """Return the schema.

            Raises:
                UnsupportedTypeError: If a column cannot be of its type.
            """
            return CsvRowDeserializationSchema(
                self._type_info, self._form, self._allows_comments, self._ignores_errors
            )

    def __init__(
        self, type_info: RowTypeInfo, form: CsvForm, allows_comments: bool, ignores_errors: bool
    ) -> None:
        self._arguments = (type_info, form, allows_comments, ignores_errors)
        self._type_info = type_info
        self._form = form
        self._allows_comments = allows_comments
        self._ignores_errors = ignores_errors
        self._reader = CsvLineReader(type_info, form, ignores_errors=ignores_errors)

    def deserialize(self, message: bytes) -> Any:
        """See `DeserializationSchema.deserialize`."""
        try:
            text = bytes(message).decode()
            if self._allows_comments:
                text = _without_comments(text)
            return self._reader.row(values_of_line(text, self._form))
        except ValueError as error:
            if self._ignores_errors:
                return None
            raise MalformedMessageError(
                f"The message {shown_bytes(message)} is no line of CSV of the declared type: {error}.",
                hint="Declare the type that messages have, set how lines look, or call "
                "set_ignore_parse_errors(True).",
            ) from error

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the rows."""
        return self._type_info

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments


def _without_comments(text: str) -> str:
    """Return a text without the empty lines and comments that it begins with."""
    while text and (text[0] in "#\r\n"):
        text = text.lstrip("\r\n") if text[0] != "#" else text.partition("\n")[2]
    return text
