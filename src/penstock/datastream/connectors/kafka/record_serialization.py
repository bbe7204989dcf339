"""What makes Kafka's records of those of a stream."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self, TypeVar

from penstock.common.serialization import SerializationSchema
from penstock.common.serialization.schema import is_own
from penstock.errors import InvalidArgumentError
from penstock.runtime.timestamp import MAX_TIMESTAMP

__all__ = [
    "KafkaRecord",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaTopicSelector",
]

_TOPIC: Final = re.compile(r"(?!\.{1,2}\Z)[\w.-]{1,249}", re.ASCII)

T = TypeVar("T")

Headers = Sequence[tuple[str, bytes | None]]


class KafkaRecord(NamedTuple):
    """A record as Kafka keeps it; PyFlink has no such class.

    Attributes:
        topic: The topic.
        value: The value; None for the sign that the key is deleted.
        key: The key, if it has one.
        timestamp: In milliseconds; None for the time at which it is sent.
        partition: The partition; None for the one that its key says, or for any.
        headers: Its headers, pairs of a name and bytes.

    Example:
        >>> KafkaRecord("fares", None, key=b"rome")._replace(partition=1)
        KafkaRecord(topic='fares', value=None, key=b'rome', timestamp=None, partition=1, headers=())
    """

    topic: str
    value: bytes | None
    key: bytes | None = None
    timestamp: int | None = None
    partition: int | None = None
    headers: Headers = ()


class KafkaTopicSelector(ABC):
    """Says into which topic a record goes.

    Example:
        >>> class ByLetter(KafkaTopicSelector):
        ...     def apply(self, data):
        ...         return f"words-{data[0]}"
        >>> ByLetter().apply("to")
        'words-t'
    """

    @abstractmethod
    def apply(self, data: Any) -> str:
        """Return the topic.

        Args:
            data: The record.
        """


class KafkaRecordSerializationSchema(SerializationSchema):
    """Makes Kafka's records of those of a stream.

    Made by `builder`. A class of your own defines `record`; it is pickled with the program, and works in
    the tasks.

    Example:
        >>> from penstock.common import SimpleStringSchema
        >>> schema = (
        ...     KafkaRecordSerializationSchema.builder()
        ...     .set_topic_selector(lambda word: f"words-{word[0]}")
        ...     .set_key_serialization_schema(SimpleStringSchema())
        ...     .set_value_serialization_schema(SimpleStringSchema())
        ...     .build()
        ... )
        >>> schema.record("to", 1000)
        KafkaRecord(topic='words-t', value=b'to', key=b'to', timestamp=1000, partition=None, headers=())
    """

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """Return a builder."""
        return KafkaRecordSerializationSchemaBuilder()

    @property
    def place(self) -> str:
        """The topic if there is only one, for messages. Default: unknown."""
        return ""

    @abstractmethod
    def record(self, element: Any, timestamp: int | None) -> KafkaRecord | None:
        """Return what Kafka gets, or None if it gets nothing of the record; PyFlink has no such method.

        Args:
            element: The record of the stream.
            timestamp: Its timestamp in milliseconds; None if it has none.
        """

    def serialize(self, element: Any) -> bytes:
        """Return the value that Kafka gets.

        It is empty for none: as the schema of a value, this one writes no sign that a key is deleted.
        """
        record = self.record(element, None)
        return (record and record.value) or b""


class RecordColumns(NamedTuple):
    """What Kafka gets of many records that go into one topic, as columns of equal length.

    Attributes:
        topic: The topic.
        values: The values.
        keys: The keys; None if there are none.
        timestamps: The timestamps.
    """

    topic: str
    values: list[bytes]
    keys: list[bytes] | None
    timestamps: Sequence[int | None]


class SerializesColumns(KafkaRecordSerializationSchema):
    """A schema that makes many records at once, where that takes no function of the user's."""

    @abstractmethod
    def columns(
        self, elements: Sequence[Any], timestamps: Sequence[int | None] | None
    ) -> RecordColumns | None:
        """Return what `record` would return for each of some records; None to have it called.

        Args:
            elements: The records of the stream.
            timestamps: Their timestamps in milliseconds; None if they have none.
        """


def kafka_timestamp(timestamp: int | None) -> int | None:
    """Return the timestamp of a record as Kafka takes it, which has none before 1970, nor the end of time."""
    is_taken = timestamp is not None and 0 <= timestamp < MAX_TIMESTAMP
    return timestamp if is_taken else None


def kafka_timestamps(timestamps: Sequence[int | None] | None, count: int) -> Sequence[int | None]:
    """Return the timestamps of so many records as Kafka takes them."""
    return [None] * count if timestamps is None else list(map(kafka_timestamp, timestamps))


@dataclass(frozen=True)
class _Built(SerializesColumns):
    topic: str | Callable[[Any], str]
    value: SerializationSchema
    key: SerializationSchema | None = None
    headers: Callable[[Any], Headers | Mapping[str, bytes | None]] | None = None
    partition: Callable[[Any], int] | None = None

    @property
    def place(self) -> str:
        return self.topic if isinstance(self.topic, str) else ""

    def record(self, element: Any, timestamp: int | None) -> KafkaRecord:
        topic, key, headers = self.topic, self.key, self.headers
        found: Headers | Mapping[str, bytes | None] = () if headers is None else headers(element)
        return KafkaRecord(
            topic if isinstance(topic, str) else topic(element),
            self.value.serialize(element),
            None if key is None else key.serialize(element),
            kafka_timestamp(timestamp),
            None if self.partition is None else self.partition(element),
            tuple(found.items()) if isinstance(found, Mapping) else found,
        )

    def columns(
        self, elements: Sequence[Any], timestamps: Sequence[int | None] | None
    ) -> RecordColumns | None:
        topic, key = self.topic, self.key
        has_functions = self.headers is not None or self.partition is not None
        if not isinstance(topic, str) or has_functions or not is_own(self.value) or not is_own(key):
            return None
        return RecordColumns(
            topic,
            list(map(self.value.serialize, elements)),
            None if key is None else list(map(key.serialize, elements)),
            kafka_timestamps(timestamps, len(elements)),
        )


