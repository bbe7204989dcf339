"""Avro: what its records are made of."""

from __future__ import annotations

from penstock.datastream.formats.avro.avro_schema import AvroSchema, GenericRecordAvroTypeInfo

__all__ = ["AvroSchema", "GenericRecordAvroTypeInfo"]
