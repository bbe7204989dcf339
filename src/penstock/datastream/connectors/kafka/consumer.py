"""The source for Kafka by its earlier name."""

from __future__ import annotations

import time
from abc import ABC
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Self

from penstock.common.serialization import DeserializationSchema
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.datastream.connectors.base import Source
from penstock.datastream.connectors.kafka.source import COMMITS, DISCOVERY, KafkaSourceBuilder
from penstock.errors import InvalidArgumentError, KafkaPropertyError
from penstock.runtime.planned.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from penstock.runtime.planned.kafka.reading import Reading, Subscription
from penstock.runtime.planned.kafka.source import KafkaRecords

__all__ = ["FlinkKafkaConsumer", "FlinkKafkaConsumerBase"]

_RESET: Final = "auto.offset.reset"
_EARLIER_NAMES: Final = {"flink.partition-discovery.interval-millis": DISCOVERY}
_UNUSED: Final = frozenset({"flink.disable-metrics", "flink.poll-timeout"})


class _Builder(KafkaSourceBuilder):
    keeps_restored = False

    def _reading(self, subscription: Subscription) -> Reading:
        return replace(super()._reading(subscription), keeps_restored=self.keeps_restored)


class FlinkKafkaConsumerBase(Source, ABC):
    """What a `FlinkKafkaConsumer` can be told.

    Where to start counts for a job that begins anew. One that is started again, or begins from a savepoint, goes on
    where it was.
    """

    is_bounded = False

    def __init__(self, builder: _Builder, reset: KafkaOffsetResetStrategy) -> None:
        self._builder = builder
        self._reset = reset
        self.set_start_from_group_offsets()

    def set_commit_offsets_on_checkpoints(self, commit_on_checkpoints: bool) -> Self:
        """Set whether the consumer group is told after each epoch how far it is read.

        Args:
            commit_on_checkpoints: Whether it is. Default: it is, if the properties have a `group.id`.
        """
        self._builder.set_property(COMMITS, str(bool(commit_on_checkpoints)).lower())
        return self

    def set_start_from_earliest(self) -> Self:
        """Start with the first records that are there."""
        return self._start(KafkaOffsetsInitializer.earliest())

    def set_start_from_latest(self) -> Self:
        """Start with what comes after the job begins."""
        return self._start(KafkaOffsetsInitializer.latest())

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> Self:
        """Start with the first records that are as young as a point in time; in partitions without any, at the end.

        Args:
            startup_offsets_timestamp: The point in time, in milliseconds since 1970, UTC.

        Raises:
            InvalidArgumentError: If it is below 0, or in the future.
        """
        offsets = KafkaOffsetsInitializer.timestamp(startup_offsets_timestamp)
        if startup_offsets_timestamp > time.time() * 1000:
            raise InvalidArgumentError(
                f"set_start_from_timestamp() was given {startup_offsets_timestamp}, which is in the future.",
                hint="Give milliseconds since 1970. What comes from now on, set_start_from_latest() reads.",
            )
        return self._start(offsets)

    def set_start_from_group_offsets(self) -> Self:
        """Start where the consumer group has got to, which is the default.

        The properties need a `group.id`. A partition of which the group knows nothing is read from where
        `auto.offset.reset` says: "latest" (its end; the default), "earliest", or "none", which is an error.
        """
        return self._start(KafkaOffsetsInitializer.committed_offsets(self._reset))

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> Self:
        """Read partitions on that an earlier start has read, though their topics are no longer asked for.

        Default: a job that is started again with other topics lets go of those it had.
        """
        self._builder.keeps_restored = True
        return self

    def get_produced_type(self) -> TypeInformation | None:
        """Return the type of the records; None if the schema does not say."""
        return self.produced_type

    def description(self) -> KafkaRecords:
        """See `Source.description`.

        Raises:
            InvalidArgumentError: If the group's offsets are to be read from, and there is no `group.id`.
            KafkaPropertyError: If a property has a value that means nothing.
        """
        return self._builder.build().description()

    def _start(self, offsets: KafkaOffsetsInitializer) -> Self:
        self._builder.set_starting_offsets(offsets)
        return self


class FlinkKafkaConsumer(FlinkKafkaConsumerBase):
    """Reads topics of Kafka, each record once, as `KafkaSource` does, of which it is an earlier name.

    Given to `add_source`. By default it starts with the offsets of the consumer group, and new partitions are not
    looked for, unless the property `flink.partition-discovery.interval-millis` says how often.

    Args:
        topics: The topic, or a list of them. They have to exist.
        deserialization_schema: Makes records of the values of messages.
        properties: Properties of Kafka's consumer: "bootstrap.servers" says where Kafka is, and "group.id" whose
            offsets are read and committed. Others are said at `KafkaSourceBuilder.set_property`.

    Raises:
        InvalidArgumentError: If it is not said where Kafka is, or an argument is of the wrong kind.
        KafkaPropertyError: If `auto.offset.reset` is none of "latest", "earliest" and "none".

    Example:
        >>> from penstock.common import SimpleStringSchema
        >>> from penstock.testing import local_environment
        >>> consumer = FlinkKafkaConsumer(
        ...     "fares",
        ...     SimpleStringSchema(),
        ...     {"bootstrap.servers": "localhost:9092", "group.id": "counts"},
        ... )
        >>> fares = local_environment().add_source(consumer.set_start_from_earliest())
    """

    def __init__(
        self,
        topics: str | list[str],
        deserialization_schema: DeserializationSchema,
        properties: Mapping[str, str],
    ) -> None:
        names = [topics] if isinstance(topics, str) else topics
        is_good = isinstance(names, list) and all(isinstance(name, str) and name for name in names)
        if not is_good or not names:
            raise InvalidArgumentError(
                f"A FlinkKafkaConsumer was given {topics!r} to read.",
                hint="Give a topic, or a list of topics: ['fares', 'tips'].",
            )
        if not properties.get("bootstrap.servers"):
            raise InvalidArgumentError(
                "A FlinkKafkaConsumer needs to know where Kafka is.",
                hint='Give it {"bootstrap.servers": "host:9092", "group.id": "name"}.',
            )
        builder = _Builder()
        builder.set_topics(*names).set_value_only_deserializer(deserialization_schema)
        builder.set_property(DISCOVERY, "-1")
        for key, value in properties.items():
            if key not in _UNUSED:
                builder.set_property(_EARLIER_NAMES.get(key, key), value)
        super().__init__(builder, _reset(properties.get(_RESET, "latest")))
        self.produced_type = deserialization_schema.get_produced_type()


def _reset(value: Any) -> KafkaOffsetResetStrategy:
    try:
        return KafkaOffsetResetStrategy[str(value).upper()]
    except KeyError as error:
        raise KafkaPropertyError(
            f"{_RESET} is {value!r}.", hint="It is 'latest', 'earliest' or 'none'."
        ) from error
