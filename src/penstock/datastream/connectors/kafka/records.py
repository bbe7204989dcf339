"""What becomes of a message of Kafka: its value alone, or all of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from penstock.common.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    HeadersDeserializationSchema,
    SimpleStringSchema,
)
from penstock.common.serialization.schema import NOT_OF_THE_MESSAGE, is_own, malformed_at
from penstock.errors import MalformedMessageError
from penstock.runtime.exchange.elements import Block
from penstock.runtime.objects.mutability import copied_if_possible

_PLAIN: Final = frozenset({SimpleStringSchema, ByteArraySchema})
"""What makes records that nobody can change."""
_TO_GO_ON: Final = (
    "To go on without it, let the deserializer return None for what it cannot read. To keep such messages, read whole "
    "records by set_record_deserializer(), and send the malformed ones to a side output: "
    "stream.process(DeserializeFunction(schema, dead_letters=tag))."
)
_NO_TEXT: Final = (
    "A header has a name that is not UTF-8, which confluent-kafka cannot read. Read values alone, by "
    "set_value_only_deserializer(), or on Spark by Spark's connector, with kafka.reader: spark."
)


class KafkaConsumerRecord(NamedTuple):
    """A message of Kafka with all that belongs to it.

    Attributes:
        topic: The topic.
        partition: The number of the partition.
        offset: Its place in the partition.
        timestamp: When it was made, or written, as the topic says, in milliseconds; None if it has none.
        key: Its key; None for none.
        value: Its value; None if it has none, which in a compacted topic says that the key is gone.
        headers: Names and values of its headers, in their order.

    Example:
        >>> record = KafkaConsumerRecord("fares", 0, 7, None, b"rome", b"2.5", (("trace", b"1"),))
        >>> record.offset, dict(record.headers)
        (7, {'trace': b'1'})
    """

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class ValuesOnly:
    """Makes records of the values of messages; those without a value are passed over.

    Args:
        schema: Makes a record of a value.
    """

    def __init__(self, schema: DeserializationSchema) -> None:
        self._schema = schema
        self._is_plain = type(schema) in _PLAIN
        self._is_own = is_own(schema)

    def __call__(self, messages: list[Any]) -> Block:
        """Return the records of messages.

        Raises:
            MalformedMessageError: If one cannot be deserialized.
        """
        schema = self._schema
        deserialize = schema.deserialize
        with_headers = (
            schema.deserialize_with_headers
            if isinstance(schema, HeadersDeserializationSchema)
            else None
        )
        values: list[Any] = []
        timestamps: list[int | None] = []
        for message in messages:
            raw = message.value()
            if raw is None:
                continue
            headers = () if with_headers is None else _headers(message)
            try:
                value = deserialize(raw) if with_headers is None else with_headers(raw, headers)
            except NOT_OF_THE_MESSAGE:
                raise
            except Exception as error:
                raise _malformed(error, message) from error
            if value is not None:
                values.append(value if self._is_own else copied_if_possible(value))
                timestamps.append(_timestamp(message))
        if self._is_plain:
            return Block(values, timestamps, is_immutable=True)
        return Block(values, timestamps)


class WholeRecords:
    """Makes records of messages with all that belongs to them.

    Args:
        deserialize: Makes a record of one; None to take it as it is.
    """

    def __init__(self, deserialize: Callable[[KafkaConsumerRecord], Any] | None) -> None:
        self._deserialize = deserialize

    def __call__(self, messages: list[Any]) -> Block:
        """Return the records of messages.

        Raises:
            MalformedMessageError: If one cannot be deserialized.
        """
        values: list[Any] = []
        timestamps: list[int | None] = []
        for message in messages:
            found = _whole(message)
            value: Any = found
            if self._deserialize is not None:
                try:
                    value = copied_if_possible(self._deserialize(found))
                except NOT_OF_THE_MESSAGE:
                    raise
                except Exception as error:
                    raise _malformed(error, message) from error
            if value is not None:
                values.append(value)
                timestamps.append(found.timestamp)
        return Block(values, timestamps, is_immutable=True if self._deserialize is None else None)


def _timestamp(message: Any) -> int | None:
    kind, timestamp = message.timestamp()
    return timestamp if kind else None


def _whole(message: Any) -> KafkaConsumerRecord:
    return KafkaConsumerRecord(
        message.topic(),
        message.partition(),
        message.offset(),
        _timestamp(message),
        message.key(),
        message.value(),
        _headers(message),
    )


def _headers(message: Any) -> tuple[tuple[str, bytes | None], ...]:
    """Return the headers of a message.

    Raises:
        MalformedMessageError: If one has a name that is no text, which the client does not give out.
    """
    try:
        return tuple(message.headers() or ())
    except (SystemError, UnicodeError) as error:
        raise _malformed(error, message, _NO_TEXT) from error


def _malformed(error: Exception, message: Any, hint: str = _TO_GO_ON) -> MalformedMessageError:
    place = message.topic(), message.partition(), message.offset()
    return malformed_at(error, message.value(), *place, hint=hint)
