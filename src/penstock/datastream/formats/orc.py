"""ORC files of rows, for sinks and sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final

from penstock.common.configuration import Configuration
from penstock.common.serialization.bulk_writer import BulkWriter, RowDataBulkWriterFactory
from penstock.datastream.formats.column_reader import ColumnReader, Columns
from penstock.datastream.formats.column_writer import ColumnWriter, Options, options_of, schema_of

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.common.typeinfo.composite_typeinfo import RowTypeInfo

__all__ = ["OrcBulkWriters", "OrcColumnarRowInputFormat"]

_CODECS: Final = {
    "NONE": "uncompressed",
    "ZLIB": "zlib",
    "SNAPPY": "snappy",
    "LZ4": "lz4",
    "ZSTD": "zstd",
}
_OPTIONS: Final[Options] = {
    "orc.compress": ("compression", lambda text: _CODECS[text.upper()]),
    "orc.compress.size": ("compression_block_size", int),
    "orc.stripe.size": ("stripe_size", int),
    "orc.row.index.stride": ("row_index_stride", int),
    "orc.block.padding.tolerance": ("padding_tolerance", float),
    "orc.dictionary.key.threshold": ("dictionary_key_size_threshold", float),
    "orc.bloom.filter.fpp": ("bloom_filter_fpp", float),
}
_ROWS_AT_ONCE: Final = 1 << 14


class OrcBulkWriters:
    """Makes what writes ORC files: see `FileSink.for_bulk_format`."""

    @staticmethod
    def for_row_type(
        row_type: RowTypeInfo | pa.Schema,
        writer_properties: Configuration | None = None,
        hadoop_config: Configuration | None = None,
    ) -> RowDataBulkWriterFactory:
        """Return what writes rows as ORC.

        PyFlink's takes a row type of its Table API.

        Args:
            row_type: The columns: `Types.ROW_NAMED(...)` or a PyArrow schema. Rows with names and dicts
                are taken by name, all others by position.
            writer_properties: Settings of ORC's: `orc.compress` (NONE, ZLIB, SNAPPY, LZ4 or ZSTD; default:
                ZLIB), `orc.compress.size`, `orc.stripe.size`, `orc.row.index.stride`,
                `orc.block.padding.tolerance`, `orc.dictionary.key.threshold` and `orc.bloom.filter.fpp`.
            hadoop_config: Settings of Hadoop's, of which those about ORC have an effect, too.

        Raises:
            InvalidArgumentError: If the row type is neither, or a setting is none.

        Example:
            >>> from pathlib import Path
            >>> from tempfile import mkdtemp
            >>> from penstock.common import Types
            >>> from penstock.datastream.connectors.file_system import FileSink
            >>> from penstock.testing import local_environment
            >>> rows = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
            >>> folder = mkdtemp()
            >>> sink = FileSink.for_bulk_format(folder, OrcBulkWriters.for_row_type(rows)).build()
            >>> env = local_environment()
            >>> end = env.from_collection([(1, "a"), (2, "b")]).sink_to(sink)
            >>> result = env.execute()
            >>> from pyarrow import orc
            >>> orc.read_table(next(Path(folder).rglob("part-*"))).to_pylist()
            [{'id': 1, 'name': 'a'}, {'id': 2, 'name': 'b'}]
        """
        options = {
            "compression": "zlib",
            **options_of(hadoop_config, _OPTIONS, "orc."),
            **options_of(writer_properties, _OPTIONS, "orc."),
        }
        return _OrcFactory(row_type, schema_of(row_type), options)


class _OrcFactory(RowDataBulkWriterFactory):
    is_whole = True

    def __init__(
        self, row_type: RowTypeInfo | pa.Schema, schema: pa.Schema, options: dict[str, Any]
    ) -> None:
        super().__init__(row_type)
        self._schema = schema
        self._options = options

    def create(self, file: BinaryIO) -> BulkWriter:
        from pyarrow import orc

        writer = orc.ORCWriter(file, **self._options)
        return ColumnWriter(
            writer.write, writer.close, self._schema, _ROWS_AT_ONCE, "The writer of an ORC file"
        )


class OrcColumnarRowInputFormat(ColumnReader):
    """Reads rows of ORC files: see `FileSource.for_bulk_file_format`.

    Flink has it in Java, and PyFlink has not; it takes what `ParquetColumnarRowInputFormat` takes.

    Args:
        row_type: The columns to read, by their names: `Types.ROW_NAMED(...)` or a PyArrow schema. Others are not
            read. One that a file has not is None in its rows.
        batch_size: How many rows are made at once; a stripe of the file is in memory.
        is_utc_timestamp: Whether points in time become timestamps of UTC. Default: of the zone of the machine that reads.
            What is written without zone is read as the clock read.
        is_case_sensitive: Whether names differ that differ in upper and lower case only.

    Raises:
        InvalidArgumentError: If the row type is neither, or a batch would be empty.
        UnsupportedTypeError: If a type has no column.

    Example:
        >>> import pyarrow as pa
        >>> from pyarrow import orc
        >>> from tempfile import TemporaryDirectory
        >>> from penstock.common import Types, WatermarkStrategy
        >>> from penstock.datastream.connectors.file_system import FileSource
        >>> from penstock.testing import local_environment
        >>> rows = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
        >>> with TemporaryDirectory() as folder:
        ...     orc.write_table(pa.table({"id": [1, 2], "name": ["a", None]}), f"{folder}/one.orc")
        ...     source = FileSource.for_bulk_file_format(
        ...         OrcColumnarRowInputFormat(rows), folder
        ...     ).build()
        ...     stream = local_environment().from_source(
        ...         source, WatermarkStrategy.no_watermarks(), "rows"
        ...     )
        ...     list(stream.execute_and_collect())
        [Row(id=1, name='a'), Row(id=2, name=None)]
    """

    kind = "ORC"

    def _columns(self, file: IO[bytes]) -> Columns:
        from pyarrow import orc

        found = orc.ORCFile(file)

        def batches(wanted: list[str]) -> Iterator[pa.RecordBatch]:
            for number in range(found.nstripes):
                stripe = found.read_stripe(number, columns=wanted or found.schema.names[:1])
                for start in range(0, len(stripe), self._batch_size):
                    yield stripe.slice(start, self._batch_size)

        return Columns(found.schema.names, batches)
