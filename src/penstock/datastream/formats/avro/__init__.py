"""Avro: messages that are records, and files."""

from __future__ import annotations

from penstock.datastream.formats.avro.avro_bulk_writers import AvroBulkWriters
from penstock.datastream.formats.avro.avro_input_format import AvroInputFormat
from penstock.datastream.formats.avro.avro_rows import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
)
from penstock.datastream.formats.avro.avro_schema import AvroSchema, GenericRecordAvroTypeInfo

__all__ = [
    "AvroBulkWriters",
    "AvroInputFormat",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "GenericRecordAvroTypeInfo",
]
