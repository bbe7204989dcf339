"""How far the topics of a job are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.runtime.planned.kafka.offsets import KafkaTopicPartition
from penstock.runtime.planned.kafka.source import KafkaRecords


class Position(NamedTuple):
    """How far a partition of a topic is read.

    Attributes:
        source: The id of the source's operator.
        partition: The topic and the number of the partition, as "fares-0".
        next_offset: The offset that is read next.
        end_offset: Where reading ends; None for never.
    """

    source: str
    partition: str
    next_offset: int
    end_offset: int | None


def positions_of(record: EpochRecord) -> Iterator[Position]:
    """Yield how far partitions of topics of Kafka are read after an epoch.

    Args:
        record: The epoch.
    """
    for source, read in record.planned.items():
        if read.kind == KafkaRecords.kind:
            for topic, number, next_offset, end_offset, *_ in read.state or ():
                partition = str(KafkaTopicPartition(topic, number))
                yield Position(source, partition, next_offset, end_offset)
