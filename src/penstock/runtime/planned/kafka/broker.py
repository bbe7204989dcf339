"""What the driver asks a Kafka: which partitions there are, and how far they reach."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from penstock.errors import KafkaAccessError, KafkaTopicNotFoundError
from penstock.runtime.planned.kafka.client import (
    connection_properties,
    kafka_client,
    new_client,
)
from penstock.runtime.planned.kafka.failures import failure
from penstock.runtime.planned.kafka.offsets import KafkaTopicPartition

_LOG: Final = logging.getLogger("penstock")
_SECONDS: Final = 5.0
"""How long one question may take."""
_REFRESH_SECONDS: Final = 2.0
_END_SECONDS: Final = 5.0

Offsets = dict[KafkaTopicPartition, int]


class Broker(ABC):
    """Knows partitions and their offsets."""

    @abstractmethod
    def partitions(self) -> Mapping[str, Sequence[int]]:
        """Return the numbers of the partitions of each topic.

        Raises:
            KafkaNotReachableError: If no broker answers.
            KafkaAccessError: If it does not let the user in.
        """

    @abstractmethod
    def ids(self, topics: Collection[str]) -> Mapping[str, str]:
        """Return the id of each topic, which no later topic of its name has; nothing of those that have none.

        Raises:
            KafkaNotReachableError: If no broker answers.
        """

    @abstractmethod
    def earliest(self, partitions: Collection[KafkaTopicPartition]) -> Offsets:
        """Return the offset of the first record that is there.

        Raises:
            KafkaNotReachableError: If no broker answers for a partition.
            KafkaTopicNotFoundError: If there is none of that name.
            KafkaAccessError: If the user may not see it.
        """

    @abstractmethod
    def latest(self, partitions: Collection[KafkaTopicPartition]) -> Offsets:
        """Return the offset behind the last record that may be read; raises as `earliest`."""

    @abstractmethod
    def at(self, partitions: Collection[KafkaTopicPartition], timestamp: int) -> Offsets:
        """Return the offset of the first record as young as a time (milliseconds), where there is one."""

    @abstractmethod
    def committed(self, partitions: Collection[KafkaTopicPartition]) -> Offsets:
        """Return what the consumer group has committed, where it has; nothing without a group."""

    @abstractmethod
    def commit(self, offsets: Mapping[KafkaTopicPartition, int]) -> None:
        """Let others see how far the consumer group has read. What fails is in the log."""

    @abstractmethod
    def look(self) -> None:
        """Hear what came of commits; called every now and then."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections, when what was to be committed is."""


