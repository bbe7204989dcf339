"""Protobuf: messages of the classes that protoc generates."""

from __future__ import annotations

from penstock.datastream.formats.protobuf.protobuf_messages import (
    ProtobufDeserializationSchema,
    ProtobufSerializationSchema,
)

__all__ = ["ProtobufDeserializationSchema", "ProtobufSerializationSchema"]
