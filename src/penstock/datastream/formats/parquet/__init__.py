"""Parquet files."""

from __future__ import annotations

from penstock.datastream.formats.parquet.avro_parquet_writers import AvroParquetWriters
from penstock.datastream.formats.parquet.parquet_bulk_writers import ParquetBulkWriters

__all__ = ["AvroParquetWriters", "ParquetBulkWriters"]
