"""Avro files for sources."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any, Final

from penstock.common.io import InputFormat
from penstock.datastream.formats.avro.avro_schema import (
    NO_RECORD,
    AvroSchema,
    GenericRecordAvroTypeInfo,
    fastavro,
)
from penstock.datastream.formats.avro.avro_values import (
    AvroValues,
    has_changeable_defaults,
    unshared,
)
from penstock.errors import InvalidArgumentError, SourceNotReadableError
from penstock.runtime.exchange.elements import Block
from penstock.runtime.planned.files import FilesSource
from penstock.runtime.planned.reader_format import ReaderFormat

__all__ = ["AvroInputFormat"]

_RECORDS: Final = 1024


class AvroInputFormat(InputFormat):
    """Reads records of Avro files: see `StreamExecutionEnvironment.create_input`.

    Records are dicts, as fastavro gives them.

    Args:
        path: The file, or a folder whose files are read, nested ones too.
        schema: The schema of the records. The files may have been written with another that fits it.

    Raises:
        InvalidArgumentError: If one of them is none.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> import fastavro
        >>> from penstock.testing import local_environment
        >>> schema = AvroSchema.parse_string(
        ...     '{"type": "record", "name": "Event", "fields": [{"name": "id", "type": "long"}]}'
        ... )
        >>> with TemporaryDirectory() as folder:
        ...     with open(f"{folder}/one.avro", "wb") as file:
        ...         fastavro.writer(file, schema.parsed(), [{"id": 1}, {"id": 2}])
        ...     records = local_environment().create_input(AvroInputFormat(folder, schema))
        ...     list(records.execute_and_collect())
        [{'id': 1}, {'id': 2}]
    """

    def __init__(self, path: str | os.PathLike[str], schema: AvroSchema) -> None:
        if not isinstance(schema, AvroSchema) or not isinstance(path, str | os.PathLike):
            raise InvalidArgumentError(
                f"AvroInputFormat was given {path!r} and {schema!r}.",
                hint="Give a path, and AvroSchema.parse_string(...).",
            )
        self._path = os.fspath(path)
        self._schema = schema

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        """Return the type of the records."""
        return GenericRecordAvroTypeInfo(self._schema)

    def description(self) -> FilesSource:
        """See `InputFormat.description`."""
        return FilesSource(_AvroRecords(self._schema), [self._path])


class _AvroRecords(ReaderFormat):
    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema

    def read(self, file: IO[bytes], path: str) -> Iterator[Block]:
        try:
            reader = AvroValues(self._schema.parsed()).with_defaults()
            records: Iterator[Any] = iter(fastavro().reader(file, reader))
            if has_changeable_defaults(self._schema.definition()):
                records = map(unshared, records)
            while block := list(islice(records, _RECORDS)):
                yield Block(block)
        except (*NO_RECORD, OSError, fastavro().read.SchemaResolutionError) as error:
            raise SourceNotReadableError(
                f"The file {path!r} holds no records of the Avro schema {self._schema}: "
                f"{str(error) or type(error).__name__}.",
                hint="Give AvroInputFormat the schema with which it was written, or one that fits it.",
            ) from error
