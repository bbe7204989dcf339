"""Messages that are JSON objects, with the id that a schema registry has given their JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from penstock.common.serialization.schema import (
    Headers,
    HeadersDeserializationSchema,
    SerializationSchema,
)
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.datastream.formats.json.json_rows import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from penstock.datastream.formats.registry.schema_ids import SchemaIds
from penstock.datastream.formats.registry.schema_registry import schema_registry
from penstock.errors import InvalidArgumentError

__all__ = [
    "ConfluentRegistryJsonDeserializationSchema",
    "ConfluentRegistryJsonSerializationSchema",
]


class ConfluentRegistryJsonSerializationSchema(SerializationSchema):
    """Writes rows as JSON objects behind the id that a schema registry has given their JSON Schema.

    The registry is asked once in a process. That the objects are of the JSON Schema is not looked at.

    Args:
        rows: Writes the objects.
        subject: Under what the schema is registered: `"orders-value"` for values of the topic `orders`.
        json_schema: The JSON Schema of the objects.
        url: The address of the registry, or several with commas between them, to be tried in turn.
        registry_configs: Settings of confluent-kafka's `SchemaRegistryClient`, such as `basic.auth.user.info`,
            `ssl.ca.location` and `max.retries`. Default: its defaults.
        register: Whether the schema is registered if it is not yet. Else it is only looked up.
        id_bytes: How many bytes the id has: 4, or 8 for Apicurio's serializers before version 3.

    Raises:
        InvalidArgumentError: If the schema is no JSON, the client lacks a setting, or an id cannot have so many
            bytes.
        SchemaRegistryClientNotFoundError: If the client of registries is not installed.
        TypeMismatchError: If a record is no such row.
        IncompatibleSchemaError: If the registry says that the schema does not go with those before it.
        UnknownSchemaError: If the schema is not registered, and is not to be.
        SchemaRegistryNotReachableError: If the registry is away for longer than it is asked again.
        SchemaRegistryRefusedError: If the registry refuses the request.

    Example:
        >>> from penstock.common import Types
        >>> ids = Types.ROW_NAMED(["id"], [Types.LONG()])
        >>> schema = ConfluentRegistryJsonSerializationSchema(
        ...     JsonRowSerializationSchema.builder().with_type_info(ids).build(),
        ...     "events-value",
        ...     '{"type": "object", "properties": {"id": {"type": "integer"}}}',
        ...     "http://localhost:8081",
        ... )
    """

    def __init__(
        self,
        rows: JsonRowSerializationSchema,
        subject: str,
        json_schema: str,
        url: str,
        registry_configs: Mapping[str, Any] | None = None,
        *,
        register: bool = True,
        id_bytes: int = 4,
    ) -> None:
        try:
            json.loads(json_schema)
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(
                f"{json_schema!r} is no JSON Schema: {error}",
                hint="Give a JSON Schema as a string.",
            ) from error
        self._rows = rows
        self._subject = subject
        self._json_schema = json_schema
        self._registry = schema_registry(url, registry_configs)
        self._register = register
        self._ids = SchemaIds(id_bytes)
        self._before: bytes | None = None

    def serialize(self, element: Any) -> bytes:
        """See `SerializationSchema.serialize`."""
        if self._before is None:
            schema_id = self._registry.id_of(
                self._subject, "JSON", self._json_schema, registers=self._register
            )
            self._before = self._ids.before(schema_id)
        return self._before + self._rows.serialize(element)


class ConfluentRegistryJsonDeserializationSchema(HeadersDeserializationSchema):
    r"""Reads rows of JSON objects that come behind the id of a schema registry, or with it in a header.

    The registry is not asked: JSON can be read without the schema with which it was written. The type of the rows
    says what becomes of older and newer objects, see `JsonRowDeserializationSchema`.

    Args:
        rows: Reads the objects.
        id_bytes: How many bytes the id before a message has: 4, or 8 for Apicurio's serializers before version 3.
        is_key: Whether messages are keys of Kafka's records: ids may be in headers, and those of keys have names of
            their own.

    Raises:
        InvalidArgumentError: If an id cannot have so many bytes.
        NoSchemaIdError: If neither a message nor a header of it begins with an id.
        MalformedMessageError: If what follows is no such object.

    Example:
        >>> from penstock.common import Types
        >>> ids = Types.ROW_NAMED(["id"], [Types.LONG()])
        >>> rows = JsonRowDeserializationSchema.builder().type_info(ids).build()
        >>> schema = ConfluentRegistryJsonDeserializationSchema(rows)
        >>> schema.deserialize(b'\0\0\0\0\7{"id": 5}')
        Row(id=5)
    """

    def __init__(
        self, rows: JsonRowDeserializationSchema, *, id_bytes: int = 4, is_key: bool = False
    ) -> None:
        self._rows = rows
        self._ids = SchemaIds(id_bytes, is_key=is_key)

    def deserialize_with_headers(self, message: bytes, headers: Headers) -> Any:
        """See `HeadersDeserializationSchema.deserialize_with_headers`."""
        return self._rows.deserialize(message[self._ids.start(message, headers) :])

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the rows."""
        return self._rows.get_produced_type()
