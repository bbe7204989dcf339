"""Avro files for sinks."""

from __future__ import annotations

from typing import Any, BinaryIO

from penstock.common.serialization.bulk_writer import BulkWriter, BulkWriterFactory
from penstock.datastream.formats.avro.avro_schema import AvroSchema, fastavro
from penstock.datastream.formats.avro.avro_values import datum_writer
from penstock.errors import InvalidArgumentError

__all__ = ["AvroBulkWriters"]


class AvroBulkWriters:
    """Makes what writes Avro files: see `FileSink.for_bulk_format`."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Return what writes records as an Avro file, which has the schema in it.

        Records are dicts, rows, tuples or lists; the stream before needs no type. A timestamp without zone is one
        of UTC. Files are not compressed, as Flink's are not.

        Args:
            schema: The schema of the records.

        Raises:
            InvalidArgumentError: If it is no schema.

        Example:
            >>> from pathlib import Path
            >>> from tempfile import mkdtemp
            >>> from penstock.datastream.connectors.file_system import FileSink
            >>> from penstock.testing import local_environment
            >>> schema = AvroSchema.parse_string(
            ...     '{"type": "record", "name": "Event", "fields": [{"name": "id", "type": "long"}]}'
            ... )
            >>> folder = mkdtemp()
            >>> sink = FileSink.for_bulk_format(folder, AvroBulkWriters.for_generic_record(schema)).build()
            >>> env = local_environment()
            >>> end = env.from_collection([{"id": 1}, {"id": 2}]).sink_to(sink)
            >>> result = env.execute()
            >>> import fastavro
            >>> with next(Path(folder).rglob("part-*")).open("rb") as file:
            ...     list(fastavro.reader(file))
            [{'id': 1}, {'id': 2}]
        """
        if not isinstance(schema, AvroSchema):
            raise InvalidArgumentError(
                f"{schema!r} is no Avro schema.", hint="Give AvroSchema.parse_string(...)."
            )
        return _AvroFactory(schema)


class _AvroFactory(BulkWriterFactory):
    is_whole = True

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema

    def create(self, file: BinaryIO) -> BulkWriter:
        return _AvroBulkWriter(file, self._schema)


class _AvroBulkWriter(BulkWriter):
    def __init__(self, file: BinaryIO, schema: AvroSchema) -> None:
        self._datum_of = datum_writer(schema)
        self._writer = fastavro().write.Writer(file, schema.parsed())

    def add_element(self, element: Any) -> None:
        self._writer.write(self._datum_of(element))

    def finish(self) -> None:
        self._writer.flush()
