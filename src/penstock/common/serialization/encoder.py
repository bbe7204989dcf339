"""How records become bytes in files, one by one."""

from __future__ import annotations

import csv
import datetime
import decimal
import io
import json
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from penstock.common.rows.row_values import row_values
from penstock.common.serialization.schema import charset_named
from penstock.common.typeinfo import TypeInformation
from penstock.common.typeinfo.java_text import java_text_of
from penstock.common.types import Row, field_names_of
from penstock.errors import InvalidArgumentError

__all__ = ["Encoder"]


class Encoder(ABC):
    r"""Makes bytes of each record of a file: see `FileSink.for_row_format`.

    A class of your own defines `encode`, and `header` where files begin with something; PyFlink has no
    encoders in Python.

    Example:
        >>> class Hexadecimal(Encoder):
        ...     def encode(self, value):
        ...         return f"{value:x}\n".encode()
        >>> Hexadecimal().encode(255)
        b'ff\n'
    """

    @abstractmethod
    def encode(self, value: Any) -> bytes:
        """Return the bytes of a record, with what ends it, such as a line feed.

        Args:
            value: The record.
        """

    def header(self) -> bytes:
        """Return what each file begins with. Default: nothing."""
        return b""

    def of_type(self, type_info: TypeInformation | None) -> Encoder:
        """Return the encoder for records of a type. Default: this one, whatever the type.

        Args:
            type_info: The declared type of the stream that is written; None if it has none.
        """
        return self

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        r"""Return an encoder that writes the text of each record on a line.

        Records of a declared type have the text that Flink writes, as `(1,a)` for a tuple; all others their
        `str`.

        Args:
            charset_name: The character set.

        Raises:
            InvalidArgumentError: If Python does not know it.

        Example:
            >>> Encoder.simple_string_encoder().encode(5)
            b'5\n'
        """
        return _StringEncoder(charset_named(charset_name))

    @staticmethod
    def json_lines(
        *, ensure_ascii: bool = False, default: Callable[[Any], Any] | None = None
    ) -> Encoder:
        r"""Return an encoder that writes each record as JSON on a line. PyFlink has none.

        Rows with field names are written as objects. Dates and times are written as ISO 8601, decimal
        numbers and UUIDs as strings. NaN and the infinities, which JSON lacks, are refused.

        Args:
            ensure_ascii: Whether characters beyond ASCII are escaped.
            default: Makes of a value that JSON lacks one that it has.

        Example:
            >>> Encoder.json_lines().encode(Row(id=1, name="a"))
            b'{"id": 1, "name": "a"}\n'
        """
        return _JsonEncoder(default, ensure_ascii=ensure_ascii)

    @staticmethod
    def csv(
        columns: Sequence[str],
        *,
        delimiter: str = ",",
        header: bool = False,
        null_value: str = "",
    ) -> Encoder:
        r"""Return an encoder that writes each record as a line of CSV in UTF-8. PyFlink has none.

        Values that need it are quoted, and quotes in them doubled, as RFC 4180 says.

        Args:
            columns: The names of the columns. Rows with names and dicts are taken by name, all others
                by position.
            delimiter: What stands between two values.
            header: Whether each file begins with the names.
            null_value: What stands for None.

        Raises:
            InvalidArgumentError: If there are no columns, or the delimiter is not one character.

        Example:
            >>> Encoder.csv(["id", "name"], delimiter=";").encode((1, "a;b"))
            b'1;"a;b"\n'
        """
        if isinstance(columns, str) or not columns:
            raise InvalidArgumentError(
                f"{columns!r} are no columns.", hint="Give the names of the columns in a list."
            )
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise InvalidArgumentError(
                f"{delimiter!r} cannot stand between the values of a line.",
                hint="Give one character, such as ',' or ';'.",
            )
        return _CsvEncoder(list(columns), delimiter, null_value, header=header)


class _StringEncoder(Encoder):
    def __init__(self, charset: str, declared: TypeInformation | None = None) -> None:
        self._charset = charset
        self._text_of = java_text_of(declared)

    def of_type(self, type_info: TypeInformation | None) -> Encoder:
        return _StringEncoder(self._charset, type_info)

    def encode(self, value: Any) -> bytes:
        return f"{self._text_of(value)}\n".encode(self._charset)


class _JsonEncoder(Encoder):
    def __init__(self, default: Callable[[Any], Any] | None, *, ensure_ascii: bool) -> None:
        self._default = default
        self._json = json.JSONEncoder(
            allow_nan=False, ensure_ascii=ensure_ascii, default=self._other
        )

    def encode(self, value: Any) -> bytes:
        return self._json.encode(_without_rows(value)).encode() + b"\n"

    def _other(self, value: Any) -> Any:
        if isinstance(value, (datetime.date, datetime.time)):
            return value.isoformat()
        if isinstance(value, (decimal.Decimal, uuid.UUID)):
            return str(value)
        if self._default is not None:
            return _without_rows(self._default(value))
        raise InvalidArgumentError(
            f"JSON has nothing for {value!r}, which is of the type {type(value).__qualname__}.",
            hint="Write it in a map() before the sink, or give json_lines() a default.",
        )


def _without_rows(value: Any) -> Any:
    """Return a value in which rows are dicts or lists."""
    if isinstance(value, Row):
        names, fields = field_names_of(value), map(_without_rows, value)
        return list(fields) if names is None else dict(zip(names, fields, strict=True))
    if isinstance(value, dict):
        return {key: _without_rows(field) for key, field in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_rows(item) for item in value]
    return value


class _CsvEncoder(Encoder):
    def __init__(
        self, columns: list[str], delimiter: str, null_value: str, *, header: bool
    ) -> None:
        self._columns = columns
        self._delimiter = delimiter
        self._null_value = null_value
        self._has_header = header

    def header(self) -> bytes:
        return self._line(self._columns) if self._has_header else b""

    def encode(self, value: Any) -> bytes:
        values = row_values(value, self._columns)
        if len(values) != len(self._columns):
            raise InvalidArgumentError(
                f"{value!r} has {len(values)} fields, not {len(self._columns)}.",
                hint=f"The columns are: {', '.join(self._columns)}.",
            )
        return self._line([self._null_value if field is None else field for field in values])

    def _line(self, values: Sequence[Any]) -> bytes:
        line = io.StringIO()
        # Only of the characters that end its lines Python knows that they have to be quoted.
        csv.writer(line, delimiter=self._delimiter, lineterminator="\r\n").writerow(values)
        return line.getvalue()[:-2].encode() + b"\n"
