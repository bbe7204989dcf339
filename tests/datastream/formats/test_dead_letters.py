from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

import pytest

from penstock.common import Row, SimpleStringSchema, Types
from penstock.common.serialization import DeserializationSchema, HeadersDeserializationSchema
from penstock.datastream import OutputTag
from penstock.datastream.formats import DeadLetter, DeserializeFunction
from penstock.datastream.formats.json import JsonRowDeserializationSchema
from penstock.errors import (
    InvalidArgumentError,
    MalformedMessageError,
    SchemaRegistryNotReachableError,
)
from penstock.testing import local_environment

DEAD = OutputTag("dead")
IDS = Types.ROW_NAMED(["id"], [Types.INT()])
OF_IDS = JsonRowDeserializationSchema.builder().type_info(IDS).build()


class Message(NamedTuple):
    value: bytes | None
    topic: str = "events"
    partition: int = 1
    offset: int = 0
    timestamp: int | None = 30
    key: bytes | None = b"k"
    headers: Any = (("h", None),)


class Away(DeserializationSchema):
    def deserialize(self, message: bytes) -> Any:
        raise SchemaRegistryNotReachableError("The registry is away.")


class Picky(DeserializationSchema):
    def deserialize(self, message: bytes) -> Any:
        return int(message) or None


def outcome(function: DeserializeFunction, *messages: Any) -> tuple[list[Any], list[DeadLetter]]:
    """Return the records, and what went to dead letters, of two subtasks."""
    env = local_environment(2)
    records = env.from_collection(list(messages)).rebalance().process(function)
    tagged: Iterator[Any] = (
        records.map(lambda record: (record, None))
        .union(records.get_side_output(DEAD).map(lambda letter: (None, letter)))
        .execute_and_collect()
    )
    pairs = list(tagged)
    return (
        sorted((record for record, letter in pairs if letter is None), key=str),
        sorted(letter for _, letter in pairs if letter is not None),
    )


def test_a_letter_says_where_the_message_is_and_why() -> None:
    messages = [Message(b'{"id": 1}'), Message(b"?", offset=5), Message(None), Message(b'{"id":2}')]
    records, letters = outcome(DeserializeFunction(OF_IDS, dead_letters=DEAD), *messages)
    assert records == [Row(id=1), Row(id=2)]
    (letter,) = letters
    assert letter == DeadLetter(b"?", letter.error, "events", 1, 5, 30, b"k", (("h", None),))
    assert letter.error.startswith("MalformedMessageError: The message b'?' is no JSON object")


def test_rows_of_spark_and_plain_bytes_are_messages_too() -> None:
    at = datetime(1970, 1, 1, 0, 0, 1, 5000, tzinfo=timezone(timedelta(hours=1)))
    of_spark = Row(value=b"x", topic="t", partition=3, offset=9, timestamp=at, key="text")
    rows = of_spark, Row(value=b"7"), b"8", bytearray(b"y")
    records, letters = outcome(DeserializeFunction(Picky(), dead_letters=DEAD), *rows)
    error = "ValueError: invalid literal for int() with base 10: "
    assert records == [7, 8]
    assert letters == [
        DeadLetter(b"x", f"{error}b'x'", "t", 3, 9, 1005 - 3_600_000),
        DeadLetter(b"y", f"{error}b'y'"),
    ]


def test_what_the_schema_passes_over_is_no_dead_letter() -> None:
    assert outcome(DeserializeFunction(Picky(), dead_letters=DEAD), b"0", b"1") == ([1], [])


class Header(HeadersDeserializationSchema):
    def deserialize_with_headers(self, message: bytes, headers: Any) -> Any:
        return dict(headers).get("h", b"none"), message


def test_a_schema_that_wants_headers_is_given_those_that_there_are() -> None:
    of_spark = Row(value=b"b", headers=[Row(key="h", value=b"1")])
    found, _ = outcome(DeserializeFunction(Header()), Message(b"a"), of_spark, b"c")
    assert found == [(None, b"a"), (b"1", b"b"), (b"none", b"c")]


def test_keys_are_read_too_where_they_have_a_schema() -> None:
    function = DeserializeFunction(OF_IDS, key_schema=Picky(), dead_letters=DEAD)
    value = b'{"id": 1}'
    messages = Message(value, key=b"7"), Message(value, key=None), Message(value), value
    found, (letter,) = outcome(function, *messages)
    assert found == [(7, Row(id=1)), (None, Row(id=1)), (None, Row(id=1))]
    assert (letter.message, letter.key) == (value, b"k")
    assert letter.error == "ValueError: invalid literal for int() with base 10: b'k'"


def test_without_a_tag_a_message_that_holds_no_record_is_an_error() -> None:
    env = local_environment()
    records = env.from_collection([b"?"]).process(DeserializeFunction(OF_IDS))
    with pytest.raises(MalformedMessageError, match="is no JSON object"):
        list(records.execute_and_collect())

    function = DeserializeFunction(Picky())
    with pytest.raises(
        MalformedMessageError, match=r"topic 'events', partition 1, offset 7, .*'\?'"
    ):
        outcome(function, Message(b"1"), Message(b"?", offset=7))


def test_the_text_of_a_letter_is_short() -> None:
    _, (letter,) = outcome(DeserializeFunction(Picky(), dead_letters=DEAD), b"x" * 100_000)
    assert len(letter.error) < 1010
    assert letter.error.startswith("ValueError: invalid literal")


def test_no_message_is_given_up_because_the_registry_is_away() -> None:
    with pytest.raises(SchemaRegistryNotReachableError, match="The registry is away"):
        outcome(DeserializeFunction(Away(), dead_letters=DEAD), b"1")


def test_arguments_are_checked() -> None:
    with pytest.raises(InvalidArgumentError, match="'JSON' is no DeserializationSchema"):
        DeserializeFunction("JSON")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="5 is no DeserializationSchema"):
        DeserializeFunction(SimpleStringSchema(), key_schema=5)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="no OutputTag"):
        DeserializeFunction(SimpleStringSchema(), dead_letters="dead")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="5 is no message"):
        outcome(DeserializeFunction(SimpleStringSchema(), dead_letters=DEAD), 5)
