"""Messages with the id that a schema registry, Confluent's or Apicurio's, has given their schema."""

from __future__ import annotations

from penstock.datastream.formats.registry.registry_avro import (
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
)
from penstock.datastream.formats.registry.registry_json import (
    ConfluentRegistryJsonDeserializationSchema,
    ConfluentRegistryJsonSerializationSchema,
)
from penstock.datastream.formats.registry.registry_protobuf import (
    ConfluentRegistryProtobufDeserializationSchema,
    ConfluentRegistryProtobufSerializationSchema,
)

__all__ = [
    "ConfluentRegistryAvroDeserializationSchema",
    "ConfluentRegistryAvroSerializationSchema",
    "ConfluentRegistryJsonDeserializationSchema",
    "ConfluentRegistryJsonSerializationSchema",
    "ConfluentRegistryProtobufDeserializationSchema",
    "ConfluentRegistryProtobufSerializationSchema",
]
