"""Parquet files for `FileSink`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from penstock.common.serialization import BulkWriter, BulkWriterFactory
from penstock.common.typeinfo.arrow_types import to_arrow_schema
from penstock.common.typeinfo.composite_typeinfo import RowTypeInfo
from penstock.errors import InvalidArgumentError
from penstock.runtime.exchange.arrow_rows import results_to_table

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ParquetBulkWriters"]


class ParquetBulkWriters:
    """Makes what writes Parquet files: see `FileSink.for_bulk_format`."""

    @staticmethod
    def for_row_type(
        row_type: RowTypeInfo | pa.Schema,
        *,
        compression: str = "snappy",
        row_group_size: int = 1 << 17,
    ) -> BulkWriterFactory:
        """Return what writes rows as Parquet.

        PyFlink's takes a row type of its Table API and two settings of Hadoop, which are not needed here.

        Args:
            row_type: The columns: `Types.ROW_NAMED(...)` or a PyArrow schema. Rows with names and dicts
                are taken by name, all others by position.
            compression: "snappy", "zstd", "gzip", "lz4", "brotli" or "none".
            row_group_size: How many rows are held in memory, for each file, and written together.

        Raises:
            InvalidArgumentError: If the row type is neither, or a row group would be empty.

        Example:
            >>> from pathlib import Path
            >>> from tempfile import mkdtemp
            >>> from penstock.common import Types
            >>> from penstock.datastream.connectors.file_system import FileSink
            >>> from penstock.testing import local_environment
            >>> rows = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
            >>> folder = mkdtemp()
            >>> sink = FileSink.for_bulk_format(folder, ParquetBulkWriters.for_row_type(rows)).build()
            >>> env = local_environment()
            >>> end = env.from_collection([(1, "a"), (2, "b")]).sink_to(sink)
            >>> result = env.execute()
            >>> import pyarrow.parquet as pq
            >>> pq.read_table(next(Path(folder).rglob("part-*"))).to_pylist()
            [{'id': 1, 'name': 'a'}, {'id': 2, 'name': 'b'}]
        """
        import pyarrow as pa

        schema = to_arrow_schema(row_type) if isinstance(row_type, RowTypeInfo) else row_type
        if not isinstance(schema, pa.Schema):
            raise InvalidArgumentError(
                f"{row_type!r} is no row type.",
                hint="Give Types.ROW_NAMED(...) or a PyArrow schema.",
            )
        if row_group_size < 1:
            raise InvalidArgumentError(
                f"{row_group_size!r} rows are no row group.", hint="Give a number from 1 on."
            )
        return _ParquetFactory(schema, compression, row_group_size)


class _ParquetFactory(BulkWriterFactory):
    def __init__(self, schema: pa.Schema, compression: str, row_group_size: int) -> None:
        self._schema = schema
        self._compression = compression
        self._row_group_size = row_group_size

    def create(self, file: BinaryIO) -> BulkWriter:
        import pyarrow.parquet as pq

        writer = pq.ParquetWriter(file, self._schema, compression=self._compression)
        return _ParquetBulkWriter(writer, self._schema, self._row_group_size)


class _ParquetBulkWriter(BulkWriter):
    def __init__(self, writer: Any, schema: pa.Schema, row_group_size: int) -> None:
        self._writer = writer
        self._schema = schema
        self._row_group_size = row_group_size
        self._rows: list[Any] = []

    def add_element(self, element: Any) -> None:
        self._rows.append(element)
        if len(self._rows) >= self._row_group_size:
            self._write()

    def finish(self) -> None:
        if self._rows:
            self._write()
        self._writer.close()

    def abandon(self) -> None:
        self._writer.close()

    def _write(self) -> None:
        self._writer.write_table(
            results_to_table(self._rows, self._schema, "The writer of a Parquet file")
        )
        self._rows = []
