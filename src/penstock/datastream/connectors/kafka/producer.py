"""The sink for Kafka by its earlier name."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Self

from penstock.common.serialization import SerializationSchema
from penstock.common.serialization.schema import is_own
from penstock.datastream.connectors.kafka.record_serialization import (
    KafkaRecord,
    RecordColumns,
    SerializesColumns,
    checked_schema,
    checked_topic,
    kafka_timestamp,
    kafka_timestamps,
)
from penstock.datastream.connectors.kafka.sink import SinkOfKafka
from penstock.datastream.connectors.kafka.target import KafkaTarget
from penstock.errors import InvalidArgumentError
from penstock.runtime.planned.kafka.client import checked_property

__all__ = ["FlinkKafkaProducer", "FlinkKafkaProducerBase", "Semantic"]


class Semantic(Enum):
    """What a `FlinkKafkaProducer` promises; see `DeliveryGuarantee`.

    Attributes:
        EXACTLY_ONCE: Each record is there once.
        AT_LEAST_ONCE: Each record is there, when something fails maybe more than once.
        NONE: The same here; with Flink records may be lost.
    """

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


@dataclass(frozen=True)
class _ValueOnly(SerializesColumns):
    topic: str
    value: SerializationSchema
    writes_timestamp: bool = False

    @property
    def place(self) -> str:
        return self.topic

    def record(self, element: Any, timestamp: int | None) -> KafkaRecord:
        kept = kafka_timestamp(timestamp) if self.writes_timestamp else None
        return KafkaRecord(self.topic, self.value.serialize(element), timestamp=kept)

    def columns(
        self, elements: Sequence[Any], timestamps: Sequence[int | None] | None
    ) -> RecordColumns | None:
        if not is_own(self.value):
            return None
        values = list(map(self.value.serialize, elements))
        kept = timestamps if self.writes_timestamp else None
        return RecordColumns(self.topic, values, None, kafka_timestamps(kept, len(values)))


class FlinkKafkaProducerBase(SinkOfKafka, ABC):
    """What a `FlinkKafkaProducer` can be told."""

    def set_log_failures_only(self, log_failures_only: bool) -> Self:
        """Set whether records that Kafka does not take are logged and left out.

        With `EXACTLY_ONCE` they end the job all the same: an epoch is sent as a whole.

        Args:
            log_failures_only: Whether they are. Default: they end the job.
        """
        return self._with(replace(self.target, logs_failures_only=log_failures_only))

    def set_flush_on_checkpoint(self, flush_on_checkpoint: bool) -> Self:
        """Do nothing: an epoch is never committed before Kafka has all of its records.

        Args:
            flush_on_checkpoint: Not used.
        """
        return self

    def set_write_timestamp_to_kafka(self, write_timestamp_to_kafka: bool) -> Self:
        """Set whether the timestamps of records become those of Kafka's.

        Args:
            write_timestamp_to_kafka: Whether they do. Default: Kafka's are the times at which they are sent.
        """
        serializer = self.target.serializer
        assert isinstance(serializer, _ValueOnly)
        changed = replace(serializer, writes_timestamp=write_timestamp_to_kafka)
        return self._with(replace(self.target, serializer=changed))

    def _with(self, target: KafkaTarget) -> Self:
        object.__setattr__(self, "target", target)
        return self


class FlinkKafkaProducer(FlinkKafkaProducerBase):
    """Writes records without keys into a topic of Kafka, as `KafkaSink` does, of which it is an earlier name.

    Each subtask writes to one partition. Given to `add_sink` or `sink_to`.

    Args:
        topic: The topic.
        serialization_schema: Makes the value of a record.
        producer_config: Properties of Kafka's producer, all of them strings; "bootstrap.servers" says where it is.
            With `EXACTLY_ONCE`, "transactional.id" is what the transactional ids begin with; default: "penstock-"
            and the topic. Two jobs with equal programs need different ones, as the later fences the earlier.
        kafka_producer_pool_size: Not used: there is one producer.
        semantic: What is promised.

    Raises:
        InvalidArgumentError: If it is not said where Kafka is, or an argument is of the wrong kind.
        KafkaPropertyError: If a property has a value that means nothing.

    Example:
        >>> from penstock.common import SimpleStringSchema
        >>> producer = FlinkKafkaProducer(
        ...     "words", SimpleStringSchema(), {"bootstrap.servers": "localhost:9092"}
        ... )
        >>> producer.place
        'localhost:9092 words'
    """

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema,
        producer_config: Mapping[str, str],
        kafka_producer_pool_size: int = 5,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        if not producer_config.get("bootstrap.servers"):
            raise InvalidArgumentError(
                "A FlinkKafkaProducer needs to know where Kafka is.",
                hint='Give it {"bootstrap.servers": "host:9092"}.',
            )
        if not isinstance(semantic, Semantic):
            raise InvalidArgumentError(
                f"{semantic!r} is no Semantic.", hint="Give Semantic.EXACTLY_ONCE, for instance."
            )
        properties = {key: checked_property(key, value) for key, value in producer_config.items()}
        prefix = properties.pop("transactional.id", "") or f"penstock-{topic}"
        target = KafkaTarget(
            properties,
            _ValueOnly(checked_topic(topic), checked_schema(serialization_schema)),
            semantic is Semantic.EXACTLY_ONCE,
            prefix,
            keeps_to_one_partition=True,
        )
        target.check()
        super().__init__(target)

    def ignore_failures_after_transaction_timeout(self) -> Self:
        """Do nothing: no transaction waits for a job that is down, and so none is lost by that."""
        return self
