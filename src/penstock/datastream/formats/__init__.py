"""Formats of files for `FileSink`."""

from __future__ import annotations

from penstock.datastream.formats.parquet import ParquetBulkWriters

__all__ = ["ParquetBulkWriters"]
