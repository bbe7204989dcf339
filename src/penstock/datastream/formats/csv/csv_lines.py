"""Lines of CSV of values whose types are known, and values of lines, in the forms that Flink has for them."""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from penstock.common.rows.row_values import row_fields
from penstock.common.typeinfo.basic_typeinfo import BasicType, BasicTypeInfo
from penstock.common.typeinfo.composite_typeinfo import RowTypeInfo, SequenceTypeInfo
from penstock.common.typeinfo.java_text import java_text_of
from penstock.common.typeinfo.time_typeinfo import DateTypeInfo, TimestampTypeInfo, TimeTypeInfo
from penstock.common.typeinfo.type_information import TypeInformation, WrappingTypeInfo
from penstock.common.types import Row, row_of
from penstock.datastream.formats.scalars import (
    BYTES,
    instant_of,
    text_of,
    text_of_instant,
    text_of_time,
    time_of,
    timestamp_of,
    value_of,
)
from penstock.errors import TypeMismatchError, UnsupportedTypeError

_TEXT_KINDS: Final = {BasicType.STRING, BasicType.CHAR, BasicType.INSTANT}
_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})")
_LONGEST_BARE: Final = 24
"""From how many characters on Flink's CSV library quotes a text whatever it holds."""


@dataclass(frozen=True)
class CsvForm:
    """How lines of CSV look.

    Attributes:
        delimiter: What stands between two values.
        array_delimiter: What stands between the elements of an array, or the fields of a row in a row.
        quote: What stands around values that need it; None for no quotes.
        escape: What stands before a character that is meant as such; None for no such thing.
        null_literal: What stands for None; None, where lines are read, for nothing.
        line_end: What ends a line that is written.
    """

    delimiter: str = ","
    array_delimiter: str = ";"
    quote: str | None = '"'
    escape: str | None = None
    null_literal: str | None = None
    line_end: str = "\n"

    @cached_property
    def needs_quotes(self) -> Callable[[str], object]:
        """What tells whether Flink's CSV library would quote a text."""
        last = max(self.delimiter, self.quote or "", "\r")
        return re.compile(rf"[\0-{re.escape(last)}\\]|.{{{_LONGEST_BARE + 1}}}").search

    def is_plain(self, text: str) -> bool:
        """Whether a line is nothing but values with delimiters between them."""
        return (
            text != ""
            and (self.quote is None or self.quote not in text)
            and (self.escape is None or self.escape not in text)
            and "\n" not in text
            and "\r" not in text
            and "\0" not in text
        )

    def dialect(self) -> dict[str, Any]:
        """Return the arguments of `csv.reader` and `csv.writer`."""
        quoting = csv.QUOTE_NONE if self.quote is None else csv.QUOTE_MINIMAL
        return {
            "delimiter": self.delimiter,
            "quotechar": self.quote,
            "escapechar": self.escape,
            "quoting": quoting,
            "strict": True,
        }


class _Bare(str):
    """A text without quotes around it: `csv` takes it for a number."""

    __slots__ = ()

    def __float__(self) -> float:
        raise TypeError("only csv believes that this is a number")


