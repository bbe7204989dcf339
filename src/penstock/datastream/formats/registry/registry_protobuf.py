"""Messages of Protobuf, with the id that a schema registry has given their schema, and their place in it."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Final

from penstock.common.plain_text import shown_bytes
from penstock.common.serialization.schema import (
    Headers,
    HeadersDeserializationSchema,
    SerializationSchema,
)
from penstock.datastream.formats.protobuf.protobuf_messages import (
    ProtobufDeserializationSchema,
    ProtobufSerializationSchema,
)
from penstock.datastream.formats.registry.schema_ids import SchemaIds
from penstock.datastream.formats.registry.schema_registry import schema_registry
from penstock.errors import MalformedMessageError

__all__ = [
    "ConfluentRegistryProtobufDeserializationSchema",
    "ConfluentRegistryProtobufSerializationSchema",
]

_IDS: Final = SchemaIds(4)
_KNOWN: Final = ("confluent/", "google/protobuf/", "google/type/")
"""Where the files are that a registry has without being told."""
_LONGEST: Final = 63
"""How many bits a number has that says the place of a message."""


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
        self._registry = schema_registry(url, registry_configs)
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


class ConfluentRegistryProtobufDeserializationSchema(HeadersDeserializationSchema):
    r"""Reads messages of Protobuf that come behind the id of a schema registry, or with it in a header.

    The registry is not asked: Protobuf can be read without the schema with which it was written, and fields that the
    class lacks are kept in the message. What says which message of its file it is, is compared with the class: Confluent's
    serializers write its place there, Apicurio's its name.

    Args:
        message_class: The class of the messages, as protoc generates it; workers import it by name.
        any_place: Whether messages are read whatever their place in the file with which they were written: for
            those whose file had its messages in another order.
        id_bytes: How many bytes the id before a message has: 4, or 8 for Apicurio's serializers before version 3.
        is_key: Whether messages are keys of Kafka's records: ids may be in headers, and those of keys have names of
            their own.

    Raises:
        InvalidArgumentError: If that is no such class, or an id cannot have so many bytes.
        NoSchemaIdError: If neither a message nor a header of it begins with an id.
        MalformedMessageError: If what follows is no such message, or another one of the file.

    Example:
        >>> from google.protobuf.timestamp_pb2 import Timestamp
        >>> schema = ConfluentRegistryProtobufDeserializationSchema(Timestamp)
        >>> schema.deserialize(b"\0\0\0\0\7\0\x08\x05").seconds
        5
    """

    def __init__(
        self,
        message_class: type[Any],
        *,
        any_place: bool = False,
        id_bytes: int = 4,
        is_key: bool = False,
    ) -> None:
        self._messages = ProtobufDeserializationSchema(message_class)
        self._name: str = message_class.DESCRIPTOR.full_name
        self._indexes = _indexes_of(message_class.DESCRIPTOR)
        self._place = _written(self._indexes)
        self._ref = _ref(message_class.DESCRIPTOR.name)
        self._any_place = any_place
        self._ids = SchemaIds(id_bytes, is_key=is_key)

    def deserialize_with_headers(self, message: bytes, headers: Headers) -> Any:
        """See `HeadersDeserializationSchema.deserialize_with_headers`."""
        start = self._ids.start(message, headers)
        if not start:
            header = self._ids.header(headers)
            place = None if header is None else self._ids.behind_id(header)
            if place is not None:
                self._check(message, _read(place, 0)[0])
            elif message.startswith(self._ref):
                start = len(self._ref)
        elif message.startswith(self._place, start):
            start += len(self._place)
        elif message.startswith(self._ref, start):
            start += len(self._ref)
        else:
            indexes, start = _read(message, start)
            self._check(message, indexes)
        return self._messages.deserialize(message[start:])

    def _check(self, message: bytes, indexes: list[int]) -> None:
        if indexes == self._indexes or self._any_place:
            return
        raise MalformedMessageError(
            f"The message {shown_bytes(message)} is none of the class {self._name}: in the file of its schema it has "
            f"the place {indexes}, and the class has {self._indexes} in its own.",
            hint="Let other messages go to dead letters. If whoever wrote it has the messages of the file in "
            "another order, give any_place=True.",
        )


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


def _ref(name: str) -> bytes:
    """Return what Apicurio's serializers put before a message: how long its name's message is, and that."""
    encoded = name.encode()
    inner = b"\x0a" + _plain_varint(len(encoded)) + encoded
    return _plain_varint(len(inner)) + inner


def _varint(number: int) -> bytes:
    """Return a number from 0 on, twice as large as signed numbers are."""
    return _plain_varint(number << 1)


def _plain_varint(number: int) -> bytes:
    """Return a number, seven bits a byte, the lowest first."""
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
            hint="Let it go to dead letters.",
        ) from None
    return indexes or [0], end


def _numbers(message: bytes, start: int) -> Iterator[tuple[int, int]]:
    number = shift = 0
    for end, byte in enumerate(message[start:], start + 1):
        number |= (byte & 127) << shift
        shift += 7
        if shift > _LONGEST:
            return
        if byte < 128:
            yield number >> 1, end
            number = shift = 0
