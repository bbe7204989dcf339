"""A sink that writes records into topics of Kafka."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from penstock.datastream.connectors.base import (
    DeliveryGuarantee,
    StreamTransformer,
    SupportsPreprocessing,
)
from penstock.datastream.connectors.kafka.committer import NothingToCommit, RecordsCommitter
from penstock.datastream.connectors.kafka.record_serialization import (
    KafkaRecordSerializationSchema,
    checked_topic,
)
from penstock.datastream.connectors.kafka.target import KafkaTarget
from penstock.datastream.connectors.kafka.writers import SendingWriter, StagingWriter
from penstock.datastream.connectors.two_phase_commit import TwoPhaseCommitSink
from penstock.errors import InvalidArgumentError
from penstock.runtime.planned.kafka.client import checked_property
from penstock.runtime.sinks import Committer, SinkWriter, WriterContext

__all__ = ["KafkaSink", "KafkaSinkBuilder"]

_LONGEST_PREFIX: Final = 6400


@dataclass(frozen=True, eq=False)
class SinkOfKafka(TwoPhaseCommitSink):
    """What sinks for Kafka have in common.

    Args:
        target: Where to, and how.
    """

    target: KafkaTarget

    @property
    def place(self) -> str:
        """See `TwoPhaseCommitSink.place`.

        What is to be sent exactly once is sent under the transactional id, and by the memory, that it was staged
        for; addresses of brokers may change.
        """
        target = self.target
        if not target.is_exactly_once:
            return f"{target.servers} {target.serializer.place}".rstrip()
        prefix, topic = target.transactional_id_prefix, target.topic_of_epochs
        return f"{target.serializer.place} as {prefix!r}, epochs in {topic}".lstrip()

    def create_writer(self, context: WriterContext) -> SinkWriter:
        """See `TwoPhaseCommitSink.create_writer`."""
        if self.target.is_exactly_once:
            return StagingWriter(self.target, context)
        return SendingWriter(self.target, context)

    def create_committer(self) -> Committer:
        """See `TwoPhaseCommitSink.create_committer`."""
        return RecordsCommitter(self.target) if self.target.is_exactly_once else NothingToCommit()


class KafkaSink(SinkOfKafka, SupportsPreprocessing):
    """Writes records into topics of Kafka.

    With `DeliveryGuarantee.EXACTLY_ONCE` workers keep the records of an epoch beside the job's checkpoints.
    When the epoch is committed, the driver sends them in one transaction, and with them the epoch's number,
    to a topic of the sink's own. A driver that takes over first ends what another one has left open, and then
    sends only what is not there. So consumers with `isolation.level=read_committed` see each record once,
    whatever dies, and however long the job is down: no transaction has to stay open for it, as Flink's does.
    `tests/datastream/connectors/kafka/test_committer.py` proves it, with a Kafka.

    With `AT_LEAST_ONCE` workers send records while the epoch runs, and it is not committed before Kafka has
    all of them; one that is run again sends them again. That is so for `NONE` as well, which is the default,
    and with which Flink may lose records.

    Records with equal keys go to the same partition, the one that Kafka's Java client has for them. The
    timestamp of a record becomes that of Kafka's.

    Needs confluent-kafka (`pip install 'penstock[kafka]'`). A broker that is away for a while is waited for
    as long as `max.block.ms` says before something is sent, and `delivery.timeout.ms` while it is; then the job
    fails, and its restart strategy is asked.

    A job that is set back to an earlier epoch or begins from a savepoint sends again what came after it.

    Made by `builder`.

    Raises:
        KafkaClientNotFoundError: If confluent-kafka is not installed; at `execute`.
        KafkaPropertyError: If the client does not know a property, or does not take its value; at `execute`.
        SinkNotReachableError: If brokers do not answer for too long.
        SinkTopicError: If a topic is not there, or may not be written to.
        SinkRowError: If a record is none that Kafka takes, or too large.
        SinkNotWritableError: If Kafka refuses the sink otherwise.
        ProducerFencedError: If another job, or another driver, has taken over the transactional id.
        EpochsTopicLostError: If nothing says any more whether an epoch was sent.

    Example:
        >>> from penstock.common import SimpleStringSchema
        >>> words = (
        ...     KafkaRecordSerializationSchema.builder()
        ...     .set_topic("words")
        ...     .set_value_serialization_schema(SimpleStringSchema())
        ...     .build()
        ... )
        >>> sink = (
        ...     KafkaSink.builder()
        ...     .set_bootstrap_servers("localhost:9092")
        ...     .set_record_serializer(words)
        ...     .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        ...     .set_transactional_id_prefix("count-words")
        ...     .build()
        ... )
        >>> sink.place
        "words as 'count-words', epochs in penstock-epochs-count-words"
    """

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Return a builder."""
        return KafkaSinkBuilder()

    def get_transformer(self) -> StreamTransformer | None:
        """Return None: records are written as they are."""
        return None


