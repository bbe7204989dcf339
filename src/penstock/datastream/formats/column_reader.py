"""Files of columns, for sources: what is wanted of them becomes rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from penstock.common.typeinfo.arrow_types import from_arrow_schema
from penstock.common.typeinfo.composite_typeinfo import RowTypeInfo
from penstock.common.types import row_of
from penstock.datastream.formats.column_writer import schema_of
from penstock.errors import InvalidArgumentError, SourceNotReadableError
from penstock.runtime.exchange.elements import Block
from penstock.runtime.planned.reader_format import BulkFormat

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa


class Columns(NamedTuple):
    """What a file has.

    Attributes:
        names: What its columns are called.
        batches: Reads some of them.
    """

    names: list[str]
    batches: Callable[[list[str]], Iterator[pa.RecordBatch]]


class ColumnReader(BulkFormat):
    """Reads rows of files that hold columns.

    Args:
        row_type: The columns to read, by their names.
        batch_size: How many rows are read at once.
        is_utc_timestamp: Whether points in time become timestamps of UTC.
        is_case_sensitive: Whether names differ that differ in upper and lower case only.

    Attributes:
        kind: What such a file is called.

    Raises:
        InvalidArgumentError: If the row type is neither, or a batch would be empty.
        UnsupportedTypeError: If a type has no column.
    """

    kind: str

    def __init__(
        self,
        row_type: RowTypeInfo | pa.Schema,
        *,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        if batch_size < 1:
            raise InvalidArgumentError(
                f"{batch_size!r} rows are no batch.", hint="Give a number from 1 on."
            )
        self._schema = schema_of(row_type)
        self._batch_size = batch_size
        self._is_utc = is_utc_timestamp
        self._is_case_sensitive = is_case_sensitive
        is_row_type = isinstance(row_type, RowTypeInfo)
        self.produced_type = row_type if is_row_type else from_arrow_schema(self._schema)

    def read(self, file: IO[bytes], path: str) -> Iterator[Block]:
        """See `ReaderFormat.read`."""
        import pyarrow as pa

        names = tuple(self._schema.names)
        try:
            found = self._columns(file)
            places = self._places(found.names)
            wanted = [name for name in places if name is not None]
            for batch in found.batches(wanted):
                columns = [
                    self._values(None if name is None else batch.column(name), field, len(batch))
                    for name, field in zip(places, self._schema, strict=True)
                ]
                yield Block([row_of(names, values) for values in zip(*columns, strict=True)])
        except (pa.ArrowException, OSError) as error:
            raise SourceNotReadableError(
                f"The file {path!r} cannot be read as {self.kind} with the columns {list(names)}: {error}.",
                hint=f"Give {type(self).__name__} types that the file's columns can be read as.",
            ) from error

    @abstractmethod
    def _columns(self, file: IO[bytes]) -> Columns:
        """Return what is in a file.

        Raises:
            ArrowException: If it is no such file.
        """

    def _places(self, found: list[str]) -> list[str | None]:
        """Return what each column is called in a file that has these; None if it has it not."""
        known: dict[str, str] = {}
        if not self._is_case_sensitive:
            known = {name.lower(): name for name in reversed(found)}
        return [name if name in found else known.get(name.lower()) for name in self._schema.names]

    def _values(self, column: pa.Array | None, field: pa.Field, count: int) -> list[Any]:
        import pyarrow as pa

        from penstock.runtime.exchange.arrow_columns import column_values

        if column is None:
            return [None] * count
        kind = column.type
        if pa.types.is_timestamp(kind) and kind.tz is not None and field.type.tz is None:
            if self._is_utc:
                return column_values(column.cast(pa.timestamp(kind.unit, "UTC")))
            moments = column.cast(pa.timestamp("us", "UTC")).to_pylist()
            return [
                None if moment is None else moment.astimezone().replace(tzinfo=None)
                for moment in moments
            ]
        return column_values(column if kind == field.type else column.cast(field.type))