class CsvLineWriter:
    """Makes lines of CSV of rows.

    Args:
        row_type: The type of the rows.
        form: How lines look.
        array_delimiters: What stands between the elements of each column's arrays. Default: what the form says.

    Raises:
        UnsupportedTypeError: If a column cannot be of its type.
    """

    def __init__(
        self, row_type: RowTypeInfo, form: CsvForm, array_delimiters: Sequence[str] = ()
    ) -> None:
        self._form = form
        self._names = row_type.get_field_names()
        delimiters = array_delimiters or [form.array_delimiter] * len(self._names)
        self._columns = [
            (f"the field {name!r}", kind, _text_writer(kind, form, delimiter))
            for name, kind, delimiter in zip(
                self._names, row_type.get_field_types(), delimiters, strict=True
            )
        ]
        self._null = _Bare(form.null_literal or "")
        self._needs_quotes = form.needs_quotes
        self._dialect = {**form.dialect(), "lineterminator": "\r\n"}
        if form.quote is not None:
            self._dialect["quoting"] = csv.QUOTE_NONNUMERIC

    def header(self) -> bytes:
        """Return the line that has the names of the columns."""
        return self._joined([self._quoted(name) for name in self._names])

    def line(self, row: Any) -> bytes:
        """Return the line of a row, in UTF-8.

        Raises:
            TypeMismatchError: If it is no such row, or cannot be written in such a line.
        """
        values = row_fields(row, self._names)
        texts = []
        for value, (where, kind, text) in zip(values, self._columns, strict=True):
            kind.check(value, where)
            texts.append(self._null if value is None else self._quoted(text(value)))
        try:
            return self._joined(texts)
        except csv.Error as error:
            raise TypeMismatchError(
                f"{row!r} cannot be a line of CSV as it is set: {error}.",
                hint="Set a quote character, so that values may hold delimiters and ends of lines.",
            ) from error

    def _quoted(self, text: str) -> str:
        """Return a text that is quoted if Flink quotes it; numbers and booleans never are."""
        return text if isinstance(text, _Bare) or self._needs_quotes(text) else _Bare(text)

    def _joined(self, texts: list[str]) -> bytes:
        line = io.StringIO()
        # Only of the characters that end its lines Python knows that they cannot stand without quotes.
        csv.writer(line, **self._dialect).writerow(texts)
        return (line.getvalue()[:-2] + self._form.line_end).encode()


def _text_writer(kind: TypeInformation, form: CsvForm, delimiter: str) -> Callable[[Any], str]:
    """Return what makes a text of a column's values, which are not None."""
    if isinstance(kind, RowTypeInfo):
        fields = [_scalar_writer(field) for field in kind.get_field_types()]
        names = kind.get_field_names()
        join = _joiner(form, delimiter)
        return lambda row: join(row_fields(row, names), fields)
    if isinstance(kind, SequenceTypeInfo) and kind != BYTES:
        element = _scalar_writer(kind.element_type)
        join = _joiner(form, delimiter)
        return lambda values: join(values, [element] * len(values))
    return _scalar_writer(kind)


def _joiner(form: CsvForm, delimiter: str) -> Callable[[Any, list[Callable[[Any], str]]], str]:
    null = form.null_literal or ""

    def join(values: Sequence[Any], writers: list[Callable[[Any], str]]) -> str:
        texts = [
            null if value is None else write(value)
            for value, write in zip(values, writers, strict=True)
        ]
        if len(texts) > 1 and (not delimiter or any(delimiter in text for text in texts)):
            raise TypeMismatchError(
                f"{values!r} cannot be one column of CSV: {delimiter!r} cannot stand between its elements.",
                hint="Set a delimiter of array elements that none of them holds.",
            )
        return delimiter.join(texts)

    return join


def _scalar_writer(kind: TypeInformation) -> Callable[[Any], str]:
    if isinstance(kind, TimestampTypeInfo):
        return java_text_of(kind)
    if isinstance(kind, TimeTypeInfo):
        return text_of_time
    if isinstance(kind, BasicTypeInfo) and kind.basic_type is BasicType.INSTANT:
        return lambda value: f"{text_of_instant(value, ' ')}Z"
    if isinstance(kind, WrappingTypeInfo):
        return _scalar_writer(kind.type_info)
    text = text_of(kind)
    if text is None:
        raise _unsupported(kind)
    if isinstance(kind, BasicTypeInfo) and kind.basic_type not in _TEXT_KINDS:
        return lambda value: _Bare(text(value))
    return text


