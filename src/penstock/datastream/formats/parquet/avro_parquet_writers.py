"""Parquet files of Avro's records, for sinks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from penstock.common.serialization.bulk_writer import BulkWriter, BulkWriterFactory
from penstock.datastream.formats.avro.avro_arrow import arrow_schema
from penstock.datastream.formats.avro.avro_schema import AvroSchema
from penstock.datastream.formats.avro.avro_values import datum_writer
from penstock.datastream.formats.column_writer import ColumnWriter
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["AvroParquetWriters"]

_ROW_GROUP: Final = 1 << 17


class AvroParquetWriters:
    """Makes what writes records of Avro as Parquet files: see `FileSink.for_bulk_format`."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Return what writes records as Parquet, which has the schema in it.

        Records are dicts, rows, tuples or lists; the stream before needs no type. A timestamp without zone is one
        of UTC. Files are compressed by Snappy.

        Args:
            schema: The schema of the records.

        Raises:
            InvalidArgumentError: If it is no schema.
            UnsupportedTypeError: If it is not one of records, or has unions of several types, or records that
                contain themselves.

        Example:
            >>> from pathlib import Path
            >>> from tempfile import mkdtemp
            >>> from penstock.datastream.connectors.file_system import FileSink
            >>> from penstock.testing import local_environment
            >>> schema = AvroSchema.parse_string(
            ...     '{"type": "record", "name": "Event", "fields": [{"name": "id", "type": "long"}]}'
            ... )
            >>> folder = mkdtemp()
            >>> writers = AvroParquetWriters.for_generic_record(schema)
            >>> env = local_environment()
            >>> stream = env.from_collection([{"id": 1}, {"id": 2}])
            >>> end = stream.sink_to(FileSink.for_bulk_format(folder, writers).build())
            >>> result = env.execute()
            >>> import pyarrow.parquet as pq
            >>> pq.read_table(next(Path(folder).rglob("part-*"))).to_pylist()
            [{'id': 1}, {'id': 2}]
        """
        if not isinstance(schema, AvroSchema):
            raise InvalidArgumentError(
                f"{schema!r} is no Avro schema.", hint="Give AvroSchema.parse_string(...)."
            )
        return _AvroParquetFactory(schema, arrow_schema(schema))


class _AvroParquetFactory(BulkWriterFactory):
    is_whole = True

    def __init__(self, schema: AvroSchema, columns: pa.Schema) -> None:
        self._schema = schema
        self._columns = columns

    def create(self, file: BinaryIO) -> BulkWriter:
        import pyarrow.parquet as pq

        writer = pq.ParquetWriter(file, self._columns, compression="snappy")
        return _AvroParquetWriter(writer.write_table, writer.close, self._columns, self._schema)


class _AvroParquetWriter(ColumnWriter):
    def __init__(
        self,
        write: Callable[[pa.Table], None],
        close: Callable[[], None],
        columns: pa.Schema,
        schema: AvroSchema,
    ) -> None:
        super().__init__(write, close, columns, _ROW_GROUP, "The writer of a Parquet file")
        self._datum_of = datum_writer(schema)

    def add_element(self, element: Any) -> None:
        super().add_element(self._datum_of(element))
