"""Sinks that send texts to Kafka, exactly once."""

from __future__ import annotations

from typing import Any

from tests.datastream.connectors.kafka.topics import Topic

from penstock.common import SimpleStringSchema
from penstock.datastream.connectors import DeliveryGuarantee
from penstock.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink


def sink_into(
    servers: str, topic: str, *, prefix: str = "", shares: int = 1, **properties: str
) -> KafkaSink:
    """Return a sink for a topic of some brokers."""
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    builder = (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(serializer)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(prefix or f"job-{topic}")
        .set_transactions_per_epoch(shares)
    )
    for key, value in properties.items():
        builder.set_property(key.replace("_", "."), value)
    return builder.build()


def sink_of(topic: Topic, **options: Any) -> KafkaSink:
    """Return a sink for a topic."""
    return sink_into(topic.servers, topic.name, **options)
