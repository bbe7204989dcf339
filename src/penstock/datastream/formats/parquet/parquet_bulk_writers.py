"""Parquet files of rows, for sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO, Final

from penstock.common.configuration import Configuration
from penstock.common.serialization.bulk_writer import BulkWriter, RowDataBulkWriterFactory
from penstock.datastream.formats.column_writer import (
    ColumnWriter,
    Options,
    boolean,
    options_of,
    schema_of,
)
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.common.typeinfo.composite_typeinfo import RowTypeInfo

__all__ = ["ParquetBulkWriters"]

_CODECS: Final = {
    "UNCOMPRESSED": "none",
    "SNAPPY": "snappy",
    "GZIP": "gzip",
    "BROTLI": "brotli",
    "LZ4": "lz4",
    "LZ4_RAW": "lz4",
    "ZSTD": "zstd",
}
_VERSIONS: Final = {"PARQUET_1_0": "1.0", "V1": "1.0", "PARQUET_2_0": "2.0", "V2": "2.0"}
_OPTIONS: Final[Options] = {
    "parquet.compression": ("compression", lambda text: _CODECS[text.upper()]),
    "parquet.compression.codec.zstd.level": ("compression_level", int),
    "parquet.enable.dictionary": ("use_dictionary", boolean),
    "parquet.page.size": ("data_page_size", int),
    "parquet.dictionary.page.size": ("dictionary_pagesize_limit", int),
    "parquet.writer.version": ("data_page_version", lambda text: _VERSIONS[text.upper()]),
}


class ParquetBulkWriters:
    """Makes what writes Parquet files: see `FileSink.for_bulk_format`."""

    @staticmethod
    def for_row_type(
        row_type: RowTypeInfo | pa.Schema,
        hadoop_config: Configuration | None = None,
        utc_timestamp: bool = False,
        *,
        compression: str = "snappy",
        row_group_size: int = 1 << 17,
    ) -> RowDataBulkWriterFactory:
        """Return what writes rows as Parquet.

        PyFlink's takes a row type of its Table API.

        Args:
            row_type: The columns: `Types.ROW_NAMED(...)` or a PyArrow schema. Rows with names and dicts
                are taken by name, all others by position.
            hadoop_config: Settings of Hadoop's. Those have an effect that are about Parquet and say how it is
                compressed and cut into pages, in place of `compression`: `parquet.compression`, `parquet.compression.codec.zstd.level`,
                `parquet.enable.dictionary`, `parquet.page.size`, `parquet.dictionary.page.size` and
                `parquet.writer.version`.
            utc_timestamp: Whether timestamps without zone are those of UTC, and written as points in time.
                Default: they are written without zone, as the clock reads; Flink takes them for those of the
                zone of the machine that writes.
            compression: "snappy", "zstd", "gzip", "lz4", "brotli" or "none".
            row_group_size: How many rows are held in memory, for each file, and written together.

        Raises:
            InvalidArgumentError: If the row type is neither, or a row group would be empty, or a setting is none.

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
        schema = schema_of(row_type)
        if row_group_size < 1:
            raise InvalidArgumentError(
                f"{row_group_size!r} rows are no row group.", hint="Give a number from 1 on."
            )
        options = {"compression": compression, **options_of(hadoop_config, _OPTIONS, "parquet.")}
        return ParquetFactory(
            row_type, _in_utc(schema) if utc_timestamp else schema, options, row_group_size
        )


class ParquetFactory(RowDataBulkWriterFactory):
    """Makes writers of Parquet files.

    Args:
        row_type: The columns, as the user gave them.
        schema: The columns.
        options: What pyarrow's writer is told.
        row_group_size: How many rows are written together.
    """

    is_whole = True

    def __init__(
        self,
        row_type: RowTypeInfo | pa.Schema,
        schema: pa.Schema,
        options: dict[str, Any],
        row_group_size: int,
    ) -> None:
        super().__init__(row_type)
        self._schema = schema
        self._options = options
        self._row_group_size = row_group_size

    def create(self, file: BinaryIO) -> BulkWriter:
        """See `BulkWriterFactory.create`."""
        import pyarrow.parquet as pq

        writer = pq.ParquetWriter(file, self._schema, **self._options)
        return ColumnWriter(
            writer.write_table,
            writer.close,
            self._schema,
            self._row_group_size,
            "The writer of a Parquet file",
        )


def _in_utc(schema: pa.Schema) -> pa.Schema:
    """Return columns in which timestamps without zone are points in time."""
    import pyarrow as pa

    fields = [field.with_type(_type_in_utc(field.type)) for field in schema]
    return pa.schema(fields, schema.metadata)


def _type_in_utc(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_timestamp(kind) and kind.tz is None:
        return pa.timestamp(kind.unit, "UTC")
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_type_in_utc(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_type_in_utc(kind.key_type), _type_in_utc(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_type_in_utc(kind.value_type)))
    return kind
