"""A Kafka that is nothing but numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.errors import KafkaNotReachableError, KafkaTopicNotFoundError
from penstock.runtime.planned.kafka.broker import Broker
from penstock.runtime.planned.kafka.offsets import KafkaTopicPartition, Offsets


@dataclass
class FakeBroker(Broker):
    """Has the offsets that a test gives it.

    Attributes:
        ends: The offset behind the last record of each partition.
        firsts: The offset of the first one, where it is not 0.
        group: What the group has committed.
        is_away: Whether nothing answers.
        topic_ids: The id of each topic, where it has one.
        hidden: Topics that no list has.
        asked_ids: How often somebody has asked for ids.
        times: The offset that answers to a time, in milliseconds, where there is one.
        open: How many records are behind the end that may not be read yet.
    """

    ends: dict[KafkaTopicPartition, int]
    firsts: dict[KafkaTopicPartition, int] = field(default_factory=dict)
    group: dict[KafkaTopicPartition, int] = field(default_factory=dict)
    is_away: bool = False
    topic_ids: dict[str, str] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    asked_ids: int = 0
    times: dict[tuple[KafkaTopicPartition, int], int] = field(default_factory=dict)
    open: dict[KafkaTopicPartition, int] = field(default_factory=dict)
    commits: int = 0
    is_closed: bool = False

    def _answer(self) -> None:
        if self.is_away:
            raise KafkaNotReachableError("It is away.", hint="Wait.")

    def partitions(self) -> Mapping[str, Sequence[int]]:
        self._answer()
        found: dict[str, list[int]] = {}
        for one in sorted(self.ends):
            if one.topic not in self.hidden:
                found.setdefault(one.topic, []).append(one.partition)
        return found

    def ids(self, topics: Collection[str]) -> Mapping[str, str]:
        self._answer()
        self.asked_ids += 1
        return {name: self.topic_ids[name] for name in topics if name in self.topic_ids}

    def earliest(self, partitions: Collection[KafkaTopicPartition]) -> Offsets:
        self._answer()
        return {one: self.firsts.get(one, 0) for one in partitions}

    def latest(self, partitions: Collection[KafkaTopicPartition]) -> Offsets:
        self._answer()
        for one in partitions:
            if one not in self.ends:
                raise KafkaTopicNotFoundError(f"There is no {one}.", hint="Make it.")
        return {one: self.ends[one] for one in partitions}

    def written(self, partitions: Collection[KafkaTopicPartition]) -> Offsets:
        return {one: end + self.open.get(one, 0) for one, end in self.latest(partitions).items()}

    def at(self, partitions: Collection[KafkaTopicPartition], timestamp: int) -> Offsets:
        self._answer()
        return {
            one: self.times[one, timestamp] for one in partitions if (one, timestamp) in self.times
        }

    def committed(self, partitions: Collection[KafkaTopicPartition]) -> Offsets:
        self._answer()
        return {one: self.group[one] for one in partitions if one in self.group}

    def commit(self, offsets: Mapping[KafkaTopicPartition, int]) -> None:
        self.commits += 1
        self.group |= offsets

    def look(self) -> None:
        """Nothing is under way."""

    def close(self) -> None:
        self.is_closed = True
