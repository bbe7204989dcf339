from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.datastream.connectors.kafka.topics import Topic
from tests.datastream.formats.registry.test_registry_avro import (
    ID,
    Reader,
    Writer,
    event,
    message,
    schema,
)
from tests.servers.schema_registry import FakeSchemaRegistry

from penstock.common import Row, WatermarkStrategy
from penstock.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from penstock.testing import local_environment

if TYPE_CHECKING:
    from tests.servers.kafka_server import KafkaCluster

FARE = {"name": "fare", "type": "double"}
CITY = {"name": "city", "type": "string", "default": "rome"}


@pytest.mark.kafka
def test_keys_and_values_of_a_registry_go_to_kafka_and_come_back(
    kafka: KafkaCluster, registry: FakeSchemaRegistry
) -> None:
    topic = Topic(kafka)
    keys, values = event(ID), event(ID, FARE)
    write = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic.name)
        .set_key_serialization_schema(Writer.for_generic("fares-key", schema(keys), registry.url))
        .set_value_serialization_schema(
            Writer.for_generic("fares-value", schema(values), registry.url)
        )
        .build()
    )
    sink = KafkaSink.builder().set_bootstrap_servers(topic.servers).set_record_serializer(write)
    env = local_environment()
    env.from_collection([Row(id=1, fare=2.5), Row(id=2, fare=4.5)]).sink_to(sink.build())
    env.execute()
    # A writer with a newer schema, whose ids are in headers.
    newer = event(CITY, FARE, ID)
    ids = {"key": registry.register("fares-key", keys), "value": registry.register("v2", newer)}
    topic.write(
        [message(0, newer, {"id": 3, "fare": 6.5, "city": "bonn"})[5:]],
        key=message(0, keys, {"id": 3})[5:],
        headers=[
            (f"__{part}_schema_id", b"\1" + number.to_bytes(16, "big"))
            for part, number in ids.items()
        ],
    )

    read_key = Reader.for_rows(schema(keys), registry.url, is_key=True)
    read = Reader.for_rows(schema(event(ID, FARE, CITY)), registry.url)

    def with_key(record: Any) -> Any:
        return (
            read_key.deserialize_with_headers(record.key, record.headers),
            read.deserialize_with_headers(record.value, record.headers),
        )

    def found(builder: Any) -> list[Any]:
        source = builder.set_bootstrap_servers(topic.servers).set_topics(topic.name)
        source = source.set_bounded(KafkaOffsetsInitializer.latest()).build()
        no_watermarks = WatermarkStrategy.no_watermarks()
        return list(
            local_environment().from_source(source, no_watermarks, "fares").execute_and_collect()
        )

    rows = [
        Row(id=1, fare=2.5, city="rome"),
        Row(id=2, fare=4.5, city="rome"),
        Row(id=3, fare=6.5, city="bonn"),
    ]
    assert found(KafkaSource.builder().set_value_only_deserializer(read)) == rows
    pairs = found(KafkaSource.builder().set_record_deserializer(with_key))
    assert pairs == [(Row(id=row.id), row) for row in rows]
    looked_up = [one for one in registry.requests if one.startswith("GET")]
    assert len(looked_up) == len(set(looked_up)) == 4
    assert json.loads(registry.schemas[ids["value"]]["schema"]) == newer
