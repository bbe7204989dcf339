from __future__ import annotations

from typing import Any

import pytest

from penstock.common import (
    ByteArraySchema,
    DeserializationSchema,
    HeadersDeserializationSchema,
    SimpleStringSchema,
)
from penstock.datastream.connectors.kafka.records import (
    KafkaConsumerRecord,
    ValuesOnly,
    WholeRecords,
)
from penstock.errors import MalformedMessageError, SchemaRegistryNotReachableError


class Message:
    """A message as confluent-kafka gives it."""

    def __init__(self, value: bytes | None, offset: int = 0, timestamp: int | None = 5) -> None:
        self._value = value
        self._offset = offset
        self._timestamp = (0, -1) if timestamp is None else (1, timestamp)

    def value(self) -> bytes | None:
        return self._value

    def key(self) -> bytes:
        return b"k"

    def headers(self) -> list[tuple[str, bytes]] | None:
        return [("h", b"1")] if self._offset else None

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 2

    def offset(self) -> int:
        return self._offset

    def timestamp(self) -> tuple[int, int]:
        return self._timestamp


class Pairs(DeserializationSchema):
    """Gives the same list out each time."""

    def __init__(self) -> None:
        self.last: list[int] = []

    def deserialize(self, message: bytes) -> Any:
        self.last[:] = [int(message)]
        return self.last if int(message) else None


class Marked(HeadersDeserializationSchema):
    """Gives message and headers."""

    def deserialize_with_headers(self, message: bytes, headers: Any) -> Any:
        return message, tuple(headers)


def test_a_schema_that_wants_headers_is_given_them() -> None:
    block = ValuesOnly(Marked())([Message(b"a"), Message(b"b", offset=1)])
    assert block.values == [(b"a", ()), (b"b", (("h", b"1"),))]


def test_a_header_whose_name_is_no_text_is_named_and_hinders_nobody_who_wants_none() -> None:
    class Strange(Message):
        def headers(self) -> Any:
            raise SystemError("returned a result with an exception set")  # as the client does

    for reads in (ValuesOnly(Marked()), WholeRecords(None)):
        with pytest.raises(
            MalformedMessageError, match=r"partition 2, offset 7.*cannot be read"
        ) as caught:
            reads([Strange(b"a", offset=7)])
        assert "confluent-kafka cannot read" in str(caught.value)
    assert ValuesOnly(SimpleStringSchema())([Strange(b"a")]).values == ["a"]


def test_values_come_with_the_timestamps_of_their_messages() -> None:
    block = ValuesOnly(SimpleStringSchema())(
        [Message(b"a"), Message(None), Message(b"b", timestamp=None)]
    )

    assert (block.values, block.timestamps) == (["a", "b"], [5, None])
    assert block.is_known_immutable
    assert ValuesOnly(ByteArraySchema())([Message(b"a")]).values == [b"a"]


def test_what_a_schema_of_the_users_does_later_changes_no_record() -> None:
    block = ValuesOnly(Pairs())([Message(b"1"), Message(b"0"), Message(b"2")])
    assert block.values == [[1], [2]]


def test_whole_records_have_all_there_is() -> None:
    record = KafkaConsumerRecord("t", 2, 7, 5, b"k", None, (("h", b"1"),))

    assert WholeRecords(None)([Message(None, 7)]).values == [record]
    made = WholeRecords(lambda one: one.offset or None)([Message(b"a", 7), Message(b"b", 0)])
    assert (made.values, made.timestamps) == ([7], [5])


@pytest.mark.parametrize(
    "make", [ValuesOnly(Pairs()), WholeRecords(lambda one: int(one.value or b""))]
)
def test_a_message_that_cannot_be_read_is_named(make: Any) -> None:
    with pytest.raises(
        MalformedMessageError,
        match=r"topic 't', partition 2, offset 3, with the value b'x{200}'\.\.\. \(999 bytes\).*ValueError",
    ) as raised:
        make([Message(b"1"), Message(b"x" * 999, 3)])
    assert "set_record_deserializer()" in (raised.value.hint or "")


class Away(DeserializationSchema):
    def deserialize(self, message: bytes) -> Any:
        raise SchemaRegistryNotReachableError("The registry is away.")


def test_no_message_is_blamed_because_a_schema_registry_is_away() -> None:
    for as_block in (
        ValuesOnly(Away()),
        WholeRecords(lambda record: Away().deserialize(record.value or b"")),
    ):
        with pytest.raises(SchemaRegistryNotReachableError):
            as_block([Message(b"a")])
