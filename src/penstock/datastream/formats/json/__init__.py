"""JSON: messages that are objects, from rows and to rows."""

from __future__ import annotations

from penstock.datastream.formats.json.json_rows import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]
