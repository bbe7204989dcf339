"""How a message's bytes become a record, and a record a message's bytes."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final

from penstock.common.plain_text import shown_bytes
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.common.typeinfo.types import Types
from penstock.common.types import Row
from penstock.errors import (
    InvalidArgumentError,
    MalformedMessageError,
    PenstockError,
    SchemaRegistryNotReachableError,
    SchemaRegistryRefusedError,
    TypeMismatchError,
)

__all__ = [
    "ByteArraySchema",
    "DeserializationSchema",
    "HeadersDeserializationSchema",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
    "charset_named",
]

Headers = Sequence[tuple[str, bytes | None]]

NOT_OF_THE_MESSAGE: Final = (
    ImportError,
    MemoryError,
    SchemaRegistryNotReachableError,
    SchemaRegistryRefusedError,
)
"""What a schema raises whatever the message: the job fails, and no message is given up or blamed."""


def malformed_at(
    error: Exception, message: bytes | None, topic: str, partition: int, offset: int, hint: str
) -> MalformedMessageError:
    """Return what says of a message of a topic that it cannot be read, and where it is."""
    shown = "no value" if message is None else f"the value {shown_bytes(message)}"
    reason = (
        error.message if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}"
    )
    return MalformedMessageError(
        f"The message of topic {topic!r}, partition {partition}, offset {offset}, with {shown}, cannot be read: "
        f"{reason}",
        hint=hint,
    )


def is_own(schema: SerializationSchema | DeserializationSchema | None) -> bool:
    """Whether a schema has nothing of the user's: it makes the same of the same each time, and keeps nothing it made."""
    return schema is None or type(schema).__module__.startswith("penstock.")


class SerializationSchema(ABC):
    """Makes a message's bytes of a record.

    A class of your own defines `serialize`; it is pickled with the program, and works in the tasks. PyFlink's
    wraps a class of Java.

    Example:
        >>> class Decimal(SerializationSchema):
        ...     def serialize(self, element):
        ...         return str(element).encode()
        >>> Decimal().serialize(5)
        b'5'
    """

    @abstractmethod
    def serialize(self, element: Any) -> bytes:
        """Return the bytes of a record.

        Args:
            element: The record.
        """