class KafkaBroker(Broker):
    """A Kafka, asked by librdkafka.

    Args:
        properties: The consumer's properties, as librdkafka has them.
    """

    def __init__(self, properties: Mapping[str, Any]) -> None:
        self._client = kafka_client()
        self._servers = properties.get("bootstrap.servers")
        self._group = properties.get("group.id")
        self._is_committed = properties.get("isolation.level") != "read_uncommitted"
        self._trouble: Any = None
        self._is_stale = False
        self._to_commit: Offsets = {}
        self._is_sent = False
        self._has_complained = False
        base = {"group.id": "penstock", **properties, "enable.auto.commit": False}
        self._consumer = new_client(
            "Consumer", base, error_cb=self._note, on_commit=self._on_commit
        )
        own = connection_properties(properties)
        self._admin = new_client("AdminClient", own, error_cb=self._note)

    def _note(self, error: Any) -> None:
        self._trouble = error

    def partitions(self) -> Mapping[str, Sequence[int]]:
        with self._asking("topics"):
            found = self._admin.list_topics(timeout=_SECONDS)
        return {
            name: sorted(topic.partitions)
            for name, topic in found.topics.items()
            if topic.error is None
        }

    def ids(self, topics: Collection[str]) -> Mapping[str, str]:
        if not topics:
            return {}
        wanted = self._client.TopicCollection(sorted(topics))
        answers = self._admin.describe_topics(wanted, request_timeout=_SECONDS)
        found = {}
        for name, answer in answers.items():
            gone = suppress(KafkaTopicNotFoundError, KafkaAccessError)
            with gone, self._asking(f"topic {name}"):
                topic_id = answer.result().topic_id
                # Brokers that know of no ids answer with 0.
                if topic_id.get_most_significant_bits() or topic_id.get_least_significant_bits():
                    found[name] = str(topic_id)
        return found

    def earliest(self, partitions: Collection[KafkaTopicPartition]) -> Offsets:
        return self._asked(partitions, "earliest")

    def latest(self, partitions: Collection[KafkaTopicPartition]) -> Offsets:
        return self._asked(partitions, "latest")

    def at(self, partitions: Collection[KafkaTopicPartition], timestamp: int) -> Offsets:
        found = self._asked(partitions, "for_timestamp", timestamp)
        return {partition: offset for partition, offset in found.items() if offset >= 0}

    def _asked(
        self, partitions: Collection[KafkaTopicPartition], kind: str, *times: int
    ) -> Offsets:
        if not partitions:
            return {}
        self._refresh()
        level = self._client.IsolationLevel
        isolation = level.READ_COMMITTED if self._is_committed else level.READ_UNCOMMITTED
        make = getattr(self._client.admin.OffsetSpec, kind)
        wanted = {
            self._client.TopicPartition(one.topic, one.partition): make(*times)
            for one in partitions
        }
        answers = self._admin.list_offsets(
            wanted, isolation_level=isolation, request_timeout=_SECONDS
        )
        # Of a time that is still to come the offset is -1.
        least = -1 if times else 0
        found = {}
        for place, answer in answers.items():
            with self._asking(f"{place.topic}-{place.partition}"):
                offset = answer.result().offset
                if offset < least:
                    # So the client answers when the connection breaks.
                    error = self._client.KafkaError
                    raise self._client.KafkaException(error(error._TRANSPORT))  # noqa: SLF001
                found[KafkaTopicPartition(place.topic, place.partition)] = offset
        return found

    def _refresh(self) -> None:
        """Ask who leads which partition after a failure: until then the client keeps to what it knew before."""
        if self._is_stale:
            with self._asking("its topics"):
                self._admin.list_topics(timeout=_REFRESH_SECONDS)
            self._is_stale = False

    @contextmanager
    def _asking(self, about: str) -> Iterator[None]:
        try:
            yield
        except self._client.KafkaException as error:
            self._admin.poll(0)
            self._is_stale = True
            raise failure(error.args[0], about, self._servers, self._trouble) from error
        self._trouble = None

    def committed(self, partitions: Collection[KafkaTopicPartition]) -> Offsets:
        if not partitions or self._group is None:
            return {}
        wanted = [self._client.TopicPartition(one.topic, one.partition) for one in partitions]
        with self._asking(f"the consumer group {self._group!r}"):
            found = self._consumer.committed(wanted, timeout=_SECONDS)
        return {
            KafkaTopicPartition(one.topic, one.partition): one.offset
            for one in found
            if one.offset >= 0
        }

    def commit(self, offsets: Mapping[KafkaTopicPartition, int]) -> None:
        self._to_commit = dict(offsets)
        self._send_commit()

    def _send_commit(self) -> None:
        """Send the newest offsets, if none are under way: what is committed never goes back."""
        if not self._to_commit or self._is_sent:
            return
        wanted = [
            self._client.TopicPartition(one.topic, one.partition, offset)
            for one, offset in self._to_commit.items()
        ]
        self._to_commit, self._is_sent = {}, True
        try:
            self._consumer.commit(offsets=wanted, asynchronous=True)
        except self._client.KafkaException as error:
            self._on_commit(error.args[0], [])

    def _on_commit(self, error: Any, partitions: Sequence[Any]) -> None:
        self._is_sent = False
        error = error or next((one.error for one in partitions if one.error is not None), None)
        if error is None:
            self._has_complained = False
        elif not self._has_complained:
            self._has_complained = True
            _LOG.warning(
                "the consumer group %s cannot be told how far it has read: %s; the job goes on, as it keeps its "
                "offsets itself",
                self._group,
                error.str(),
            )

    def look(self) -> None:
        self._consumer.poll(0)
        self._admin.poll(0)
        self._send_commit()

    def close(self) -> None:
        end = time.monotonic() + _END_SECONDS
        self._send_commit()
        while (self._is_sent or self._to_commit) and time.monotonic() < end:
            self._consumer.poll(0.1)
            self._send_commit()
        self._consumer.close()
