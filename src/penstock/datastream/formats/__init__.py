"""Formats of messages and of files."""

from __future__ import annotations

from penstock.datastream.formats.dead_letters import DeadLetter, DeserializeFunction
from penstock.datastream.formats.parquet import ParquetBulkWriters

__all__ = ["DeadLetter", "DeserializeFunction", "ParquetBulkWriters"]
