"""Messages of Protobuf, with the id that a schema registry has given their schema, and their place in it."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Final

from penstock.common.plain_text import shown_bytes
from penstock.common.serialization.schema import DeserializationSchema, SerializationSchema
from penstock.datastream.formats.protobuf.protobuf_messages import (
    ProtobufDeserializationSchema,
    ProtobufSerializationSchema,
)
from penstock.datastream.formats.registry.schema_registry import SchemaIds, SchemaRegistry
from penstock.errors import MalformedMessageError

__all__ = [
    "ConfluentRegistryProtobufDeserializationSchema",
    "ConfluentRegistryProtobufSerializationSchema",
]

_IDS: Final = SchemaIds(4)
_KNOWN: Final = ("confluent/", "google/protobuf/", "google/type/")
"""Where the files are that a registry has without being told."""


class ConfluentRegistryProtobufSerializationSchema(SerializationSchema):
    """Writes messages of Protobuf behind the id that a schema registry has given their schema.

    The registry is asked once in a process. Files that the class's file imports are registered under their names.

    Args:
        message_class: The class of the messages, as protoc generates it; workers import it by name.
        subject: Under what the schema is registered: `"orders-value"` for values of the topic `orders`.
        url: The address of the registry, or several with commas between them, to be tried in turn.
        registry_configs: Settings of confluent-kafka's `SchemaRegistryClient`, such as `basic.auth.user.info`,
            `ssl.ca.location` and `max.retries`. Default: its defaults.
        register: Whether schemas are registered if they are not yet. Else they are only looked up.

    Raises:
        InvalidArgumentError: If that is no such class, or the client lacks a setting.
        SchemaRegistryClientNotFoundError: If the client of registries is not installed.
        TypeMismatchError: If a record is no such message.
        IncompatibleSchemaError: If the registry says that the schema does not go with those before it.
        UnknownSchemaError: If a schema is not registered, and is not to be.
        SchemaRegistryNotReachableError: If the registry is away for longer than it is asked again.
        SchemaRegistryRefusedError: If the registry refuses the request.

    Example:
        >>> from google.protobuf.wrappers_pb2 import Int32Value
        >>> schema = ConfluentRegistryProtobufSerializationSchema(
        ...     Int32Value, "numbers-value", "http://localhost:8081"
        ... )
    """

    def __init__(
        self,
        message_class: type[Any],
        subject: str,
        url: str,
        registry_configs: Mapping[str, Any] | None = None,
        *,
        register: bool = True,
    ) -> None:
        self._messages = ProtobufSerializationSchema(message_class)
        self._message_class = message_class
        self._subject = subject
        self._registry = SchemaRegistry(url, registry_configs)
        self._register = register
        self._before: bytes | None = None

    def serialize(self, element: Any) -> bytes:
        """See `SerializationSchema.serialize`."""
        if self._before is None:
            descriptor = self._message_class.DESCRIPTOR
            schema_id = self._registry.id_of(
                self._subject,
                "PROTOBUF",
                _text_of(descriptor.file),
                self._imports_of(descriptor.file),
                registers=self._register,
            )
            self._before = _IDS.before(schema_id) + _written(_indexes_of(descriptor))
        return self._before + self._messages.serialize(element)

    def _imports_of(self, file: Any) -> list[Any]:
        """Return references to the files that a file imports, after those that these import."""
        return [
            self._registry.reference_to(
                imported.name,
                "PROTOBUF",
                _text_of(imported),
                self._imports_of(imported),
                registers=self._register,
            )
            for imported in file.dependencies
            if not imported.name.startswith(_KNOWN)
        ]


class ConfluentRegistryProtobufDeserializationSchema(DeserializationSchema):
    r"""Reads messages of Protobuf that come behind the id of a schema registry.

    The registry is not asked: Protobuf can be read without the schema with which it was written, and fields that the
    class lacks are kept in the message. What says which message of its file it is, is compared with the class.

    Args:
        message_class: The class of the messages, as protoc generates it; workers import it by name.
        any_place: Whether messages are read whatever their place in the file with which they were written: for
            those whose file had its messages in another order.

    Raises:
        InvalidArgumentError: If that is no such class.
        NoSchemaIdError: If a message does not begin with an id.
        MalformedMessageError: If what follows is no such message, or another one of the file.

    Example:
        >>> from google.protobuf.timestamp_pb2 import Timestamp
        >>> schema = ConfluentRegistryProtobufDeserializationSchema(Timestamp)
        >>> schema.deserialize(b"\0\0\0\0\7\0\x08\x05").seconds
        5
    """

    def __init__(self, message_class: type[Any], *, any_place: bool = False) -> None:
        self._messages = ProtobufDeserializationSchema(message_class)
        self._name: str = message_class.DESCRIPTOR.full_name
        self._indexes = _indexes_of(message_class.DESCRIPTOR)
        self._any_place = any_place

    def deserialize(self, message: bytes) -> Any:
        """See `DeserializationSchema.deserialize`."""
        schema_id = _IDS.of(message)
        indexes, start = _read(message, _IDS.length)
        if indexes != self._indexes and not self._any_place:
            raise MalformedMessageError(
                f"The message {shown_bytes(message)} is none of the class {self._name}: in the file of the schema with "
                f"the id {schema_id} it has the place {indexes}, and the class has {self._indexes} in its own.",
                hint="Let other messages go to dead letters. If whoever wrote it has the messages of the file in "
                "another order, give any_place=True.",
            )
        return self._messages.deserialize(message[start:])


def _text_of(file: Any) -> str:
    """Return a file as registries take it: what protoc has made of it, in Base64."""
    return base64.b64encode(file.serialized_pb).decode("ascii")


def _indexes_of(descriptor: Any) -> list[int]:
    """Return the place of a message in its file: that of the outermost it lies in, and so on to its own."""
    outer = descriptor.containing_type
    if outer is None:
        return [list(descriptor.file.message_types_by_name).index(descriptor.name)]
    return [*_indexes_of(outer), [one.name for one in outer.nested_types].index(descriptor.name)]


def _written(indexes: list[int]) -> bytes:
    """Return a place as bytes: how many numbers, and these. The first message of a file is a zero alone."""
    return b"\0" if indexes == [0] else b"".join(map(_varint, [len(indexes), *indexes]))


def _varint(number: int) -> bytes:
    """Return a number from 0 on, twice as large as signed numbers are, seven bits a byte, the lowest first."""
    number <<= 1
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _read(message: bytes, start: int) -> tuple[list[int], int]:
    """Return the place that stands in a message, and where it ends.

    Raises:
        MalformedMessageError: If none does.
    """
    numbers = _numbers(message, start)
    try:
        count, end = next(numbers)
        indexes = []
        for _ in range(count):
            index, end = next(numbers)
            indexes.append(index)
    except StopIteration:
        raise MalformedMessageError(
            f"The message {shown_bytes(message)} ends before it says which message of its file it is.",
            hint="Let it go to dead letters. Apicurio's serializers for Protobuf write something else there.",
        ) from None
    return indexes or [0], end


def _numbers(message: bytes, start: int) -> Iterator[tuple[int, int]]:
    number = shift = 0
    for end, byte in enumerate(message[start:], start + 1):
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield number >> 1, end
            number = shift = 0
