"""Parquet files."""

from __future__ import annotations

from penstock.datastream.formats.parquet.avro_parquet_readers import AvroParquetReaders
from penstock.datastream.formats.parquet.avro_parquet_writers import AvroParquetWriters
from penstock.datastream.formats.parquet.parquet_bulk_writers import ParquetBulkWriters
from penstock.datastream.formats.parquet.parquet_reader_format import ParquetColumnarRowInputFormat

__all__ = [
    "AvroParquetReaders",
    "AvroParquetWriters",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
]
