"""CSV: messages that are lines, and files."""

from __future__ import annotations

from penstock.datastream.formats.csv.csv_bulk_writers import CsvBulkWriters
from penstock.datastream.formats.csv.csv_reader_format import CsvReaderFormat
from penstock.datastream.formats.csv.csv_rows import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
)
from penstock.datastream.formats.csv.csv_schema import CsvSchema, CsvSchemaBuilder

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]