class KafkaRecordSerializationSchemaBuilder:
    """Builds a `KafkaRecordSerializationSchema`: a topic and a schema for the value are needed."""

    def __init__(self) -> None:
        self._topic: str | Callable[[Any], str] | None = None
        self._key: SerializationSchema | None = None
        self._value: SerializationSchema | None = None
        self._headers: Callable[[Any], Headers | Mapping[str, bytes | None]] | None = None
        self._partition: Callable[[Any], int] | None = None

    def build(self) -> KafkaRecordSerializationSchema:
        """Return the schema.

        Raises:
            InvalidArgumentError: If there is no topic, or no schema for the value.
        """
        if self._topic is None or self._value is None:
            raise InvalidArgumentError(
                "A KafkaRecordSerializationSchema needs a topic, and a schema for the value.",
                hint="Call set_topic('orders') and set_value_serialization_schema(SimpleStringSchema()).",
            )
        return _Built(self._topic, self._value, self._key, self._headers, self._partition)

    def set_topic(self, topic: str) -> Self:
        """Set the topic of all records.

        Args:
            topic: The topic.

        Raises:
            InvalidArgumentError: If it is no name, or there is a topic or a selector.
        """
        return self._with_topic(checked_topic(topic))

    def set_topic_selector(self, topic_selector: Callable[[Any], str] | KafkaTopicSelector) -> Self:
        """Set what says into which topic a record goes.

        Args:
            topic_selector: A `KafkaTopicSelector`, or a function of the record that returns the topic.

        Raises:
            TypeError: If it is none.
            InvalidArgumentError: If there is a topic or a selector.
        """
        if isinstance(topic_selector, KafkaTopicSelector):
            return self._with_topic(topic_selector.apply)
        if not callable(topic_selector):
            raise TypeError("topic_selector must be KafkaTopicSelector or a callable")
        return self._with_topic(topic_selector)

    def _with_topic(self, topic: str | Callable[[Any], str]) -> Self:
        if self._topic is not None:
            raise InvalidArgumentError(
                "The topic of Kafka's records is said twice.",
                hint="Call set_topic or set_topic_selector, once.",
            )
        self._topic = topic
        return self

    def set_key_serialization_schema(self, key_serialization_schema: SerializationSchema) -> Self:
        """Set what makes the key of a record. Default: records have no keys.

        Args:
            key_serialization_schema: The schema; it is given the whole record.

        Raises:
            InvalidArgumentError: If it is none.
        """
        self._key = checked_schema(key_serialization_schema)
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> Self:
        """Set what makes the value of a record.

        Args:
            value_serialization_schema: The schema; it is given the whole record. Bytes are expected, or
                None for the sign that the key is deleted.

        Raises:
            InvalidArgumentError: If it is none.
        """
        self._value = checked_schema(value_serialization_schema)
        return self

    def set_header_provider(
        self, header_provider: Callable[[Any], Headers | Mapping[str, bytes | None]]
    ) -> Self:
        """Set what says the headers of a record; PyFlink has it in Java alone.

        Args:
            header_provider: A function of the record that returns names and bytes, as a dict or as pairs.

        Raises:
            InvalidArgumentError: If it cannot be called.
        """
        self._headers = _checked_function("set_header_provider", header_provider)
        return self

    def set_partitioner(self, partitioner: Callable[[Any], int]) -> Self:
        """Set what says the partition of a record; PyFlink has it in Java alone.

        Default: the one that Kafka's Java client has for the key; of records without keys, any.

        Args:
            partitioner: A function of the record that returns the number of a partition.

        Raises:
            InvalidArgumentError: If it cannot be called.
        """
        self._partition = _checked_function("set_partitioner", partitioner)
        return self


def _checked_function(method: str, function: Callable[[Any], T]) -> Callable[[Any], T]:
    if not callable(function):
        raise InvalidArgumentError(
            f"{method}() was given {function!r}, which cannot be called.",
            hint=f"Give a function of the record: {method}(lambda record: ...).",
        )
    return function


def is_topic(name: str) -> bool:
    """Whether a topic of Kafka can have a name."""
    return _TOPIC.fullmatch(name) is not None


def checked_topic(topic: Any) -> str:
    """Return a topic.

    Raises:
        InvalidArgumentError: If it cannot be one.
    """
    if not isinstance(topic, str) or not is_topic(topic):
        raise InvalidArgumentError(
            f"{topic!r} is no topic.",
            hint="Give its name: 'orders'. It has letters, digits, '.', '_' and '-', and at most 249 of them.",
        )
    return topic


def checked_schema(schema: Any) -> SerializationSchema:
    """Return a schema.

    Raises:
        InvalidArgumentError: If it is none.
    """
    if not isinstance(schema, SerializationSchema):
        raise InvalidArgumentError(
            f"{schema!r} is no SerializationSchema.",
            hint="Give SimpleStringSchema(), for instance.",
        )
    return schema
