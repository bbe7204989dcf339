"""Topics of Kafka."""

from __future__ import annotations

from penstock.datastream.connectors.kafka.producer import (
    FlinkKafkaProducer,
    FlinkKafkaProducerBase,
    Semantic,
)
from penstock.datastream.connectors.kafka.record_serialization import (
    KafkaRecord,
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaTopicSelector,
)
from penstock.datastream.connectors.kafka.sink import KafkaSink, KafkaSinkBuilder

__all__ = [
    "FlinkKafkaProducer",
    "FlinkKafkaProducerBase",
    "KafkaRecord",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaTopicSelector",
    "Semantic",
]
