"""ORC files of rows, for sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO, Final

from penstock.common.configuration import Configuration
from penstock.common.serialization.bulk_writer import BulkWriter, RowDataBulkWriterFactory
from penstock.datastream.formats.column_writer import ColumnWriter, Options, options_of, schema_of

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.common.typeinfo.composite_typeinfo import RowTypeInfo

__all__ = ["OrcBulkWriters"]

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
