"""What a source reads of a Kafka: of which topics, from where on, up to where, and how."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.errors import KafkaTopicNotFoundError
from penstock.runtime.planned.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition

_INTERNAL: Final = frozenset({"__consumer_offsets", "__share_group_state", "__transaction_state"})
"""Kafka's own topics, which no pattern means."""


@dataclass(frozen=True)
class Subscription:
    """Which partitions are read: those of some topics, of all topics of a pattern, or just some.

    Attributes:
        topics: The names of the topics.
        pattern: What the whole name of a topic has to match.
        partitions: The partitions.
    """

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: frozenset[KafkaTopicPartition] = frozenset()

    def among(self, there: Mapping[str, Sequence[int]]) -> set[KafkaTopicPartition]:
        """Return those of them that are there.

        Args:
            there: The numbers of the partitions of each topic.

        Raises:
            KafkaTopicNotFoundError: If one is not there that was named.
        """
        if self.pattern is not None:
            matches = re.compile(self.pattern).fullmatch
            topics: Collection[str] = [name for name in there.keys() - _INTERNAL if matches(name)]
        else:
            topics = self.topics
        found = {
            KafkaTopicPartition(topic, number)
            for topic in {*topics, *(one.topic for one in self.partitions)}
            for number in there.get(topic, ())
        }
        missing = [topic for topic in self.topics if topic not in there]
        missing += map(str, sorted(self.partitions - found))
        if missing:
            raise KafkaTopicNotFoundError(
                f"Kafka has no {', '.join(missing)}.",
                hint="Make the topic first. Topics that come later, set_topic_pattern() takes up.",
            )
        return set(self.partitions) or found


@dataclass(frozen=True)
class Reading:
    """What is read of a Kafka.

    Attributes:
        subscription: Which partitions.
        starting: Where the reading of those begins that are there first; later ones are read from their beginning.
        stopping: Where reading ends; None for never.
        discovery: The time between two looks for new partitions, in milliseconds; None to look but once.
        most: How many offsets an epoch may go on by, in all; None for as many as there are.
        patience: How long the broker may be silent before the first answer, and a task wait for records, in
            seconds.
        commits: Whether others learn how far the consumer group has read.
        headers: Whether anybody looks at the headers of messages: Spark's connector is much faster without.
        keeps_restored: Whether partitions that an earlier start has read are read on, though the subscription no longer
            has them.
    """

    subscription: Subscription
    starting: KafkaOffsetsInitializer
    stopping: KafkaOffsetsInitializer | None = None
    discovery: int | None = 300_000
    most: int | None = None
    patience: float = 60.0
    commits: bool = True
    headers: bool = True
    keeps_restored: bool = False