class DeserializationSchema(ABC):
    """Makes a record of a message's bytes.

    A class of your own defines `deserialize`; it is pickled with the program, and works in the tasks. PyFlink's
    wraps a class of Java.

    Example:
        >>> class Decimal(DeserializationSchema):
        ...     def deserialize(self, message):
        ...         return int(message)
        ...
        ...     def get_produced_type(self):
        ...         return Types.LONG()
        >>> Decimal().deserialize(b"5")
        5
    """

    @abstractmethod
    def deserialize(self, message: bytes) -> Any:
        """Return the record that a message holds; None for a message that holds none, and is passed over.

        Args:
            message: The bytes.
        """

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the records. Default: `Types.PICKLED_BYTE_ARRAY()`, anything that can be pickled."""
        return Types.PICKLED_BYTE_ARRAY()


class HeadersDeserializationSchema(DeserializationSchema):
    r"""Makes a record of a message's bytes and headers; PyFlink has no such class.

    A `KafkaSource` and `DeserializeFunction` give it the headers of Kafka's records. A class of your own defines
    `deserialize_with_headers`.

    Example:
        >>> class Text(HeadersDeserializationSchema):
        ...     def deserialize_with_headers(self, message, headers):
        ...         return message.decode(dict(headers).get("charset", b"utf-8").decode())
        >>> Text().deserialize_with_headers(b"\xe9", [("charset", b"latin-1")])
        'é'
    """

    @abstractmethod
    def deserialize_with_headers(self, message: bytes, headers: Headers) -> Any:
        """Return the record that a message holds; None for a message that holds none, and is passed over.

        Args:
            message: The bytes.
            headers: Names and values of its headers, in their order.
        """

    def deserialize(self, message: bytes) -> Any:
        """Return the record that a message without headers holds."""
        return self.deserialize_with_headers(message, ())


class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    r"""Writes strings, and reads them.

    What is not of the character set is read as U+FFFD, as in Flink, and not written.

    Args:
        charset: The character set.

    Raises:
        InvalidArgumentError: If Python does not know the character set.
        TypeMismatchError: If a record to write is no string, or has characters that the set lacks.

    Example:
        >>> schema = SimpleStringSchema()
        >>> schema.serialize("é"), schema.deserialize(b"a")
        (b'\xc3\xa9', 'a')
    """

    def __init__(self, charset: str = "UTF-8") -> None:
        self._charset = charset_named(charset)

    def serialize(self, element: Any) -> bytes:
        """See `SerializationSchema.serialize`."""
        if type(element) is not str:
            Types.STRING().check(element, "a record to write as a string")
        try:
            return str(element).encode(self._charset)
        except UnicodeEncodeError as error:
            raise TypeMismatchError(
                f"{element!r} cannot be written in {self._charset}: {error}.",
                hint="Take UTF-8, which has all characters.",
            ) from error

    def deserialize(self, message: bytes) -> str:
        """See `DeserializationSchema.deserialize`."""
        return bytes(message).decode(self._charset, "replace")

    def get_produced_type(self) -> TypeInformation:
        """Return `Types.STRING()`."""
        return Types.STRING()


class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Writes bytes, and reads them, as they are.

    Raises:
        TypeMismatchError: If a record to write is not made of bytes.

    Example:
        >>> ByteArraySchema().serialize(b"a")
        b'a'
    """

    def serialize(self, element: Any) -> bytes:
        """See `SerializationSchema.serialize`."""
        return _checked_bytes(element, "a record to write")

    def deserialize(self, message: bytes) -> bytes:
        """See `DeserializationSchema.deserialize`."""
        return bytes(message)

    def get_produced_type(self) -> TypeInformation:
        """Return `Types.PRIMITIVE_ARRAY(Types.BYTE())`."""
        return Types.PRIMITIVE_ARRAY(Types.BYTE())


class RowFieldExtractorSchema(SerializationSchema):
    """Writes one field of a row, which holds bytes: as a message's key, say. None becomes no bytes, row or field.

    Args:
        field_index: The position of the field, from 0.

    Raises:
        InvalidArgumentError: If there is no such position.
        TypeMismatchError: If a record is no row, has no such field, or something else than bytes in it.

    Example:
        >>> RowFieldExtractorSchema(0).serialize(Row(b"key", b"value"))
        b'key'
    """

    def __init__(self, field_index: int) -> None:
        if not isinstance(field_index, int) or field_index < 0:
            raise InvalidArgumentError(
                f"{field_index!r} is no field of a row.", hint="Give its position, from 0 on."
            )
        self._index = field_index

    def serialize(self, element: Any) -> bytes:
        """See `SerializationSchema.serialize`."""
        if element is None:
            return b""
        if not isinstance(element, (Row, tuple, list)) or len(element) <= self._index:
            raise TypeMismatchError(
                f"{element!r} is no row with a field {self._index}.",
                hint="Let the stream before have rows with a field that holds bytes.",
            )
        field = element[self._index]
        return (
            b"" if field is None else _checked_bytes(field, f"field {self._index} of {element!r}")
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowFieldExtractorSchema) and other._index == self._index

    def __hash__(self) -> int:
        return hash(self._index)


def _checked_bytes(value: Any, where: str) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeMismatchError(
            f"{where} is {value!r}, which is not made of bytes.",
            hint="Make bytes of it in a map() before the sink.",
        )
    return bytes(value)


def charset_named(name: str) -> str:
    """Return the name of a character set.

    Raises:
        InvalidArgumentError: If Python does not know it.
    """
    try:
        codecs.lookup(name)
    except (LookupError, TypeError):
        raise InvalidArgumentError(
            f"{name!r} is no character set that Python knows.",
            hint="Give a name such as 'UTF-8'.",
        ) from None
    return name
