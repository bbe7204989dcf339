"""The topic that remembers which epochs were sent."""

from __future__ import annotations

import time
from contextlib import closing
from functools import cached_property
from typing import Any, Final

from penstock.datastream.connectors.kafka.sender import described
from penstock.datastream.connectors.kafka.target import KafkaTarget
from penstock.datastream.connectors.kafka.waiting import waited
from penstock.errors import SinkNotWritableError
from penstock.runtime.planned.kafka.client import kafka_client, new_client

_SHORT: Final = 1.0
_NOT_ITS_GROUP: Final = "GROUP_AUTHORIZATION_FAILED"
"""The client asks for a group, with which nothing is done: that the user may not does not matter."""
_SETTINGS: Final = {
    "cleanup.policy": "compact",
    "segment.bytes": str(1 << 20),
    "min.cleanable.dirty.ratio": "0.1",
}


class EpochsTopic:
    """A compacted topic of one partition: for each history of each sink, the last epoch that was sent.

    Its records are in the transactions that send their epochs.

    Args:
        target: Where it is.
    """

    def __init__(self, target: KafkaTarget) -> None:
        self._target = target
        self.name = target.topic_of_epochs

    def create(self) -> None:
        """Create the topic if it is not there.

        Raises:
            SinkError: If it cannot be created.
        """
        client = kafka_client()
        if self._is_there():
            return
        topic = client.admin.NewTopic(self.name, num_partitions=1, config=dict(_SETTINGS))
        patience = self._target.patience
        future = self._admin.create_topics([topic], operation_timeout=patience)[self.name]
        try:
            future.result()
        except client.KafkaException as error:
            if error.args[0].code() != client.KafkaError.TOPIC_ALREADY_EXISTS:
                raise SinkNotWritableError(
                    f"The topic {self.name!r}, in which a sink remembers the epochs that it has sent to "
                    f"{self._target.place}, cannot be created: {error.args[0].str()}",
                    hint="Create it with one partition and cleanup.policy=compact, and grant the sink's user the "
                    "operations Read, Write and Describe on it.",
                ) from error

    @cached_property
    def _admin(self) -> Any:
        return new_client("AdminClient", self._target.connection)

    def _is_there(self) -> bool:
        def ask(seconds: float) -> Any:
            return self._admin.list_topics(timeout=seconds)

        target = self._target
        try:
            return self.name in waited(ask, target.patience, "topics", target.place).topics
        except kafka_client().KafkaException as error:
            raise described(error.args[0], target) from error

    def read(self, *, waits: bool = True) -> dict[str, int]:
        """Return the last epoch that was sent, by history and sink; see `owner`.

        Args:
            waits: Whether transactions that are open are waited for. Those of a producer that was fenced
                are none.

        Raises:
            SinkError: If Kafka cannot be asked, or a transaction stays open.
        """
        client = kafka_client()
        if not self._is_there():
            return {}
        partition = client.TopicPartition(self.name, 0, client.OFFSET_BEGINNING)
        settings = {
            **self._target.connection,
            "group.id": self.name,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 10,
        }
        with closing(new_client("Consumer", settings)) as consumer:
            try:
                end = self._end()
                # A consumer that has no connection yet would look for the beginning half a second later.
                consumer.get_watermark_offsets(partition, self._target.patience)
                consumer.assign([partition])
                return self._read(consumer, end if waits else 0)
            except client.KafkaException as error:
                raise described(error.args[0], self._target) from error

    def _end(self) -> int:
        """Return where the topic ends, open transactions included."""
        client = kafka_client()
        wanted = client.TopicPartition(self.name, 0)
        found = self._admin.list_offsets(
            {wanted: client.admin.OffsetSpec.latest()},
            isolation_level=client.IsolationLevel.READ_UNCOMMITTED,
            request_timeout=self._target.patience,
        )
        return int(found[wanted].result().offset)

    def _read(self, consumer: Any, end: int) -> dict[str, int]:
        found: dict[str, int] = {}
        deadline = time.monotonic() + self._target.transaction_timeout + self._target.patience
        while True:
            message = consumer.poll(_SHORT)
            if message is not None:
                error = message.error()
                if error is None:
                    found[message.key().decode()] = int(message.value())
                elif error.name() == "_PARTITION_EOF":
                    if message.offset() >= end:
                        return found
                elif error.name() != _NOT_ITS_GROUP:
                    raise described(error, self._target)
            if time.monotonic() > deadline:
                raise SinkNotWritableError(
                    f"The topic {self.name!r} of {self._target.place}, which says the epochs that were sent, "
                    f"cannot be read to its end: a transaction stays open.",
                    hint="Does another job write with the same prefix of transactional ids? "
                    "`kafka-transactions.sh list` shows what is open.",
                )


def owner(lineage: str, sink_id: str) -> str:
    """Return what one history of one sink is called in the topic."""
    return f"{lineage}/{sink_id}"
