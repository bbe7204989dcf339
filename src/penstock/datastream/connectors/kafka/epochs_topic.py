"""The topic that remembers which epochs were sent."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeVar

from penstock.datastream.connectors.kafka.failures import failure, missing
from penstock.datastream.connectors.kafka.target import KafkaTarget
from penstock.datastream.connectors.kafka.waiting import waited
from penstock.errors import SinkNotWritableError, SinkTopicError
from penstock.runtime.planned.kafka.cancellation import Cancellation
from penstock.runtime.planned.kafka.client import kafka_client, new_client

_LOG: Final = logging.getLogger("penstock")
_POLL_SECONDS: Final = 0.1
_RETRY_SECONDS: Final = 0.2
_HEARD_SECONDS: Final = 10.0
"""After how long each broker has heard of a topic that is new."""
_NOT_ITS_GROUP: Final = "GROUP_AUTHORIZATION_FAILED"
"""The client asks for a group, with which nothing is done: that the user may not does not matter."""
_SETTINGS: Final = {
    "cleanup.policy": "compact",
    "segment.bytes": str(1 << 20),
    "min.cleanable.dirty.ratio": "0.1",
}

T = TypeVar("T")


class Epochs(NamedTuple):
    """What the topic says.

    Attributes:
        topic_id: What Kafka calls it; one that is made anew has another id.
        sent: The last epoch that was sent, by history, sink and share; see `owner`.
    """

    topic_id: str
    sent: dict[str, int]

    def last(self, lineage: str, sink_id: str) -> int | None:
        """Return the last epoch of one history of one sink of which any share was sent; None if none was."""
        plain = owner(lineage, sink_id)
        return max(
            (
                epoch
                for key, epoch in self.sent.items()
                if key == plain or key.startswith(f"{plain}/")
            ),
            default=None,
        )


class EpochsTopic:
    """A compacted topic: for each share of each history of each sink, the last epoch that was sent.

    Its records are in the transactions that send their epochs.

    Args:
        target: Where it is.
        cancellation: Ends what waits for Kafka. Default: nothing does.
    """

    def __init__(self, target: KafkaTarget, cancellation: Cancellation | None = None) -> None:
        self._target = target
        self._cancellation = cancellation or Cancellation()
        self.name = target.topic_of_epochs

    def create(self) -> None:
        """Create the topic if it is not there.

        Raises:
            SinkError: If it cannot be created.
        """
        client = kafka_client()
        if self._is_there():
            self._check_keeps()
            return
        topic = client.admin.NewTopic(self.name, num_partitions=1, config=dict(_SETTINGS))
        patience = self._target.patience
        future = self._admin.create_topics([topic], operation_timeout=patience)[self.name]
        try:
            self._cancellation.answer(future)
        except client.KafkaException as error:
            if error.args[0].code() != client.KafkaError.TOPIC_ALREADY_EXISTS:
                raise SinkNotWritableError(
                    f"The topic {self.name!r}, in which a sink remembers the epochs that it has sent to "
                    f"{self._target.place}, cannot be created: {error.args[0].str()}",
                    hint="Create it with one partition and cleanup.policy=compact, and grant the sink's user the "
                    "operations Read, Write and Describe on it.",
                ) from error

    def _check_keeps(self) -> None:
        """Make sure that epochs are not deleted from the topic, as far as the user may know."""
        client = kafka_client()
        resource = client.admin.ConfigResource(client.admin.ResourceType.TOPIC, self.name)
        with suppress(client.KafkaException):
            patience = self._target.patience
            found = self._admin.describe_configs([resource], request_timeout=patience)
            policy = self._cancellation.answer(found[resource])["cleanup.policy"].value
            if policy != _SETTINGS["cleanup.policy"]:
                raise SinkTopicError(
                    f"The topic {self.name!r}, in which a sink remembers the epochs that it has sent to "
                    f"{self._target.place}, has cleanup.policy={policy}: what it remembers would be deleted.",
                    hint="Set cleanup.policy=compact: `kafka-configs.sh --alter --entity-type topics --entity-name "
                    f"{self.name} --add-config cleanup.policy=compact`.",
                )

    @cached_property
    def _admin(self) -> Any:
        return new_client("AdminClient", self._target.connection)

    def close(self) -> None:
        """End the client, which nobody else has, no frame either; another one is made when it is needed."""
        self.__dict__.pop("_admin", None)

    def _is_there(self) -> bool:
        try:
            found = self._asked(
                lambda seconds: self._cancellation.asked(
                    lambda share: self._admin.list_topics(timeout=share), seconds
                )
            )
        except kafka_client().KafkaException as error:
            raise failure(error.args[0], self._target) from error
        return self.name in found.topics

    def _asked(self, ask: Callable[[float], T]) -> T:
        """Return what a client answers.

        A client keeps to the controller and the leaders that it knew, whether or not they still run. So after a failure
        another one asks.
        """

        def once(seconds: float) -> T:
            try:
                return ask(seconds)
            except kafka_client().KafkaException:
                self.close()
                raise

        target = self._target
        return waited(once, target.patience, "topics", target.place, self._cancellation)

    def read(self, *, waits: bool = True) -> Epochs:
        """Return which epochs were sent.

        Args:
            waits: Whether transactions that are open are waited for. Those of a producer that was fenced
                are none.

        Raises:
            SinkError: If Kafka cannot be asked, the topic is not there, or a transaction stays open.
        """
        client = kafka_client()
        topic_id, count = self._found(self._target.patience if waits else 0)
        first = client.OFFSET_BEGINNING
        # Whoever made it beforehand may have given it more than one.
        partitions = [client.TopicPartition(self.name, number, first) for number in range(count)]
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
                ends = self._ends(count) if waits else dict.fromkeys(range(count), 0)
                # A consumer that has no connection yet would look for the beginning half a second later.
                self._asked(
                    lambda seconds: self._cancellation.asked(
                        lambda share: consumer.get_watermark_offsets(partitions[0], share), seconds
                    )
                )
                consumer.assign(partitions)
                return Epochs(topic_id, self._read(consumer, ends))
            except client.KafkaException as error:
                raise failure(error.args[0], self._target) from error

    def _found(self, patience: float) -> tuple[str, int]:
        """Return the topic's id, and how many partitions it has; a broker may hear late of a topic that is new."""
        client, deadline = kafka_client(), time.monotonic() + min(patience, _HEARD_SECONDS)

        def ask(seconds: float) -> Any:
            wanted = client.TopicCollection([self.name])
            answers = self._admin.describe_topics(wanted, request_timeout=seconds)
            return self._cancellation.answer(answers[self.name])

        while True:
            try:
                found = self._asked(ask)
            except client.KafkaException as error:
                if error.args[0].code() != client.KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise failure(error.args[0], self._target) from error
                if time.monotonic() >= deadline:
                    raise missing(self.name, self._target) from error
                self._cancellation.rest(_RETRY_SECONDS)
            else:
                return str(found.topic_id), len(found.partitions)

    def _ends(self, count: int) -> dict[int, int]:
        """Return where partitions end, open transactions included."""
        client = kafka_client()
        latest = client.admin.OffsetSpec.latest()

        def ask(seconds: float) -> dict[int, int]:
            answers = self._admin.list_offsets(
                {client.TopicPartition(self.name, number): latest for number in range(count)},
                isolation_level=client.IsolationLevel.READ_UNCOMMITTED,
                request_timeout=seconds,
            )
            found = {
                one.partition: int(self._cancellation.answer(answer).offset)
                for one, answer in answers.items()
            }
            if min(found.values()) < 0:
                # So the client answers when the connection breaks.
                error = client.KafkaError
                raise client.KafkaException(error(error._TRANSPORT))  # noqa: SLF001 - a public name
            return found

        return self._asked(ask)

    def _read(self, consumer: Any, ends: dict[int, int]) -> dict[str, int]:
        found: dict[str, int] = {}
        left = set(ends)
        deadline = time.monotonic() + self._target.transaction_timeout + self._target.patience
        while left:
            self._cancellation.check()
            message = consumer.poll(_POLL_SECONDS)
            if message is not None:
                error = message.error()
                if error is None:
                    self._take(message, found)
                elif error.name() == "_PARTITION_EOF":
                    if message.offset() >= ends[message.partition()]:
                        left.discard(message.partition())
                elif error.name() != _NOT_ITS_GROUP:
                    raise failure(error, self._target)
            if time.monotonic() > deadline:
                raise SinkNotWritableError(
                    f"The topic {self.name!r} of {self._target.place}, which says the epochs that were sent, "
                    f"cannot be read to its end: a transaction stays open.",
                    hint="Does another job write with the same prefix of transactional ids? "
                    "`kafka-transactions.sh list` shows what is open.",
                )
        return found

    def _take(self, message: Any, found: dict[str, int]) -> None:
        """Take up what a message says; users may have written it, as a hint says, or deleted a key."""
        key, value = message.key(), message.value()
        try:
            name = key.decode()
            if value is None:
                found.pop(name, None)
                return
            epoch = int(value)
        except (AttributeError, ValueError):
            where = f"{self.name}-{message.partition()}, offset {message.offset()}"
            _LOG.warning(
                "%s: key %r and value %r name no epoch, and are passed over", where, key, value
            )
            return
        found[name] = max(epoch, found.get(name, epoch))


def owner(lineage: str, sink_id: str, share: int = 0) -> str:
    """Return what a share of one history of one sink is called in the topic; the first has no number."""
    plain = f"{lineage}/{sink_id}"
    return f"{plain}/{share}" if share else plain


def share_of(key: str, sink_id: str) -> int | None:
    """Return of which share of a sink, in whatever history, the topic speaks; None if of none of it."""
    match key.split("/"):
        case [_, found] if found == sink_id:
            return 0
        case [_, found, share] if found == sink_id and share.isdecimal():
            return int(share)
    return None
