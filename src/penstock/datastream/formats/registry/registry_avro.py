"""Messages that are records of Avro, with the id that a schema registry has given their schema."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from penstock.common.plain_text import shown_bytes
from penstock.common.serialization.schema import (
    Headers,
    HeadersDeserializationSchema,
    SerializationSchema,
)
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.datastream.formats.avro.avro_meaning import as_meant
from penstock.datastream.formats.avro.avro_schema import (
    NO_RECORD,
    AvroSchema,
    GenericRecordAvroTypeInfo,
    fastavro,
)
from penstock.datastream.formats.avro.avro_values import (
    AvroValues,
    datum_writer,
    has_changeable_defaults,
    unshared,
)
from penstock.datastream.formats.registry.schema_ids import Place, SchemaId, SchemaIds
from penstock.datastream.formats.registry.schema_registry import (
    SchemaRegistry,
    WrittenSchema,
    schema_registry,
)
from penstock.errors import IncompatibleSchemaError, MalformedMessageError

__all__ = [
    "ConfluentRegistryAvroDeserializationSchema",
    "ConfluentRegistryAvroSerializationSchema",
]


class ConfluentRegistryAvroSerializationSchema(SerializationSchema):
    """Writes records of Avro behind the id that a schema registry has given their schema.

    The registry is asked once in a process. Dicts are taken by name, rows by name if they have all the names,
    and all others by position. Made by `for_generic`.

    Raises:
        TypeMismatchError: If a record is none of the schema.
        IncompatibleSchemaError: If the registry says that the schema does not go with those before it.
        UnknownSchemaError: If the schema is not registered, and is not to be.
        SchemaRegistryNotReachableError: If the registry is away for longer than it is asked again.
        SchemaRegistryRefusedError: If the registry refuses the request.

    Example:
        >>> text = '{"type": "record", "name": "Event", "fields": [{"name": "id", "type": "long"}]}'
        >>> schema = ConfluentRegistryAvroSerializationSchema.for_generic(
        ...     "events-value", AvroSchema.parse_string(text), "http://localhost:8081"
        ... )
    """

    def __init__(
        self,
        subject: str,
        schema: AvroSchema,
        registry: SchemaRegistry,
        ids: SchemaIds,
        register: bool,
    ) -> None:
        self._subject = subject
        self._schema = schema
        self._registry = registry
        self._ids = ids
        self._register = register
        self._before: bytes | None = None
        self._datum_of = datum_writer(schema)

    @staticmethod
    def for_generic(
        subject: str,
        schema: AvroSchema,
        url: str,
        registry_configs: Mapping[str, Any] | None = None,
        *,
        register: bool = True,
        id_bytes: int = 4,
    ) -> ConfluentRegistryAvroSerializationSchema:
        """Return a schema that writes dicts and rows.

        Args:
            subject: Under what the schema is registered: `"orders-value"` for values of the topic `orders`.
            schema: The schema of the records.
            url: The address of the registry, or several with commas between them, to be tried in turn.
            registry_configs: Settings of confluent-kafka's `SchemaRegistryClient`, such as
                `basic.auth.user.info`, `ssl.ca.location` and `max.retries`. Default: its defaults.
            register: Whether the schema is registered if it is not yet. Else it is only looked up.
            id_bytes: How many bytes the id has: 4, or 8 for Apicurio's serializers before version 3.

        Raises:
            InvalidArgumentError: If the client lacks a setting, or an id cannot have so many bytes.
            FastavroNotFoundError: If fastavro is not installed.
            SchemaRegistryClientNotFoundError: If the client of registries is not installed.
        """
        registry = schema_registry(url, registry_configs)
        return ConfluentRegistryAvroSerializationSchema(
            subject, schema, registry, SchemaIds(id_bytes), register
        )

    def serialize(self, element: Any) -> bytes:
        """See `SerializationSchema.serialize`."""
        if self._before is None:
            text = str(self._schema)
            schema_id = self._registry.id_of(self._subject, "AVRO", text, registers=self._register)
            self._before = self._ids.before(schema_id)
        stream = io.BytesIO()
        stream.write(self._before)
        fastavro().schemaless_writer(stream, self._schema.parsed(), self._datum_of(element))
        return stream.getvalue()

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self._subject, self._schema, self._registry, self._ids, self._register)
        return type(self), parts


class ConfluentRegistryAvroDeserializationSchema(HeadersDeserializationSchema):
    """Reads records of Avro that come behind the id that a schema registry has given their schema.

    Or whose headers have the id: `__value_schema_id` of Confluent's serializers, `apicurio.value.globalId` and
    `apicurio.value.contentId` of Apicurio's. Each message is read with the schema with which it was written, for which
    the registry is asked once in a process, and becomes a record of the schema that is given here: fields that only the writer has are passed
    over, those that it lacks have their defaults. Made by `for_generic` or `for_rows`.

    Raises:
        NoSchemaIdError: If neither a message nor a header of it begins with an id.
        UnknownSchemaError: If the registry does not know the id.
        IncompatibleSchemaError: If what was written cannot be read with the schema given here.
        MalformedMessageError: If a message is no record of the schema that it names.
        SchemaRegistryNotReachableError: If the registry is away for longer than it is asked again.
        SchemaRegistryRefusedError: If the registry refuses the request.

    Example:
        >>> text = '{"type": "record", "name": "Event", "fields": [{"name": "id", "type": "long"}]}'
        >>> schema = ConfluentRegistryAvroDeserializationSchema.for_rows(
        ...     AvroSchema.parse_string(text), "http://localhost:8081"
        ... )
        >>> schema.get_produced_type()
        RowTypeInfo(id: Long)
    """

    def __init__(
        self,
        schema: AvroSchema,
        registry: SchemaRegistry,
        ids: SchemaIds,
        capacity: int,
        rows: bool,
    ) -> None:
        self._schema = schema
        self._registry = registry
        self._ids = ids
        self._capacity = capacity
        self._rows = rows
        values = AvroValues(schema.parsed())
        self._type_info = values.type_info() if rows else GenericRecordAvroTypeInfo(schema)
        self._convert = values.reader() if rows else None
        self._reader = values.with_defaults()
        self._has_changeable_defaults = has_changeable_defaults(schema.definition())
        self._datum = fastavro().schemaless_reader
        self._schemas = lru_cache(maxsize=capacity)(self._ask_for_schema)

    @staticmethod
    def for_generic(
        schema: AvroSchema,
        url: str,
        identity_map_capacity: int = 1000,
        registry_configs: Mapping[str, Any] | None = None,
        *,
        id_bytes: int = 4,
        use_id: str = "contentId",
        is_key: bool = False,
    ) -> ConfluentRegistryAvroDeserializationSchema:
        """Return a schema that reads records as fastavro has them: dicts.

        Args:
            schema: What the records become. The schemas of writers may differ, as far as Avro can resolve it.
            url: The address of the registry, or several with commas between them, to be tried in turn. Of
                Apicurio's: `http://localhost:8080/apis/registry/v3`, or `http://localhost:8080/apis/ccompat/v7`
                where messages have no global ids.
            identity_map_capacity: How many schemas of writers are kept.
            registry_configs: Settings of confluent-kafka's `SchemaRegistryClient`, such as
                `basic.auth.user.info`, `ssl.ca.location` and `max.retries`. Default: its defaults.
            id_bytes: How many bytes the id before a message has: 4, or 8 for Apicurio's serializers before
                version 3.
            use_id: What that id is at Apicurio's own API: "contentId", or "globalId" for its serializers before
                version 3.
            is_key: Whether messages are keys of Kafka's records: ids may be in headers, and those of keys have
                names of their own.

        Raises:
            InvalidArgumentError: If the client lacks a setting, an id cannot have so many bytes, or there is no such
                id.
            FastavroNotFoundError: If fastavro is not installed.
            SchemaRegistryClientNotFoundError: If the client of registries is not installed.
        """
        return ConfluentRegistryAvroDeserializationSchema(
            schema,
            schema_registry(url, registry_configs, use_id),
            SchemaIds(id_bytes, is_key=is_key),
            identity_map_capacity,
            rows=False,
        )

    @staticmethod
    def for_rows(
        schema: AvroSchema,
        url: str,
        identity_map_capacity: int = 1000,
        registry_configs: Mapping[str, Any] | None = None,
        *,
        id_bytes: int = 4,
        use_id: str = "contentId",
        is_key: bool = False,
    ) -> ConfluentRegistryAvroDeserializationSchema:
        """Return a schema that reads rows, as `AvroRowDeserializationSchema` does.

        For arguments and errors see `for_generic`.

        Raises:
            UnsupportedTypeError: If records contain themselves.
        """
        return ConfluentRegistryAvroDeserializationSchema(
            schema,
            schema_registry(url, registry_configs, use_id),
            SchemaIds(id_bytes, is_key=is_key),
            identity_map_capacity,
            rows=True,
        )

    def deserialize_with_headers(self, message: bytes, headers: Headers) -> Any:
        """See `HeadersDeserializationSchema.deserialize_with_headers`."""
        place, start = self._ids.place(message, headers)
        written = self._schemas(place)
        if not start and self._ids.is_json(headers):
            raise MalformedMessageError(
                f"The message {shown_bytes(message)} is written as JSON, as its headers say.",
                hint="Only Avro's binary form is read: let the writers set apicurio.registry.avro.encoding to BINARY.",
            )
        stream = io.BytesIO(message)
        stream.seek(start)
        try:
            datum = self._datum(stream, *written)
            if left := len(message) - stream.tell():
                raise ValueError(f"{left} bytes are left")
            if self._has_changeable_defaults:
                datum = unshared(datum)
            return datum if self._convert is None else self._convert(datum)
        except fastavro().read.SchemaResolutionError as error:
            raise IncompatibleSchemaError(
                f"Records of the schema with {self._ids.named(place)} cannot be read with {self._schema}: "
                f"{str(error).strip()}.",
                hint="Give a schema that reads both, such as one with a default for what writers lack.",
            ) from error
        except NO_RECORD as error:
            raise MalformedMessageError(
                f"The message {shown_bytes(message)} is no record of the schema with {self._ids.named(place)}, "
                f"which it names: {str(error) or type(error).__name__}.",
                hint="Let it go to dead letters, and ask whoever wrote it.",
            ) from error

    def _ask_for_schema(self, place: Place) -> tuple[Any, Any]:
        """Return the schema of a writer, and that of the reader if it is another."""
        schema_id = self._ids.named(place)
        written = self._registry.schema(schema_id)
        schema = fastavro().schema
        try:
            parsed = self._parsed(written, schema_id, {})
        except (schema.SchemaParseException, schema.UnknownType, ValueError) as error:
            raise MalformedMessageError(
                f"The schema with {schema_id}, which a message names, is none of Avro's: {error}",
                hint="Read such messages with the schema of their format.",
            ) from error

        own = self._schema.parsed()
        return (parsed, None) if parsed == own else (as_meant(parsed, own), self._reader)

    def _parsed(self, written: WrittenSchema, schema_id: SchemaId, named: dict[str, Any]) -> Any:
        if written.kind not in {None, "AVRO"}:
            raise MalformedMessageError(
                f"The schema with {schema_id}, which a message names, is none of Avro's: it is of the kind "
                f"{written.kind}.",
                hint="Read such messages with the schema of their format.",
            )
        for referred in written.referred:
            self._parsed(referred, schema_id, named)
        return fastavro().parse_schema(json.loads(written.text), named_schemas=named)

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the records."""
        return self._type_info

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self._schema, self._registry, self._ids, self._capacity, self._rows)
        return type(self), parts
