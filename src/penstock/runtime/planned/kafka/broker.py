"""What the driver asks a Kafka: which partitions there are, and how far they reach."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, Final

from penstock.errors import KafkaAccessError, KafkaTopicNotFoundError
from penstock.runtime.planned.kafka.cancellation import Cancellation
from penstock.runtime.planned.kafka.client import (
    CONSUMER_DEFAULTS,
    connection_properties,
    kafka_client,
    new_client,
)
from penstock.runtime.planned.kafka.failures import failure, is_passing
from penstock.runtime.planned.kafka.group import ConsumerGroup
from penstock.runtime.planned.kafka.offsets import KafkaTopicPartition, Offsets

_ANSWER_SECONDS: Final = 5.0
"""How long one question may take."""
_REFRESH_SECONDS: Final = 2.0


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
    def written(self, partitions: Collection[KafkaTopicPartition]) -> Offsets:
        """Return the offset behind the last record, whether or not it may be read yet; raises as `earliest`."""

    @abstractmethod
    def at(self, partitions: Collection[KafkaTopicPartition], timestamp: int) -> Offsets:
        """Return the offset of the first record as young as a time (milliseconds), where there is one.

        It may be one that may not be read yet.
        """

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
        cancellation: Ends what waits for it. Default: nothing does.
    """

    def __init__(
        self, properties: Mapping[str, Any], cancellation: Cancellation | None = None
    ) -> None:
        self._client = kafka_client()
        self._cancellation = cancellation or Cancellation()
        self._servers = properties.get("bootstrap.servers")
        self._trouble: Any = None
        self._is_stale = False
        self._failed: Any = None
        self._waiting = ThreadPoolExecutor(1, "penstock waits for a broker")
        self._listing: Future[Any] | None = None
        base = {**CONSUMER_DEFAULTS, **properties}
        self._is_committed = base["isolation.level"] != "read_uncommitted"
        # Tasks make consumers of these properties: what is wrong with them is said here.
        new_client("Consumer", base).close()
        own = connection_properties(properties)
        self._admin = new_client("AdminClient", own, error_cb=self._note)
        self._group: ConsumerGroup | None = None
        if (name := properties.get("group.id")) is not None:
            self._group = ConsumerGroup(
                lambda: new_client("AdminClient", own), name, _ANSWER_SECONDS, self._cancellation
            )

    def _note(self, error: Any) -> None:
        self._trouble = error

    def partitions(self) -> Mapping[str, Sequence[int]]:
        self._refresh()
        with self._errors_about("topics"):
            found = self._list(_ANSWER_SECONDS)
        return {
            name: sorted(topic.partitions)
            for name, topic in found.topics.items()
            if topic.error is None
        }

    def _list(self, seconds: float) -> Any:
        return self._cancellation.asked(
            lambda share: self._admin.list_topics(timeout=share), seconds
        )

    def ids(self, topics: Collection[str]) -> Mapping[str, str]:
        if not topics:
            return {}
        self._refresh()
        wanted = self._client.TopicCollection(sorted(topics))
        answers = self._admin.describe_topics(wanted, request_timeout=_ANSWER_SECONDS)
        found = {}
        for name, answer in answers.items():
            gone = suppress(KafkaTopicNotFoundError, KafkaAccessError)
            with gone, self._errors_about(f"topic {name}"):
                topic_id = self._cancellation.answer(answer).topic_id
                # Brokers that know of no ids answer with 0.
                if topic_id.get_most_significant_bits() or topic_id.get_least_significant_bits():
                    found[name] = str(topic_id)
        return found

    def earliest(self, partitions: Collection[KafkaTopicPartition]) -> Offsets:
        return self._offsets(partitions, "earliest")

    def latest(self, partitions: Collection[KafkaTopicPartition]) -> Offsets:
        return self._offsets(partitions, "latest", is_committed=self._is_committed)

    def written(self, partitions: Collection[KafkaTopicPartition]) -> Offsets:
        return self._offsets(partitions, "latest")

    def at(self, partitions: Collection[KafkaTopicPartition], timestamp: int) -> Offsets:
        found = self._offsets(partitions, "for_timestamp", timestamp)
        return {partition: offset for partition, offset in found.items() if offset >= 0}

    def _offsets(
        self,
        partitions: Collection[KafkaTopicPartition],
        kind: str,
        *times: int,
        is_committed: bool = False,
    ) -> Offsets:
        if not partitions:
            return {}
        self._refresh()
        level = self._client.IsolationLevel
        isolation = level.READ_COMMITTED if is_committed else level.READ_UNCOMMITTED
        make = getattr(self._client.admin.OffsetSpec, kind)
        wanted = {
            self._client.TopicPartition(one.topic, one.partition): make(*times)
            for one in partitions
        }
        answers = self._admin.list_offsets(
            wanted, isolation_level=isolation, request_timeout=_ANSWER_SECONDS
        )
        # Of a time that is still to come the offset is -1.
        least = -1 if times else 0
        found = {}
        for asked, answer in answers.items():
            one = KafkaTopicPartition(asked.topic, asked.partition)
            with self._errors_about(str(one)):
                offset = self._cancellation.answer(answer).offset
                if offset < least:
                    # So the client answers when the connection breaks.
                    error = self._client.KafkaError
                    raise self._client.KafkaException(error(error._TRANSPORT))  # noqa: SLF001 - a public name
                found[one] = offset
        return found

    def _refresh(self) -> None:
        """Ask who leads which partition after a failure: until then the client keeps to what it knew before.

        While nobody answers that keeps nobody waiting, as other sources are read, and timers fire.
        """
        if not self._is_stale:
            return
        with self._errors_about("its topics"):
            if self._listing is None:
                self._list(_REFRESH_SECONDS)
            elif self._listing.done():
                self._listing.result()
            else:
                raise self._client.KafkaException(self._failed)
        self._is_stale, self._listing = False, None

    @contextmanager
    def _errors_about(self, about: str) -> Iterator[None]:
        """Say what an error means that comes inside."""
        try:
            yield
        except self._client.KafkaException as error:
            self._admin.poll(0)
            self._is_stale = True
            self._failed = error.args[0]
            if is_passing(self._failed) and (self._listing is None or self._listing.done()):
                self._listing = self._waiting.submit(self._list, _REFRESH_SECONDS)
            raise failure(self._failed, about, self._servers, self._trouble) from error
        self._trouble = None

    def committed(self, partitions: Collection[KafkaTopicPartition]) -> Offsets:
        if not partitions or self._group is None:
            return {}
        with self._errors_about(f"the consumer group {self._group.name!r}"):
            return self._group.committed(partitions)

    def commit(self, offsets: Mapping[KafkaTopicPartition, int]) -> None:
        if self._group is not None:
            self._group.commit(offsets)

    def look(self) -> None:
        self._admin.poll(0)
        if self._group is not None:
            self._group.look()

    def close(self) -> None:
        if self._group is not None:
            self._group.close()
        self._waiting.shutdown(wait=False)
        # An AdminClient ends with its last reference, and what it tells of errors is this object's.
        del self._admin
