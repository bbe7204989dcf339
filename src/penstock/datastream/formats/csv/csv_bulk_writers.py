"""CSV files for sinks."""

from __future__ import annotations

from typing import Any, BinaryIO

from penstock.common.serialization.bulk_writer import BulkWriter, RowDataBulkWriterFactory
from penstock.datastream.formats.csv.csv_lines import CsvLineWriter
from penstock.datastream.formats.csv.csv_schema import CsvSchema, form_of
from penstock.errors import InvalidArgumentError

__all__ = ["CsvBulkWriters"]


class CsvBulkWriters:
    """Makes what writes CSV files: see `FileSink.for_bulk_format`."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> RowDataBulkWriterFactory:
        r"""Return what writes rows as lines of CSV.

        Dicts are taken by name, rows by name if they have all the names, and all others by position. A file
        begins with the names of the columns if the schema uses a header.

        Args:
            schema: The columns, and how lines look.

        Raises:
            InvalidArgumentError: If it is no schema.

        Example:
            >>> from pathlib import Path
            >>> from tempfile import mkdtemp
            >>> from penstock.datastream.connectors.file_system import FileSink
            >>> from penstock.testing import local_environment
            >>> schema = CsvSchema.builder().add_number_column("id").add_array_column("tags").build()
            >>> folder = mkdtemp()
            >>> sink = FileSink.for_bulk_format(folder, CsvBulkWriters.for_schema(schema)).build()
            >>> env = local_environment()
            >>> end = env.from_collection([(1, ["a", "b"]), (2, None)]).sink_to(sink)
            >>> result = env.execute()
            >>> next(Path(folder).rglob("part-*")).read_text()
            '1,a;b\n2,\n'
        """
        if not isinstance(schema, CsvSchema):
            raise InvalidArgumentError(
                f"{schema!r} is no schema of CSV.", hint="Build one with CsvSchema.builder()."
            )
        return _CsvFactory(schema)


class _CsvFactory(RowDataBulkWriterFactory):
    def __init__(self, schema: CsvSchema) -> None:
        super().__init__(schema.type_info)
        self._schema = schema
        self.is_whole = schema.use_header

    def create(self, file: BinaryIO) -> BulkWriter:
        return _CsvBulkWriter(file, self._schema)


class _CsvBulkWriter(BulkWriter):
    def __init__(self, file: BinaryIO, schema: CsvSchema) -> None:
        self._write = file.write
        delimiters = [schema.separator_of(column) for column in schema.columns]
        self._lines = CsvLineWriter(schema.type_info, form_of(schema), delimiters)
        if schema.use_header:
            self._write(self._lines.header())

    def add_element(self, element: Any) -> None:
        self._write(self._lines.line(element))

    def finish(self) -> None:
        """Nothing: each line is complete."""
