"""A source that reads topics of Kafka."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from penstock.common.serialization import DeserializationSchema, HeadersDeserializationSchema
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.datastream.connectors.base import Source
from penstock.datastream.connectors.kafka.records import (
    KafkaConsumerRecord,
    ValuesOnly,
    WholeRecords,
)
from penstock.errors import InvalidArgumentError
from penstock.runtime.planned.kafka.client import (
    CONSUMER_DEFAULTS,
    checked_number,
    checked_property,
)
from penstock.runtime.planned.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition
from penstock.runtime.planned.kafka.reading import Reading, Subscription
from penstock.runtime.planned.kafka.source import AsBlock, KafkaRecords

_MOST_PER_EPOCH: Final = 5_000_000
_DISCOVERY_MS: Final = 300_000
_PATIENCE_MS: Final = 60_000

DISCOVERY: Final = "partition.discovery.interval.ms"
COMMITS: Final = "commit.offsets.on.checkpoint"
_PATIENCE: Final = "default.api.timeout.ms"
_PREFIX: Final = "client.id.prefix"
_ISOLATION: Final = "isolation.level"
_OWN: Final = frozenset(
    {DISCOVERY, COMMITS, _PATIENCE, _PREFIX, "register.consumer.metrics", "auto.offset.reset"}
    | {"enable.auto.commit", "auto.commit.interval.ms"}
)
"""Properties that are not the client's."""


class KafkaSource(Source):
    """Reads topics of Kafka, each record once.

    Built with `builder`. By default it begins with the first records that are there, and never ends.

    How far each partition is read is committed with each epoch: a job that fails, or is started again, goes on
    there, whatever the consumer group has committed. To the group it is told afterwards, so that others can see how far
    the job is behind. Partitions that come later are found, every five minutes, and read from their beginning.

    A partition is a split: it has a watermark generator of its own, and one that stays empty holds the others up unless
    the strategy says `with_idleness`. Its records come in the order of their offsets, and their timestamps in
    Kafka are their event timestamps unless the strategy assigns others. What a transaction has not committed is
    not read.

    The driver and all workers need confluent-kafka (`pip install "penstock[kafka]"`) and have to reach the
    brokers. Nothing of Java is needed. Where that cannot be, Spark's own connector reads: see the key `kafka.reader`.

    Raises:
        KafkaClientNotFoundError: If confluent-kafka is not installed, and Spark's connector not there; at `execute`.
        KafkaConnectorNotFoundError: If Spark's connector is to read, and is not there; at `execute`.
        KafkaPropertyError: If the client does not know a property, or cannot do what it says; at `execute`.
        KafkaTopicNotFoundError: If a topic does not exist; at `execute`.
        KafkaNotReachableError: If no broker answers; at `execute`.
        KafkaOffsetNotFoundError: If records that were to be read next are no longer there.
        MalformedMessageError: If a message cannot be deserialized.

    Example:
        >>> from penstock.common import SimpleStringSchema
        >>> source = (
        ...     KafkaSource.builder()
        ...     .set_bootstrap_servers("localhost:9092")
        ...     .set_topics("fares")
        ...     .set_group_id("counts")
        ...     .set_value_only_deserializer(SimpleStringSchema())
        ...     .build()
        ... )
        >>> source.is_bounded
        False
    """

    def __init__(self, records: KafkaRecords, produced_type: TypeInformation | None) -> None:
        self._records = records
        self.produced_type = produced_type
        self.is_bounded = records.is_bounded

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """Begin to build a source."""
        return KafkaSourceBuilder()

    def description(self) -> KafkaRecords:
        """See `Source.description`."""
        return self._records