class KafkaSinkBuilder:
    """Builds a `KafkaSink`: where Kafka is and what makes records are needed."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._serializer: KafkaRecordSerializationSchema | None = None
        self._guarantee = DeliveryGuarantee.NONE
        self._prefix = ""
        self._epochs_topic = ""
        self._transactions = 1

    def build(self) -> KafkaSink:
        """Return the sink.

        Raises:
            InvalidArgumentError: If something is missing.
            KafkaPropertyError: If a property has a value that means nothing.
        """
        if not self._properties.get("bootstrap.servers") or self._serializer is None:
            raise InvalidArgumentError(
                "A KafkaSink needs to know where Kafka is, and what makes its records.",
                hint="Call set_bootstrap_servers('host:9092') and set_record_serializer(...).",
            )
        is_exactly_once = self._guarantee is DeliveryGuarantee.EXACTLY_ONCE
        if is_exactly_once and not self._prefix:
            raise InvalidArgumentError(
                "A KafkaSink that delivers exactly once needs a prefix for its transactional ids.",
                hint="Call set_transactional_id_prefix('my-job'), with a name that no other job has and that "
                "stays when the job is started again.",
            )
        target = KafkaTarget(
            self._properties,
            self._serializer,
            is_exactly_once,
            self._prefix,
            self._epochs_topic,
            transactions_per_epoch=self._transactions,
        )
        target.check()
        return KafkaSink(target)

    def set_bootstrap_servers(self, bootstrap_servers: str) -> Self:
        """Set where Kafka is.

        Args:
            bootstrap_servers: Some of its brokers, as "host:9092,other:9092".
        """
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> Self:
        """Set what is promised: see `KafkaSink`.

        Args:
            delivery_guarantee: The promise. Default: `DeliveryGuarantee.NONE`.

        Raises:
            InvalidArgumentError: If it is none.
        """
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise InvalidArgumentError(
                f"{delivery_guarantee!r} is no DeliveryGuarantee.",
                hint="Give DeliveryGuarantee.EXACTLY_ONCE, for instance.",
            )
        self._guarantee = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> Self:
        """Set what the transactional ids of the sink begin with; for `EXACTLY_ONCE`.

        It names the job to Kafka: of two jobs with one prefix and equal programs, the one that was started
        later fences the other. It should stay when the job is started again, as what a driver that died left
        open is hidden until it is ended under the same name, or its timeout has passed.

        Args:
            transactional_id_prefix: The prefix.

        Raises:
            InvalidArgumentError: If it is longer than 6400 bytes.
        """
        if len(transactional_id_prefix.encode()) > _LONGEST_PREFIX:
            raise InvalidArgumentError(
                f"The prefix of transactional ids is longer than {_LONGEST_PREFIX} bytes.",
                hint="Give a shorter one, such as the name of the job.",
            )
        self._prefix = transactional_id_prefix
        return self

    def set_record_serializer(self, record_serializer: KafkaRecordSerializationSchema) -> Self:
        """Set what makes Kafka's records.

        Args:
            record_serializer: The schema.

        Raises:
            InvalidArgumentError: If it is none.
        """
        if not isinstance(record_serializer, KafkaRecordSerializationSchema):
            raise InvalidArgumentError(
                f"{record_serializer!r} is no KafkaRecordSerializationSchema.",
                hint="Build one with KafkaRecordSerializationSchema.builder().",
            )
        self._serializer = record_serializer
        return self

    def set_property(self, key: str, value: str) -> Self:
        """Set a property of Kafka's producer.

        Args:
            key: Its name, as for Kafka's Java client, or one of librdkafka's.
            value: Its value.

        Raises:
            InvalidArgumentError: If one of them is no string.
            KafkaPropertyError: If a name begins with "kafka.", as options of Spark's connector do.
        """
        self._properties[key] = checked_property(key, value)
        return self

    def set_epochs_topic(self, epochs_topic: str) -> Self:
        """Set the topic that remembers which epochs were sent; PyFlink has none.

        It is made if it is not there: compacted, with one partition.

        Args:
            epochs_topic: Its name. Default: "penstock-epochs-" and the prefix of transactional ids.

        Raises:
            InvalidArgumentError: If a topic of Kafka cannot have this name.
        """
        self._epochs_topic = checked_topic(epochs_topic)
        return self

    def set_transactions_per_epoch(self, transactions_per_epoch: int) -> Self:
        """Set how many transactions share the records of an epoch, by subtask; PyFlink has no such thing.

        They are sent side by side, each by a producer of its own, and committed when Kafka has the records of
        all of them: one shortly after the other. Each record is still there once, and those of one subtask stay
        in their order. The number may change whenever the job is started again.

        Args:
            transactions_per_epoch: How many; more than the sink has subtasks are of no use. Default: 1, with
                which an epoch is visible all at once.

        Raises:
            InvalidArgumentError: If it is no number from 1 on.
        """
        if type(transactions_per_epoch) is not int or transactions_per_epoch < 1:
            raise InvalidArgumentError(
                f"An epoch cannot be sent in {transactions_per_epoch!r} transactions.",
                hint="Give a number from 1 on, such as 2.",
            )
        self._transactions = transactions_per_epoch
        return self
