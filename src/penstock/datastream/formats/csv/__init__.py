"""CSV: what its columns are, and how its lines look."""

from __future__ import annotations

from penstock.datastream.formats.csv.csv_schema import CsvSchema, CsvSchemaBuilder

__all__ = ["CsvSchema", "CsvSchemaBuilder"]
