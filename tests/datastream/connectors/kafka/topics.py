"""Topics that tests write to, and read as others would."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
)
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewPartitions, NewTopic
from tests.servers.kafka_server import KafkaCluster

PATIENCE = 60.0


class Seen(NamedTuple):
    """A record as a consumer sees it."""

    value: bytes | None
    key: bytes | None
    partition: int
    timestamp: int
    headers: Any


@contextmanager
def forbidden(
    cluster: KafkaCluster, kind: ResourceType, name: str, user: str = "*"
) -> Iterator[None]:
    """Nobody may do more with a resource inside than a user may: to read it."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    exactly, allow = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    all_that = (kind, name, exactly, f"User:{user}", "*", AclOperation.READ, allow)
    for future in admin.create_acls([AclBinding(*all_that)]).values():
        future.result(PATIENCE)
    Topic(cluster)  # Brokers hear of one thing after the other.
    try:
        yield
    finally:
        for removed in admin.delete_acls([AclBindingFilter(*all_that)]).values():
            removed.result(PATIENCE)
        Topic(cluster)


def delete_topic(servers: str, name: str) -> None:
    """Delete a topic, and wait until it is gone."""
    admin = AdminClient({"bootstrap.servers": servers})
    admin.delete_topics([name])[name].result(PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while name in admin.list_topics(timeout=PATIENCE).topics:
        assert time.monotonic() < deadline


class Topic:
    """A new topic."""

    def __init__(
        self, cluster: KafkaCluster, partitions: int = 1, *, prefix: str = "topic", **config: str
    ) -> None:
        self.servers = cluster.bootstrap_servers
        self.name = f"{prefix}-{uuid.uuid4().hex}"
        self._partitions = partitions
        self._settings = {key.replace("_", "."): value for key, value in config.items()}
        self.make()

    def make(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.servers})
        new = NewTopic(self.name, num_partitions=self._partitions, config=self._settings)
        admin.create_topics([new])[self.name].result(PATIENCE)
        deadline = time.monotonic() + PATIENCE
        while self.name not in admin.list_topics(timeout=PATIENCE).topics:
            assert time.monotonic() < deadline

    def make_anew(self) -> None:
        """Delete the topic, and make another one of its name."""
        delete_topic(self.servers, self.name)
        self.make()

    def delete_records(self, before: int) -> None:
        """Delete those of the first partition before an offset, as retention does."""
        admin = AdminClient({"bootstrap.servers": self.servers})
        place = TopicPartition(self.name, 0, before)
        admin.delete_records([place])[place].result(PATIENCE)

    def add_partition(self) -> None:
        self._partitions += 1
        admin = AdminClient({"bootstrap.servers": self.servers})
        admin.create_partitions([NewPartitions(self.name, self._partitions)])[self.name].result()
        deadline = time.monotonic() + PATIENCE
        while (
            len(admin.list_topics(timeout=PATIENCE).topics[self.name].partitions) < self._partitions
        ):
            assert time.monotonic() < deadline

    def write(
        self, values: Iterable[str | bytes | None], *, partition: int = 0, **more: Any
    ) -> None:
        """Write messages into a partition."""
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 0})
        for value in values:
            producer.produce(self.name, value, partition=partition, **more)
        assert producer.flush(PATIENCE) == 0

    def read(self) -> list[Seen]:
        """Return what is there for a consumer that reads what is committed, partition by partition."""
        settings: dict[str, Any] = {
            "bootstrap.servers": self.servers,
            "group.id": uuid.uuid4().hex,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,
        }
        found: list[Seen] = []
        ended: set[int] = set()
        ends = self._ends()
        with closing(Consumer(settings)) as consumer:
            consumer.assign([TopicPartition(self.name, n, 0) for n in range(self._partitions)])
            while len(ended) < self._partitions:
                message = consumer.poll(1)
                if message is not None:
                    error, partition = message.error(), message.partition()
                    assert partition is not None
                    if error is None:
                        found.append(
                            Seen(
                                message.value(),
                                message.key(),
                                partition,
                                message.timestamp()[1],
                                message.headers(),
                            )
                        )
                    else:
                        assert error.name() == "_PARTITION_EOF", error
                        # A transaction may be committed before its partitions know of it.
                        if (message.offset() or 0) >= ends[partition]:
                            ended.add(partition)
        return sorted(found, key=lambda one: one.partition)

    def set(self, key: str, value: str) -> None:
        """Change a setting."""
        entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, self.name, incremental_configs=[entry])
        admin = AdminClient({"bootstrap.servers": self.servers})
        admin.incremental_alter_configs([resource])[resource].result(PATIENCE)

    def wait_for_end_of_transactions(self) -> None:
        """Return when none is open any more."""
        deadline = time.monotonic() + PATIENCE
        while self._ends("read_committed") < self._ends():
            assert time.monotonic() < deadline

    def _ends(self, isolation: str = "read_uncommitted") -> list[int]:
        """Return where partitions end, for readers that see transactions that are open, or not."""
        settings = {"bootstrap.servers": self.servers, "group.id": uuid.uuid4().hex}
        settings["isolation.level"] = isolation
        with closing(Consumer(settings)) as consumer:
            places = [TopicPartition(self.name, n) for n in range(self._partitions)]
            return [consumer.get_watermark_offsets(place, PATIENCE)[1] for place in places]

    def values(self) -> list[str]:
        return [(one.value or b"").decode() for one in self.read()]

    def committed(self, group: str | None = None) -> dict[int, int]:
        """Return the offsets that a group has committed, by default the one that is named like the topic."""
        settings = {"bootstrap.servers": self.servers, "group.id": group or self.name}
        partitions = [TopicPartition(self.name, n) for n in range(self._partitions)]
        with closing(Consumer(settings)) as consumer:
            return {one.partition: one.offset for one in consumer.committed(partitions, PATIENCE)}
