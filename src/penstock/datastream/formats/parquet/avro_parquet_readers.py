"""Parquet files of Avro's records, for sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, Any, Final

from penstock.datastream.formats.avro.avro_arrow import arrow_schema
from penstock.datastream.formats.avro.avro_schema import AvroSchema, GenericRecordAvroTypeInfo
from penstock.datastream.formats.avro.avro_values import AvroValues, unshared
from penstock.errors import InvalidArgumentError, SourceNotReadableError
from penstock.runtime.exchange.elements import Block
from penstock.runtime.planned.reader_format import StreamFormat

__all__ = ["AvroParquetReaders"]

_ROWS: Final = 1024


class AvroParquetReaders:
    """Reads records of Parquet files as Avro's: see `FileSource.for_record_stream_format`."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> StreamFormat:
        """Return the format of Parquet files that hold records of a schema.

        Records are dicts. A field that a file has not is what the schema says it is by default; one that is always
        null needs no default, as files that Flink writes have no column for it.

        Args:
            schema: The schema of the records.

        Raises:
            InvalidArgumentError: If it is no schema.
            UnsupportedTypeError: If it is not one of records, or has unions of several types, or records that
                contain themselves.

        Example:
            >>> import pyarrow as pa, pyarrow.parquet as pq
            >>> from tempfile import TemporaryDirectory
            >>> from penstock.common import WatermarkStrategy
            >>> from penstock.datastream.connectors.file_system import FileSource
            >>> from penstock.testing import local_environment
            >>> schema = AvroSchema.parse_string(
            ...     '{"type": "record", "name": "Event", "fields": [{"name": "id", "type": "long"}]}'
            ... )
            >>> with TemporaryDirectory() as folder:
            ...     pq.write_table(pa.table({"id": [1, 2]}), f"{folder}/one.parquet")
            ...     source = FileSource.for_record_stream_format(
            ...         AvroParquetReaders.for_generic_record(schema), folder
            ...     ).build()
            ...     records = local_environment().from_source(
            ...         source, WatermarkStrategy.no_watermarks(), "records"
            ...     )
            ...     list(records.execute_and_collect())
            [{'id': 1}, {'id': 2}]
        """
        if not isinstance(schema, AvroSchema):
            raise InvalidArgumentError(
                f"{schema!r} is no Avro schema.", hint="Give AvroSchema.parse_string(...)."
            )
        arrow_schema(schema)
        return _AvroParquetFormat(schema)


class _AvroParquetFormat(StreamFormat):
    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema
        self.produced_type = GenericRecordAvroTypeInfo(schema)

    def read(self, file: IO[bytes], path: str) -> Iterator[Block]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = arrow_schema(self._schema)
        try:
            parquet = pq.ParquetFile(file)
            found = set(parquet.schema_arrow.names)
            known = pa.schema([field for field in columns if field.name in found])
            missing = self._defaults(name for name in columns.names if name not in found)
            for batch in parquet.iter_batches(_ROWS, columns=known.names):
                table = pa.Table.from_batches([batch]).select(known.names).cast(known)
                records = table.to_pylist(maps_as_pydicts="strict")
                yield Block([{**unshared(missing), **record} for record in records])
        except (pa.ArrowException, OSError, KeyError) as error:
            raise SourceNotReadableError(
                f"The file {path!r} holds no records of the Avro schema {self._schema}: {error}.",
                hint="Give the schema with which it was written, or one whose other fields have defaults.",
            ) from error

    def _defaults(self, names: Iterable[str]) -> dict[str, Any]:
        values = AvroValues(self._schema.parsed())
        fields = {field["name"]: field for field in self._schema.parsed()["fields"]}
        return {
            name: None if fields[name]["type"] == "null" else values.default_of(fields[name])
            for name in names
        }
