"""Files that have columns: their rows are collected, and written many at once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from penstock.common.configuration import Configuration
from penstock.common.rows.row_values import row_fields
from penstock.common.serialization.bulk_writer import BulkWriter
from penstock.common.typeinfo.arrow_types import to_arrow_schema
from penstock.common.typeinfo.composite_typeinfo import RowTypeInfo
from penstock.common.types import Row
from penstock.errors import InvalidArgumentError
from penstock.runtime.exchange.arrow_rows import results_to_table

if TYPE_CHECKING:
    import pyarrow as pa

_LOG: Final = logging.getLogger(__name__)

Options = Mapping[str, tuple[str, Callable[[str], Any]]]
"""The arguments of pyarrow's writer, with what makes one of a text, by the keys that Java's writer has for them."""


class ColumnWriter(BulkWriter):
    """Writes rows as tables of Arrow.

    Args:
        write: Writes a table.
        close: Writes what is left, and lets go of the file.
        schema: The columns.
        rows_at_once: How many rows are collected.
        what: What an error calls the writer.
    """

    def __init__(
        self,
        write: Callable[[pa.Table], None],
        close: Callable[[], None],
        schema: pa.Schema,
        rows_at_once: int,
        what: str,
    ) -> None:
        self._write = write
        self._close = close
        self._schema = schema
        self._names: list[str] = schema.names
        self._rows_at_once = rows_at_once
        self._what = what
        self._rows: list[Any] = []

    def add_element(self, element: Any) -> None:
        """See `BulkWriter.add_element`."""
        is_row = isinstance(element, Row) and len(element) == len(self._names)
        self._rows.append(row_fields(element, self._names) if is_row else element)
        if len(self._rows) >= self._rows_at_once:
            self._flush()

    def finish(self) -> None:
        """See `BulkWriter.finish`."""
        if self._rows:
            self._flush()
        self._close()

    def abandon(self) -> None:
        """See `BulkWriter.abandon`."""
        self._close()

    def _flush(self) -> None:
        rows, self._rows = self._rows, []
        self._write(results_to_table(rows, self._schema, self._what))


def schema_of(row_type: RowTypeInfo | pa.Schema) -> pa.Schema:
    """Return the columns that a user has given.

    Raises:
        InvalidArgumentError: If they are none.
        UnsupportedTypeError: If a type has no column.
    """
    import pyarrow as pa

    schema = to_arrow_schema(row_type) if isinstance(row_type, RowTypeInfo) else row_type
    if not isinstance(schema, pa.Schema):
        raise InvalidArgumentError(
            f"{row_type!r} is no row type.",
            hint="Give Types.ROW_NAMED(...) or a PyArrow schema.",
        )
    return schema


def options_of(settings: Configuration | None, options: Options, prefix: str) -> dict[str, Any]:
    """Return the arguments of pyarrow's writer that settings of Java's stand for.

    A key of the format that has no effect is said in the log.

    Args:
        settings: The settings. Keys that do not begin with the prefix are others' business.
        options: What is known.
        prefix: What the keys of the format begin with.

    Raises:
        InvalidArgumentError: If a value is none for its key.
    """
    found = {}
    for key, value in ({} if settings is None else settings.to_dict()).items():
        if not key.startswith(prefix):
            continue
        if key not in options:
            _LOG.warning("%r has no effect on files here. Known are: %s.", key, ", ".join(options))
            continue
        name, convert = options[key]
        try:
            found[name] = convert(value)
        except (KeyError, ValueError):
            raise InvalidArgumentError(
                f"{value!r} is no value for {key!r}.", hint="Give one that Flink's writer takes."
            ) from None
    return found


def boolean(text: str) -> bool:
    """Return what a text says.

    Raises:
        KeyError: If it says neither true nor false.
    """
    return {"true": True, "false": False}[text.lower()]
