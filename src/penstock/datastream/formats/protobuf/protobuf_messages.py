"""Messages that are those of Protobuf."""

from __future__ import annotations

from typing import Any

from penstock.common.plain_text import shown_bytes
from penstock.common.serialization.schema import DeserializationSchema, SerializationSchema
from penstock.errors import InvalidArgumentError, MalformedMessageError, TypeMismatchError

__all__ = ["ProtobufDeserializationSchema", "ProtobufSerializationSchema"]


class ProtobufSerializationSchema(SerializationSchema):
    r"""Writes messages of Protobuf. PyFlink has none.

    Equal messages become equal bytes in one version of protobuf, so that they may be keys.

    Args:
        message_class: The class of the messages, as protoc generates it; workers import it by name.

    Raises:
        InvalidArgumentError: If it is none.
        TypeMismatchError: If a record is no such message, or lacks a field that it must have.

    Example:
        >>> from google.protobuf.wrappers_pb2 import Int32Value
        >>> ProtobufSerializationSchema(Int32Value).serialize(Int32Value(value=5))
        b'\x08\x05'
    """

    def __init__(self, message_class: type[Any]) -> None:
        self._message_class = checked_class(message_class)

    def serialize(self, element: Any) -> bytes:
        """See `SerializationSchema.serialize`."""
        from google.protobuf.message import EncodeError

        name = self._message_class.DESCRIPTOR.full_name
        if not isinstance(element, self._message_class):
            raise TypeMismatchError(
                f"{element!r} is no message of the class {name}, but a {type(element).__qualname__}.",
                hint="Make one of it in a map() before the sink.",
            )
        try:
            return bytes(element.SerializeToString(deterministic=True))
        except (EncodeError, ValueError) as error:
            raise TypeMismatchError(
                f"{element!r} cannot be written as a message of the class {name}: {error}.",
                hint="Set all fields that are required.",
            ) from error


class ProtobufDeserializationSchema(DeserializationSchema):
    r"""Reads messages of Protobuf. PyFlink has none.

    Fields that the class lacks, as whoever wrote the message had a newer one, are kept in the message and written
    again with it. Bytes say nothing of the class that they are of: those of another may be read as this one.

    Args:
        message_class: The class of the messages, as protoc generates it; workers import it by name.

    Raises:
        InvalidArgumentError: If it is none.
        MalformedMessageError: If bytes are no such message.

    Example:
        >>> from google.protobuf.wrappers_pb2 import Int32Value
        >>> ProtobufDeserializationSchema(Int32Value).deserialize(b"\x08\x05").value
        5
    """

    def __init__(self, message_class: type[Any]) -> None:
        self._message_class = checked_class(message_class)

    def deserialize(self, message: bytes) -> Any:
        """See `DeserializationSchema.deserialize`."""
        from google.protobuf.message import DecodeError

        name = self._message_class.DESCRIPTOR.full_name
        try:
            record = self._message_class.FromString(bytes(message))
        except DecodeError as error:
            raise MalformedMessageError(
                f"The message {shown_bytes(message)} is none of the class {name}: {error}.",
                hint="Give the class with which it was written. What a schema registry puts before a message is "
                "none of Protobuf's.",
            ) from error
        if not record.IsInitialized():
            missing = ", ".join(record.FindInitializationErrors())
            raise MalformedMessageError(
                f"The message {shown_bytes(message)} is none of the class {name}: it lacks {missing}.",
                hint="Give the class with which it was written.",
            )
        return record


def checked_class(message_class: Any) -> Any:
    """Return a class of messages, sure to be one.

    Raises:
        InvalidArgumentError: If it is none.
    """
    if not hasattr(message_class, "FromString") or not hasattr(message_class, "DESCRIPTOR"):
        raise InvalidArgumentError(
            f"{message_class!r} is no class of Protobuf's messages.",
            hint="Give a class of the module that protoc has generated: events_pb2.Event.",
        )
    return message_class