class CsvLineReader:
    """Makes rows of the values of lines.

    Args:
        row_type: The type of the rows.
        form: How lines look.
        array_delimiters: What stands between the elements of each column's arrays. Default: what the form says.
        ignores_errors: Whether a field is None whose text is none of its type's values, or missing.

    Raises:
        UnsupportedTypeError: If a column cannot be of its type.
    """

    def __init__(
        self,
        row_type: RowTypeInfo,
        form: CsvForm,
        array_delimiters: Sequence[str] = (),
        *,
        ignores_errors: bool = False,
    ) -> None:
        self._form = form
        self._names = tuple(row_type.get_field_names())
        self._ignores_errors = ignores_errors
        delimiters = array_delimiters or [form.array_delimiter] * len(self._names)
        self._columns = [
            (name, _text_reader(kind, form, delimiter))
            for name, kind, delimiter in zip(
                self._names, row_type.get_field_types(), delimiters, strict=True
            )
        ]

    def row(self, texts: Sequence[str]) -> Row:
        """Return the row of a line's values.

        Raises:
            ValueError: If they are none of such a row.
        """
        columns = self._columns
        if len(texts) > len(columns) or (len(texts) < len(columns) and not self._ignores_errors):
            raise ValueError(f"it has {len(texts)} values, not {len(columns)}")
        null = self._form.null_literal
        try:
            fields = [
                None if text == null else read(text)
                for text, (_, read) in zip(texts, columns, strict=False)
            ]
        except ValueError:
            # Once more, for a field that is none, or for what is wrong with it.
            fields = [
                self._field(text, name, read)
                for text, (name, read) in zip(texts, columns, strict=False)
            ]
        missing = [None] * (len(columns) - len(fields))
        return row_of(self._names, (*fields, *missing))

    def _field(self, text: str, name: str, read: Callable[[str], Any]) -> Any:
        if text == self._form.null_literal:
            return None
        try:
            return read(text)
        except ValueError as error:
            if self._ignores_errors:
                return None
            raise ValueError(f"field {name!r}: {error}") from None


def values_of_line(text: str, form: CsvForm) -> list[str]:
    """Return the values of a line.

    Raises:
        ValueError: If it is no line of CSV, or several.
    """
    bare = text.removesuffix("\n").removesuffix("\r")
    if form.is_plain(bare):
        return bare.split(form.delimiter)
    if len(text) > csv.field_size_limit():
        csv.field_size_limit(len(text))
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), **form.dialect()))
    except csv.Error as error:
        raise ValueError(str(error)) from None
    if len(lines) != 1:
        raise ValueError(f"it has {len(lines)} lines" if lines else "it is empty")
    return lines[0]


def _text_reader(kind: TypeInformation, form: CsvForm, delimiter: str) -> Callable[[str], Any]:
    """Return what makes a column's value of a text."""
    if isinstance(kind, RowTypeInfo):
        for field in kind.get_field_types():
            _scalar_reader(field)  # which refuses what has parts itself
        inner = CsvLineReader(kind, form)
        return lambda text: inner.row(text.split(delimiter)) if text else None
    if isinstance(kind, SequenceTypeInfo) and kind != BYTES:
        element = _scalar_reader(kind.element_type)
        return _list_reader(element, form.null_literal, delimiter)
    return _scalar_reader(kind)


def _list_reader(
    element: Callable[[str], Any], null_literal: str | None, delimiter: str
) -> Callable[[str], list[Any]]:
    def read(text: str) -> list[Any]:
        if not text:
            return []
        parts = text.split(delimiter) if delimiter else [text]
        return [None if part == null_literal else element(part) for part in parts]

    return read


def _scalar_reader(kind: TypeInformation) -> Callable[[str], Any]:
    if isinstance(kind, TimestampTypeInfo):
        return lambda text: timestamp_of(text, " ", "")
    if isinstance(kind, TimeTypeInfo):
        return lambda text: time_of(text, "")
    if isinstance(kind, DateTypeInfo):
        return _date
    if isinstance(kind, BasicTypeInfo) and kind.basic_type is BasicType.INSTANT:
        return lambda text: instant_of(text, " ", "Z")
    if isinstance(kind, WrappingTypeInfo):
        return _scalar_reader(kind.type_info)
    value = value_of(kind)
    if value is None:
        raise _unsupported(kind)
    return value


def _date(text: str) -> datetime.date:
    match = _DATE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no date such as 2024-05-17")
    return datetime.date(*map(int, match.groups()))


def _unsupported(kind: TypeInformation) -> UnsupportedTypeError:
    return UnsupportedTypeError(
        f"{kind!r} cannot be the type of a column of CSV.",
        hint="Give strings, numbers, booleans, dates and times, or arrays and rows of these.",
    )
