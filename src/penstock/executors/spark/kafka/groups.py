"""Tells consumer groups how far topics are read that Spark's own connector reads."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

from penstock.errors import KafkaClientNotFoundError, KafkaPropertyError
from penstock.runtime.planned.kafka.broker import Broker, KafkaBroker
from penstock.runtime.planned.kafka.client import connection_properties
from penstock.runtime.planned.kafka.offsets import KafkaTopicPartition, Offsets
from penstock.runtime.planned.kafka.source import KafkaRecords

_LOG: Final = logging.getLogger("penstock")
_OF_GROUP: Final = ("group.id", "isolation.level")


@dataclass(frozen=True)
class ReadTopics:
    """Topics as Spark's connector reads them.

    Attributes:
        records: What is read of them.
        ends: Where the reading of a bounded stream ends; None if that is not known.
    """

    records: KafkaRecords
    ends: Offsets | None = None


def asking_properties(records: KafkaRecords) -> dict[str, Any]:
    """Return the properties of a client that reads nothing, and asks for offsets or commits them.

    Args:
        records: What Spark reads.

    Raises:
        KafkaPropertyError: If one means something that librdkafka cannot do.
    """
    properties = records.client_properties
    own = {key: properties[key] for key in _OF_GROUP if key in properties}
    return connection_properties(properties) | own


class ConsumerGroups:
    """The consumer groups of topics that Spark's connector reads, as far as librdkafka reaches them.

    They hear of what is committed, as they do where Python reads. The job does not depend on it: what fails is in the
    log.

    Args:
        topics: What is read, by the numbers of the sources.
        connect: Returns what commits, given properties as librdkafka has them.
    """

    def __init__(
        self,
        topics: Mapping[int, ReadTopics],
        connect: Callable[[Mapping[str, Any]], Broker] = KafkaBroker,
    ) -> None:
        self._lock = threading.Lock()
        self._brokers: dict[int, Broker] = {}
        self._told: dict[int, Offsets] = {}
        self._ends = {number: one.ends for number, one in topics.items() if one.ends is not None}
        for number, one in topics.items():
            if one.records.reading.commits:
                try:
                    self._brokers[number] = connect(asking_properties(one.records))
                except (KafkaClientNotFoundError, KafkaPropertyError) as error:
                    _LOG.warning(
                        "the consumer group %s does not hear how far it has read, and its lag cannot be seen: topics "
                        "are read by Spark's connector for Kafka, and librdkafka, which would tell the group, cannot: "
                        "%s Look at the metrics of the job, and set commit.offsets.on.checkpoint=false to hear no "
                        "more of this",
                        one.records.properties["group.id"],
                        error.message,
                    )

    def __bool__(self) -> bool:
        return bool(self._brokers)

    def tell(self, source: int, offsets: str) -> None:
        """Let the group of a source, if it has one, know how far it has read.

        Args:
            source: The source's number.
            offsets: The next offset of each partition, by its topic and its number, as JSON of Spark's.
        """
        if source in self._brokers:
            found = {
                KafkaTopicPartition(topic, int(partition)): offset
                for topic, partitions in json.loads(offsets).items()
                for partition, offset in partitions.items()
            }
            self._tell(source, found)

    def tell_ends(self, sources: Iterable[int]) -> None:
        """Let groups know that bounded sources, by their numbers, were read to their end."""
        for source in sources:
            if source in self._ends:
                self._tell(source, self._ends[source])

    def _tell(self, source: int, offsets: Offsets) -> None:
        with self._lock:
            if source in self._brokers and self._told.get(source) != offsets:
                self._told[source] = offsets
                self._brokers[source].commit(offsets)

    def look(self) -> None:
        """Hear what came of it; called every now and then."""
        with self._lock:
            for broker in self._brokers.values():
                broker.look()

    def close(self) -> None:
        """Let go of connections, when the groups have heard of all."""
        with self._lock, ExitStack() as closing:
            for broker in self._brokers.values():
                closing.callback(broker.close)
            self._brokers = {}
