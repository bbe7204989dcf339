"""Programs that read and write topics of Kafka; PyFlink runs the same file by `on_pyflink`."""

from __future__ import annotations

from typing import Any

from penstock.common import SimpleStringSchema, Types, WatermarkStrategy
from penstock.datastream.connectors import DeliveryGuarantee
from penstock.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from penstock.datastream.connectors.number_seq import NumberSequenceSource

KEYS = 100
DIGITS = 10
REST = "." * 90

Count = tuple[int, int, int]
"""A key, how many records of it came so far, and when the last of them was due."""


def message(number: int) -> str:
    """A message of 100 bytes."""
    return f"{number:0{DIGITS}}{REST}"


def number_of(text: str) -> int:
    return int(text[:DIGITS])


def due_message(number: int, due: int) -> str:
    """A message that says its key and when it was due."""
    return f"{number % KEYS},{due}"


def one_of(text: str) -> Count:
    key, due = text.split(",")
    return int(key), 1, int(due)


def key_of(count: Count) -> int:
    return count[0]


def add(known: Count, new: Count) -> Count:
    return new[0], known[1] + new[1], new[2]


def as_text(count: Count) -> str:
    return f"{count[0]},{count[1]},{count[2]}"


def count_of(text: str) -> Count:
    key, count, due = map(int, text.split(","))
    return key, count, due


def numbers_read(env: Any, servers: str, topic: str) -> Any:
    """The numbers in the messages that a topic holds."""
    return _messages(env, servers, topic, is_bounded=True).map(number_of, Types.LONG())


def write_numbers(env: Any, servers: str, topic: str, guarantee: str, records: int) -> None:
    """Writes messages of the numbers from 1."""
    numbers = env.from_source(
        NumberSequenceSource(1, records), WatermarkStrategy.no_watermarks(), "numbers"
    )
    numbers.map(message, Types.STRING()).sink_to(_sink(servers, topic, guarantee))


def count_keys(env: Any, servers: str, topic: str, results: str) -> None:
    """Counts each key's messages, and writes every count to another topic, exactly once."""
    number = Types.LONG()
    counts = (
        _messages(env, servers, topic, is_bounded=False)
        .map(one_of, Types.TUPLE([number, number, number]))
        .key_by(key_of, number)
        .reduce(add)
    )
    counts.map(as_text, Types.STRING()).sink_to(_sink(servers, results, "EXACTLY_ONCE"))


def _messages(env: Any, servers: str, topic: str, *, is_bounded: bool) -> Any:
    builder = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(topic)
        .set_group_id("benchmark")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(SimpleStringSchema())
        .set_property("isolation.level", "read_committed")
    )
    if is_bounded:
        builder.set_bounded(KafkaOffsetsInitializer.latest())
    return env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), "messages")


def _sink(servers: str, topic: str, guarantee: str) -> Any:
    records = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    return (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(records)
        .set_delivery_guarantee(DeliveryGuarantee[guarantee])
        .set_transactional_id_prefix(topic)
        .set_property("transaction.timeout.ms", "300000")
        .build()
    )
