"""Dead letters as records of Kafka."""

from __future__ import annotations

from typing import Any, Final

from penstock.common.serialization.dead_letter import DeadLetter
from penstock.datastream.connectors.kafka.record_serialization import (
    Headers,
    KafkaRecord,
    KafkaRecordSerializationSchema,
    checked_topic,
)
from penstock.errors import TypeMismatchError

_PREFIX: Final = "penstock.errors."


class DeadLetterSerializationSchema(KafkaRecordSerializationSchema):
    """Makes a record of Kafka of each `DeadLetter`: what was there, and in headers where, and why it was not read.

    Value, key, timestamp and headers are those of the message. After its headers come, as text:
    `penstock.errors.topic`, `penstock.errors.partition` and `penstock.errors.offset`, if they are known,
    `penstock.errors.exception.class.name` and `penstock.errors.exception.message`. These are Kafka Connect's names
    with another beginning. A message that was a dead letter before has them twice: the last ones are new. PyFlink
    has no such class.

    Args:
        topic: The topic of dead letters.

    Raises:
        InvalidArgumentError: If a topic of Kafka cannot have this name.
        TypeMismatchError: If a record is no dead letter.

    Example:
        >>> from penstock.datastream.formats import DeadLetter
        >>> schema = DeadLetterSerializationSchema("fares-dead")
        >>> record = schema.record(DeadLetter(b"?", "ValueError: no fare", "fares", 0, 7), None)
        >>> record.topic, record.value, record.headers[2]
        ('fares-dead', b'?', ('penstock.errors.offset', b'7'))
    """

    def __init__(self, topic: str) -> None:
        self._topic = checked_topic(topic)

    @property
    def place(self) -> str:
        """See `KafkaRecordSerializationSchema.place`."""
        return self._topic

    def record(self, element: Any, timestamp: int | None) -> KafkaRecord:
        """See `KafkaRecordSerializationSchema.record`."""
        if not isinstance(element, DeadLetter):
            raise TypeMismatchError(
                f"{element!r} is no DeadLetter.",
                hint="Write the side output of a DeserializeFunction: rows.get_side_output(dead).",
            )
        return KafkaRecord(
            self._topic,
            element.message,
            key=element.key,
            timestamp=element.timestamp,
            headers=(*element.headers, *_about(element)),
        )


def _about(letter: DeadLetter) -> Headers:
    kind, _, text = letter.error.partition(": ")
    about = {
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "exception.class.name": kind,
        "exception.message": text,
    }
    return [
        (f"{_PREFIX}{name}", str(value).encode())
        for name, value in about.items()
        if value is not None
    ]
