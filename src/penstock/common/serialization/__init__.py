"""How records become bytes, and bytes records: message by message, or in files."""

from __future__ import annotations

from penstock.common.serialization.bulk_writer import (
    BulkWriter,
    BulkWriterFactory,
    RowDataBulkWriterFactory,
)
from penstock.common.serialization.encoder import Encoder
from penstock.common.serialization.schema import (
    ByteArraySchema,
    DeserializationSchema,
    HeadersDeserializationSchema,
    RowFieldExtractorSchema,
    SerializationSchema,
    SimpleStringSchema,
)

__all__ = [
    "BulkWriter",
    "BulkWriterFactory",
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "HeadersDeserializationSchema",
    "RowDataBulkWriterFactory",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
]
