"""Topics of Kafka, read and written."""

from __future__ import annotations

from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka.consumer import (
    FlinkKafkaConsumer,
    FlinkKafkaConsumerBase,
)
from penstock.datastream.connectors.kafka.dead_letters import DeadLetterSerializationSchema
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
from penstock.datastream.connectors.kafka.records import KafkaConsumerRecord
from penstock.datastream.connectors.kafka.sink import KafkaSink, KafkaSinkBuilder
from penstock.datastream.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from penstock.runtime.planned.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)

__all__ = [
    "DeadLetterSerializationSchema",
    "DeliveryGuarantee",
    "FlinkKafkaConsumer",
    "FlinkKafkaConsumerBase",
    "FlinkKafkaProducer",
    "FlinkKafkaProducerBase",
    "KafkaConsumerRecord",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecord",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "Semantic",
]
