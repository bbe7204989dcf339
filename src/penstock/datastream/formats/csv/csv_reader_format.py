"""CSV files for sources."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import islice
from typing import IO, Final

from penstock.common.types import Row
from penstock.datastream.formats.csv.csv_lines import CsvLineReader
from penstock.datastream.formats.csv.csv_schema import CsvSchema, form_of
from penstock.errors import InvalidArgumentError, SourceNotReadableError
from penstock.runtime.exchange.elements import Block
from penstock.runtime.planned.file_places import decompressed
from penstock.runtime.planned.reader_format import StreamFormat

__all__ = ["CsvReaderFormat"]

_ROWS: Final = 1024


class CsvReaderFormat(StreamFormat):
    r"""Reads rows of CSV files: see `FileSource.for_record_stream_format`.

    Files are in UTF-8, and may be compressed as those of any `StreamFormat`. Empty lines are passed over. The null value of
    the schema, which is nothing unless it is set, is read as None.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from penstock.common import WatermarkStrategy
        >>> from penstock.datastream.connectors.file_system import FileSource
        >>> from penstock.testing import local_environment
        >>> schema = CsvSchema.builder().add_number_column("id").add_array_column("tags").build()
        >>> with TemporaryDirectory() as folder:
        ...     written = Path(folder, "one.csv").write_text("1,a;b\n2,\n")
        ...     source = FileSource.for_record_stream_format(
        ...         CsvReaderFormat.for_schema(schema), folder
        ...     ).build()
        ...     rows = local_environment().from_source(
        ...         source, WatermarkStrategy.no_watermarks(), "rows"
        ...     )
        ...     list(rows.execute_and_collect())
        [Row(id=1, tags=['a', 'b']), Row(id=2, tags=None)]
    """

    def __init__(self, schema: CsvSchema) -> None:
        self._schema = schema
        self.produced_type = schema.type_info

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """Return the format of files with these columns.

        Args:
            schema: The columns, and how lines look.

        Raises:
            InvalidArgumentError: If it is no schema.
        """
        if not isinstance(schema, CsvSchema):
            raise InvalidArgumentError(
                f"{schema!r} is no schema of CSV.", hint="Build one with CsvSchema.builder()."
            )
        return CsvReaderFormat(schema)

    def read(self, file: IO[bytes], path: str) -> Iterator[Block]:
        """See `ReaderFormat.read`."""
        with io.TextIOWrapper(decompressed(file, path), "utf-8", newline="") as text:
            rows = self._rows(text, path)
            while block := list(islice(rows, _ROWS)):
                yield Block(block)

    def _rows(self, text: IO[str], path: str) -> Iterator[Row]:
        schema = self._schema
        form = form_of(schema)
        delimiters = [schema.separator_of(column) for column in schema.columns]
        lines = CsvLineReader(schema.type_info, form, delimiters)
        found = _Lines(text, allows_comments=schema.allow_comments)
        values = csv.reader(found, **form.dialect())
        skipped = 0
        try:
            for texts in found.each_row(values):
                if schema.use_header and not skipped:
                    skipped = 1
                    self._check_header(texts)
                elif schema.skip_first_data_row and skipped < 1 + schema.use_header:
                    skipped += 1
                else:
                    yield lines.row(self._known(texts))
        except (ValueError, csv.Error) as error:
            raise SourceNotReadableError(
                f"The file {path!r} is not what its CsvSchema says, at line {found.number}: {error}.",
                hint="Give CsvReaderFormat the schema of the file.",
            ) from error

    def _check_header(self, texts: list[str]) -> None:
        names = [column.name for column in self._schema.columns]
        if self._schema.strict_headers and texts != names:
            raise ValueError(f"the header has the names {texts}, not {names}")

    def _known(self, texts: list[str]) -> list[str]:
        """Return the values that are in columns."""
        has_rest = self._schema.any_property_name is not None
        return texts[: len(self._schema.columns)] if has_rest else texts


class _Lines:
    """The lines of a text, without comments between rows.

    Args:
        text: The text.
        allows_comments: Whether lines that begin with # are passed over.

    Attributes:
        number: How many lines were given.
    """

    def __init__(self, text: IO[str], *, allows_comments: bool) -> None:
        self._text = text
        self._allows_comments = allows_comments
        self._is_at_row = True
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._text:
            self.number += 1
            if self._allows_comments and self._is_at_row and line.startswith("#"):
                continue
            # A row goes on in the next line where that is in quotes.
            self._is_at_row = False
            yield line

    def each_row(self, values: Iterator[list[str]]) -> Iterator[list[str]]:
        """Yield the values of each row that has any."""
        for texts in values:
            self._is_at_row = True
            if texts:
                yield texts
