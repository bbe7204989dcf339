"""Messages become records, and those that hold none go to a side output."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from penstock.common.serialization.dead_letter import DeadLetter
from penstock.common.serialization.schema import (
    NOT_OF_THE_MESSAGE,
    DeserializationSchema,
    HeadersDeserializationSchema,
    malformed_at,
)
from penstock.datastream.functions.one_input import ProcessFunction
from penstock.errors import InvalidArgumentError, PenstockError
from penstock.runtime.context import RuntimeContext
from penstock.runtime.metrics import MetricGroup
from penstock.runtime.output_tag import OutputTag, check_output_tag

__all__ = ["DeadLetter", "DeserializeFunction"]


_LONGEST_TEXT: Final = 1000


class DeserializeFunction(ProcessFunction):
    """Makes records of messages; those that hold none go to a side output, or are an error without.

    Messages are bytes, or have them as `value`: records of Kafka, whose topic, partition, offset, timestamp, key and
    headers go into the dead letter, and rows with such columns, as Spark reads them. A message without bytes, such as
    one that deletes a key of a compacted topic, is passed over, and so is one for which the schema returns None. A
    `HeadersDeserializationSchema` is given the headers as well.

    That a schema registry is away, refuses requests, or that a library is missing says nothing of the message: then
    the job fails and may be started again, and no message is given up. All else that the schema raises is the
    message's fault.

    Args:
        schema: Makes records of messages' bytes.
        key_schema: Makes something of their keys too; then a record is a pair, of what the key became, None for a
            message without a key, and what the value became. Default: keys are not looked at.
        dead_letters: Names the side output for a `DeadLetter` of each message that holds no record. Default: such a
            message is an error.

    Raises:
        MalformedMessageError: If a message of a known topic holds no record, and there is no tag. Of a message whose
            place is not known, it is what the schema raises.
        InvalidArgumentError: If the schema is no `DeserializationSchema`, the tag no `OutputTag`, or a message
            neither bytes nor has any.

    Example:
        >>> from penstock.common import Types
        >>> from penstock.datastream import OutputTag
        >>> from penstock.datastream.formats.json import JsonRowDeserializationSchema
        >>> from penstock.testing import local_environment
        >>> ids = Types.ROW_NAMED(["id"], [Types.INT()])
        >>> schema = JsonRowDeserializationSchema.builder().type_info(ids).build()
        >>> dead = OutputTag("dead letters")
        >>> messages = local_environment().from_collection([b'{"id": 1}', b"?"])
        >>> rows = messages.process(DeserializeFunction(schema, dead_letters=dead), ids)
        >>> [letter.message for letter in rows.get_side_output(dead).execute_and_collect()]
        [b'?']
    """

    def __init__(
        self,
        schema: DeserializationSchema,
        *,
        key_schema: DeserializationSchema | None = None,
        dead_letters: OutputTag | None = None,
    ) -> None:
        for given in (schema,) if key_schema is None else (schema, key_schema):
            if not isinstance(given, DeserializationSchema):
                raise InvalidArgumentError(
                    f"{given!r} is no DeserializationSchema.",
                    hint="Give one, such as SimpleStringSchema().",
                )
        if dead_letters is not None:
            hint = 'Give an OutputTag("dead letters").'
            check_output_tag(dead_letters, "DeserializeFunction", hint)
        self._schema = schema
        self._key_schema = key_schema
        self._dead_letters = dead_letters
        self._metrics: MetricGroup | None = None

    def open(self, runtime_context: RuntimeContext) -> None:
        """Learn where to count."""
        group = runtime_context.get_metrics_group()
        self._metrics = group if isinstance(group, MetricGroup) else None

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        """See `ProcessFunction.process_element`."""
        message = getattr(value, "value", value)
        if type(message) is not bytes:
            message = _bytes_of(message)
            if message is None:
                return
        key = None if self._key_schema is None else _bytes_of(getattr(value, "key", None))
        try:
            record = _read(self._schema, message, value)
            if self._key_schema is not None and record is not None:
                record = None if key is None else _read(self._key_schema, key, value), record
        except NOT_OF_THE_MESSAGE:
            raise
        except Exception as error:
            letter = DeadLetter(message, _text_of(error), **_origin_of(value))
            if self._dead_letters is not None:
                if self._metrics is not None:
                    self._metrics.fail(message, letter.error)
                yield self._dead_letters, letter
                return
            if letter.topic is None or letter.partition is None or letter.offset is None:
                raise
            hint = "Give dead_letters, and such messages go to a side output, or make the schema read them."
            place = (letter.topic, letter.partition, letter.offset)
            raise malformed_at(error, message, *place, hint=hint) from error
        if record is not None:
            yield record


def _read(schema: DeserializationSchema, message: bytes, record: Any) -> Any:
    if isinstance(schema, HeadersDeserializationSchema):
        headers = _headers_of(record)
        if headers:
            return schema.deserialize_with_headers(message, headers)
    return schema.deserialize(message)


def _bytes_of(value: Any) -> bytes | None:
    if value is None or isinstance(value, (bytes, bytearray)):
        return None if value is None else bytes(value)
    raise InvalidArgumentError(
        f"{value!r} is no message: neither bytes, nor something that has bytes as its `value`.",
        hint="Give DeserializeFunction bytes, records of Kafka, or rows with a column `value` of bytes.",
    )


def _origin_of(record: Any) -> dict[str, Any]:
    """Return what is known of where a message came from; nothing of one that is bytes alone."""
    if isinstance(record, (bytes, bytearray)):
        return {}
    key = getattr(record, "key", None)
    return {name: getattr(record, name, None) for name in ("topic", "partition", "offset")} | {
        "timestamp": _milliseconds(getattr(record, "timestamp", None)),
        "key": bytes(key) if isinstance(key, (bytes, bytearray)) else None,
        "headers": _headers_of(record),
    }


def _headers_of(record: Any) -> tuple[tuple[str, bytes | None], ...]:
    """Return the headers of a message; of a row of Spark's there are some only if Spark is told to read them."""
    headers = getattr(record, "headers", None)
    return tuple((name, value) for name, value in headers) if headers else ()


def _milliseconds(timestamp: Any) -> int | None:
    if isinstance(timestamp, datetime):
        zoned = timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=UTC)
        return (zoned - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    return timestamp if isinstance(timestamp, int) else None


def _text_of(error: Exception) -> str:
    """Return class and message of an error, without its hint, which is for whoever writes the program."""
    message = error.message if isinstance(error, PenstockError) else error
    text = f"{type(error).__name__}: {message}"
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."
