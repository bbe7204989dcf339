"""Where the reading of a partition of Kafka begins, and where it ends."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from penstock.errors import InvalidArgumentError, KafkaOffsetNotFoundError

if TYPE_CHECKING:
    from penstock.runtime.planned.kafka.broker import Broker


@dataclass(frozen=True, order=True)
class KafkaTopicPartition:
    """A partition of a topic.

    Args:
        topic: The topic's name.
        partition: The partition's number, from 0.

    Raises:
        InvalidArgumentError: If one of them is none.

    Example:
        >>> KafkaTopicPartition("fares", 0)
        KafkaTopicPartition(topic='fares', partition=0)
    """

    topic: str
    partition: int

    def __post_init__(self) -> None:
        is_number = type(self.partition) is int and self.partition >= 0
        if not isinstance(self.topic, str) or not self.topic or not is_number:
            raise InvalidArgumentError(
                f"({self.topic!r}, {self.partition!r}) is no partition of a topic.",
                hint="Give the topic's name and the partition's number: KafkaTopicPartition('fares', 0).",
            )

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


Offsets = dict[KafkaTopicPartition, int]


class KafkaOffsetResetStrategy(Enum):
    """Where a partition is read from if the offset that was asked for is not there.

    Attributes:
        LATEST: From its end: what is there is passed over.
        EARLIEST: From the first record that is there.
        NONE: From nowhere: the job fails, with `KafkaOffsetNotFoundError`.

    Example:
        >>> start = KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.LATEST)
    """

    LATEST = 0
    EARLIEST = 1
    NONE = 2


class KafkaOffsetsInitializer:
    """Says from which offsets the partitions of a topic are read, or up to which.

    Made by its static methods. It counts for partitions that the source has not read yet: a job that is started
    again goes on where it was.

    Args:
        kind: The method that made it.
        reset: What to do where an offset is not there.
        time: The point in time, in milliseconds.
        given: The offsets.

    Attributes:
        kind: The method that made it.
        reset: What to do where an offset is not there.
        time: The point in time, in milliseconds.
        given: The offsets.
    """

    def __init__(
        self,
        kind: str,
        reset: KafkaOffsetResetStrategy,
        *,
        time: int = 0,
        given: Mapping[KafkaTopicPartition, int] | None = None,
    ) -> None:
        self.kind = kind
        self.time = time
        self.given = dict(given or {})
        self.reset = reset

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """Return the offsets that the consumer group has committed.

        Args:
            offset_reset_strategy: What to do with a partition of which it has none, because it never had or because
                they expired. Default: fail, with `KafkaOffsetNotFoundError`.

        Raises:
            InvalidArgumentError: If it is no strategy.

        Example:
            >>> start = KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.EARLIEST)
        """
        return KafkaOffsetsInitializer("committed_offsets", _checked(offset_reset_strategy))

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """Return the offsets of the first records that are as young as a point in time.

        A partition without any is read from its end.

        Args:
            timestamp: The point in time, in milliseconds since 1970, UTC.

        Raises:
            InvalidArgumentError: If it is no whole number, or below 0.

        Example:
            >>> start = KafkaOffsetsInitializer.timestamp(1_700_000_000_000)
        """
        if type(timestamp) is not int or timestamp < 0:
            raise InvalidArgumentError(
                f"timestamp() was given {timestamp!r}.",
                hint="Give milliseconds since 1970: timestamp(1_700_000_000_000).",
            )
        return KafkaOffsetsInitializer("timestamp", KafkaOffsetResetStrategy.NONE, time=timestamp)

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """Return the offsets of the first records that are there.

        Example:
            >>> start = KafkaOffsetsInitializer.earliest()
        """
        return KafkaOffsetsInitializer("earliest", KafkaOffsetResetStrategy.EARLIEST)

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """Return the ends of the partitions, as they are when the job asks for them first.

        Example:
            >>> start = KafkaOffsetsInitializer.latest()
        """
        return KafkaOffsetsInitializer("latest", KafkaOffsetResetStrategy.LATEST)

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """Return these offsets.

        A partition that is not among them has what the consumer group has committed, or else what the strategy says.

        Args:
            offsets: The offset of each partition.
            offset_reset_strategy: What to do where an offset is not there.

        Raises:
            InvalidArgumentError: If they are no offsets, or it is no strategy.

        Example:
            >>> start = KafkaOffsetsInitializer.offsets({KafkaTopicPartition("fares", 0): 1000})
        """
        is_good = isinstance(offsets, Mapping) and all(
            isinstance(partition, KafkaTopicPartition) and type(offset) is int and offset >= 0
            for partition, offset in offsets.items()
        )
        if not is_good:
            raise InvalidArgumentError(
                f"offsets() was given {offsets!r}.",
                hint="Give a dict: offsets({KafkaTopicPartition('fares', 0): 1000}). Where a partition is to begin at "
                "either end, leave it out: the strategy says at which.",
            )
        return KafkaOffsetsInitializer("offsets", _checked(offset_reset_strategy), given=offsets)

    @property
    def is_known_at_start(self) -> bool:
        """Whether it never means what is still to come, as a place to end."""
        return self.kind in {"earliest", "latest", "timestamp"}

    @property
    def needs_group(self) -> bool:
        """Whether it says nothing without a consumer group."""
        return self.kind == "committed_offsets"

    def resolved(
        self, partitions: Collection[KafkaTopicPartition], broker: Broker
    ) -> dict[KafkaTopicPartition, int]:
        """Return the offsets of partitions.

        Args:
            partitions: The partitions.
            broker: What knows them.

        Raises:
            KafkaOffsetNotFoundError: If one has none, and the strategy is to fail then.
            PenstockError: If the broker cannot tell.
        """
        if not partitions:
            return {}
        match self.kind:
            case "earliest" | "latest":
                found = {}
            case "timestamp":
                # The ends first: a record that comes in between would be passed over.
                ends = broker.written(partitions)
                return {**ends, **broker.at(partitions, self.time)}
            case _:
                found = {one: self.given[one] for one in partitions if one in self.given}
                found |= broker.committed([one for one in partitions if one not in found])
        return found | self._reset([one for one in partitions if one not in found], broker)

    def _reset(
        self, partitions: Collection[KafkaTopicPartition], broker: Broker
    ) -> dict[KafkaTopicPartition, int]:
        if not partitions:
            return {}
        if self.reset is KafkaOffsetResetStrategy.EARLIEST:
            return broker.earliest(partitions)
        if self.reset is KafkaOffsetResetStrategy.LATEST:
            return broker.latest(partitions)
        raise KafkaOffsetNotFoundError(
            f"The consumer group has committed no offsets of {listed(partitions)}: it never did, or they have "
            "expired.",
            hint="Say where to begin then: KafkaOffsetsInitializer.committed_offsets("
            "KafkaOffsetResetStrategy.EARLIEST).",
        )


def listed(partitions: Iterable[KafkaTopicPartition]) -> str:
    """Return partitions as text, in their order."""
    return ", ".join(map(str, sorted(partitions)))


def _checked(strategy: object) -> KafkaOffsetResetStrategy:
    if not isinstance(strategy, KafkaOffsetResetStrategy):
        raise InvalidArgumentError(
            f"{strategy!r} is no KafkaOffsetResetStrategy.",
            hint="For instance: KafkaOffsetResetStrategy.EARLIEST.",
        )
    return strategy