class KafkaSourceBuilder:
    """Builds a `KafkaSource`. Servers, topics and a deserializer have to be set."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._subscription: Subscription | None = None
        self._starting = KafkaOffsetsInitializer.earliest()
        self._stopping: KafkaOffsetsInitializer | None = None
        self._is_bounded = False
        self._as_block: AsBlock | None = None
        self._has_headers = True
        self._type: TypeInformation | None = None
        self._most: int | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """Set where the brokers are.

        Args:
            bootstrap_servers: Some of them, as "host:9092,other:9092".
        """
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """Set the consumer group, which is told how far the job has read. Default: none is told.

        The job takes no part in the group's rebalancing: each job that reads, reads all.

        Args:
            group_id: Its name.
        """
        return self.set_property("group.id", group_id)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Set the topics to read. They have to exist.

        Args:
            *topics: Their names.

        Raises:
            InvalidArgumentError: If there is none, or it was said otherwise what to read.
        """
        if not topics or not all(isinstance(topic, str) and topic for topic in topics):
            raise InvalidArgumentError(
                f"set_topics() was given {topics!r}.", hint="For instance: set_topics('fares')."
            )
        return self._subscribe(Subscription(topics=topics))

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Set which topics to read, now and when they come.

        Args:
            topic_pattern: A regular expression, of Python, which the whole name has to match.

        Raises:
            InvalidArgumentError: If it is none, or it was said otherwise what to read.
        """
        try:
            re.compile(topic_pattern)
        except (re.error, TypeError) as error:
            raise InvalidArgumentError(
                f"set_topic_pattern() was given {topic_pattern!r}: {error}.",
                hint="Give a regular expression of Python, such as 'fares-.*'.",
            ) from error
        return self._subscribe(Subscription(pattern=topic_pattern))

    def set_partitions(self, partitions: Collection[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Set which partitions to read, and no others.

        Args:
            partitions: The partitions.

        Raises:
            InvalidArgumentError: If there is none, or it was said otherwise what to read.
        """
        found = list(partitions)
        if not found or not all(isinstance(one, KafkaTopicPartition) for one in found):
            raise InvalidArgumentError(
                f"set_partitions() was given {partitions!r}.",
                hint="For instance: set_partitions({KafkaTopicPartition('fares', 0)}).",
            )
        return self._subscribe(Subscription(partitions=frozenset(found)))

    def _subscribe(self, subscription: Subscription) -> KafkaSourceBuilder:
        if self._subscription is not None:
            raise InvalidArgumentError(
                "It was said twice what a KafkaSource reads.",
                hint="Call one of set_topics(), set_topic_pattern() and set_partitions(), once.",
            )
        self._subscription = subscription
        return self

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Set where reading begins. Default: with the first records that are there.

        It counts when the job begins anew. One that is started again goes on where it was.

        Args:
            starting_offsets_initializer: Says where.

        Raises:
            InvalidArgumentError: If it is none.
        """
        self._starting = _offsets(starting_offsets_initializer)
        return self

    def set_unbounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Set where reading ends, of a stream that counts as one without an end: it is read in many epochs.

        Args:
            stopping_offsets_initializer: Says where; asked when the job begins anew.

        Raises:
            InvalidArgumentError: If it is none.
        """
        self._stopping, self._is_bounded = _offsets(stopping_offsets_initializer), False
        return self

    def set_bounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Set where reading ends, of a bounded stream: it is read in one epoch, unless its size is limited.

        Args:
            stopping_offsets_initializer: Says where, such as `KafkaOffsetsInitializer.latest()`; asked when the job
                begins.

        Raises:
            InvalidArgumentError: If it is none.
        """
        self._stopping, self._is_bounded = _offsets(stopping_offsets_initializer), True
        return self

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema
    ) -> KafkaSourceBuilder:
        """Set what makes records of the values of messages. Messages without a value are passed over.

        Args:
            deserialization_schema: The schema, such as `SimpleStringSchema()`.

        Raises:
            InvalidArgumentError: If it is none.
        """
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise InvalidArgumentError(
                f"{deserialization_schema!r} is no DeserializationSchema.",
                hint="For instance: SimpleStringSchema(), of penstock.common.",
            )
        self._as_block = ValuesOnly(deserialization_schema)
        self._has_headers = isinstance(deserialization_schema, HeadersDeserializationSchema)
        self._type = deserialization_schema.get_produced_type()
        return self

    def set_record_deserializer(
        self,
        deserializer: Callable[[KafkaConsumerRecord], Any] | None = None,
        *,
        output_type: TypeInformation | None = None,
    ) -> KafkaSourceBuilder:
        """Set what makes records of whole messages: with key, headers, timestamp, partition and offset.

        PyFlink has no such method.

        Args:
            deserializer: Returns the record; None for a message to pass over. Default: the record is the
                `KafkaConsumerRecord` itself.
            output_type: The type of what it returns. Default: any.

        Raises:
            InvalidArgumentError: If it cannot be called.

        Example:
            >>> builder = KafkaSource.builder().set_record_deserializer(
            ...     lambda record: (record.key, record.offset)
            ... )
        """
        if deserializer is not None and not callable(deserializer):
            raise InvalidArgumentError(
                f"set_record_deserializer() was given {deserializer!r}, which cannot be called.",
                hint="For instance: set_record_deserializer(lambda record: (record.key, record.value)).",
            )
        self._as_block = WholeRecords(deserializer)
        self._has_headers = True
        self._type = output_type
        return self

    def set_max_records_per_epoch(self, records: int) -> KafkaSourceBuilder:
        """Set how many offsets an epoch may go on by, in all partitions together.

        It bounds how long an epoch takes that catches up. PyFlink has no such method.

        Args:
            records: How many; each partition that has any goes on by one at least. Default: 5 million; for a bounded
                stream as many as there are.

        Raises:
            InvalidArgumentError: If it is no number above 0.
        """
        if type(records) is not int or records < 1:
            raise InvalidArgumentError(
                f"set_max_records_per_epoch() was given {records!r}.",
                hint="Give a whole number above 0, such as 1_000_000.",
            )
        self._most = records
        return self

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """Set the client id that brokers see in their logs and quotas. Default: the group's id.

        Args:
            prefix: The id.
        """
        return self.set_property(_PREFIX, prefix)

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder:
        """Set a property of the consumer, or of the source.

        Args:
            key: A name of Kafka's client in Java, or of librdkafka. Of the source's own there are
                `partition.discovery.interval.ms` (default 300000; 0 or less to look once),
                `commit.offsets.on.checkpoint` (default true), and `default.api.timeout.ms` (default 60000), for
                how long brokers may be silent.
            value: Its value.

        Raises:
            InvalidArgumentError: If one of them is no string.
            KafkaPropertyError: If a name begins with "kafka.", as options of Spark's connector do.
        """
        self._properties[key] = checked_property(key, value)
        return self

    def set_properties(self, props: Mapping[str, str]) -> KafkaSourceBuilder:
        """Set several properties; see `set_property`.

        Args:
            props: The properties.

        Raises:
            InvalidArgumentError: If a name or a value is no string.
            KafkaPropertyError: If a name begins with "kafka.", as options of Spark's connector do.
        """
        for key, value in props.items():
            self.set_property(key, value)
        return self

    def build(self) -> KafkaSource:
        """Return the source.

        Raises:
            InvalidArgumentError: If servers, topics or the deserializer are missing, or a group that offsets are of.
            KafkaPropertyError: If a property has a value that means nothing.
        """
        lacking = {
            "bootstrap servers: set_bootstrap_servers('host:9092')": self._properties.get(
                "bootstrap.servers"
            ),
            "topics: set_topics('fares')": self._subscription,
            "a deserializer: set_value_only_deserializer(SimpleStringSchema())": self._as_block,
        }
        for what, found in lacking.items():
            if not found:
                raise InvalidArgumentError(f"A KafkaSource lacks {what.split(':')[0]}.", hint=what)
        for offsets in (self._starting, self._stopping):
            if offsets is not None and offsets.needs_group and "group.id" not in self._properties:
                raise InvalidArgumentError(
                    "A KafkaSource is to read from committed offsets, and has no consumer group.",
                    hint="Say whose they are: set_group_id('name'), or the property group.id.",
                )
        assert self._subscription is not None
        assert self._as_block is not None
        records = KafkaRecords(
            self._client_properties(),
            self._reading(self._subscription),
            self._as_block,
            is_bounded=self._is_bounded,
        )
        return KafkaSource(records, self._type)

    def _client_properties(self) -> dict[str, str]:
        given = self._properties
        own = {_ISOLATION: CONSUMER_DEFAULTS[_ISOLATION]}
        if prefix := given.get(_PREFIX, given.get("group.id")):
            own["client.id"] = prefix
        return own | {key: value for key, value in given.items() if key not in _OWN}

    def _reading(self, subscription: Subscription) -> Reading:
        most = self._most
        if most is None and not self._is_bounded:
            most = _MOST_PER_EPOCH
        discovery = self._number(DISCOVERY, _DISCOVERY_MS)
        is_fixed = self._stopping is not None or discovery <= 0
        commits = self._properties.get(COMMITS, "true").lower() == "true"
        return Reading(
            subscription,
            self._starting,
            self._stopping,
            discovery=None if is_fixed else discovery,
            most=most,
            patience=self._number(_PATIENCE, _PATIENCE_MS) / 1000,
            commits=commits and "group.id" in self._properties,
            headers=self._has_headers,
        )

    def _number(self, key: str, default: int) -> int:
        value = self._properties.get(key, default)
        return checked_number(key, value, "milliseconds, such as '60000'")


def _offsets(value: object) -> KafkaOffsetsInitializer:
    if not isinstance(value, KafkaOffsetsInitializer):
        raise InvalidArgumentError(
            f"{value!r} is no KafkaOffsetsInitializer.",
            hint="For instance: KafkaOffsetsInitializer.earliest().",
        )
    return value
