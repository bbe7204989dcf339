from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.datastream.connectors.kafka.topics import Topic

from penstock.datastream.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
)
from penstock.errors import (
    KafkaOffsetNotFoundError,
    KafkaTopicNotFoundError,
)
from penstock.runtime.exchange.elements import Block
from penstock.runtime.planned.kafka.consumers import Lent
from penstock.runtime.planned.kafka.planner import Range
from penstock.runtime.planned.kafka.reading import Reading, Subscription
from penstock.runtime.planned.kafka.source import KafkaRecords

if TYPE_CHECKING:
    from tests.servers.kafka_server import KafkaCluster

SECONDS = 30.0


def offsets(messages: list[Any]) -> Block:
    return Block([message.offset() for message in messages])


def read(
    topic: Topic,
    strategy: KafkaOffsetResetStrategy,
    *,
    pattern: str | None = None,
    patience: float = SECONDS,
) -> list[int]:
    """Return the offsets of what is left of the first six records, of which an epoch was to read."""
    subscription = Subscription(() if pattern else (topic.name,), pattern)
    starting = KafkaOffsetsInitializer.committed_offsets(strategy)
    reading = Reading(subscription, starting, patience=patience)
    properties = {"bootstrap.servers": topic.servers}
    source = KafkaRecords(properties, reading, offsets, is_bounded=False)
    blocks = source.read(Range(topic.name, 0, 0, 6))
    return [offset for block in blocks if isinstance(block, Block) for offset in block.values]


class Partition:
    """A consumer of one partition that has lost what was to be read, until a test says that it is there again.

    Args:
        watermarks: What it answers when it is asked for the first offset and the last; errors are raised.
    """

    def __init__(self, *watermarks: tuple[int, int] | KafkaError) -> None:
        self.watermarks = list(watermarks)
        self.errors: list[KafkaError] = []
        self.sought: list[int] = []
        self.is_known = False

    def assign(self, places: list[TopicPartition]) -> None:
        self.sought += [place.offset for place in places]
        self.is_known = False

    def unassign(self) -> None:
        self.is_known = False

    def poll(self, seconds: float) -> Any:
        if self.errors:
            return Message(0, self.errors.pop())
        if not self.watermarks:
            return Message(self.sought[-1])
        # Of an offset that is not there the client tells once.
        was_known, self.is_known = self.is_known, True
        return None if was_known else Message(0, KafkaError(KafkaError._AUTO_OFFSET_RESET))

    def consume(self, most: int, seconds: float) -> list[Any]:
        return []

    def get_watermark_offsets(self, place: TopicPartition, timeout: float) -> tuple[int, int]:
        found = self.watermarks.pop(0)
        if isinstance(found, KafkaError):
            raise KafkaException(found)
        return found


class Message(NamedTuple):
    at: int
    trouble: KafkaError | None = None

    def offset(self) -> int:
        return self.at

    def error(self) -> KafkaError | None:
        return self.trouble


def read_of(partition: Partition, *, is_pattern: bool = False) -> list[int]:
    """Return the offsets that are read of the last of eight, of which an epoch was to read."""
    subscription = Subscription(() if is_pattern else ("a",), "a" if is_pattern else None)
    reading = Reading(subscription, KafkaOffsetsInitializer.earliest(), patience=0.1)
    source = KafkaRecords({"bootstrap.servers": "a:1"}, reading, offsets, is_bounded=False)
    blocks = source._messages(Lent(partition, deque()), Range("a", 0, 7, 8))
    return [message.offset() for messages in blocks for message in messages]


@pytest.mark.parametrize("is_pattern", [True, False])
def test_a_partition_that_has_lost_its_end_is_read_on_when_it_is_there_again(
    is_pattern: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("penstock.runtime.planned.kafka.source._WAIT_SECONDS", 0)
    away = KafkaError(KafkaError.LEADER_NOT_AVAILABLE)
    partition = Partition(away, (0, 8))

    assert read_of(partition, is_pattern=is_pattern) == [7]
    assert partition.sought == [7, 7, 7]
    assert "a-0: offset 7 was not there, and is there now" in caplog.text


def test_that_the_group_is_not_for_the_user_keeps_nobody_from_reading() -> None:
    partition = Partition()
    partition.errors.append(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))
    assert read_of(partition) == [7]


def test_a_partition_that_ends_too_early_is_refused_and_passed_over_in_a_pattern(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert read_of(Partition((0, 3)), is_pattern=True) == []
    assert "offsets 7 to 7 are lost" in caplog.text
    with pytest.raises(KafkaOffsetNotFoundError, match=r"from offset 7 to 8, .*: it has 0 to 3"):
        read_of(Partition((0, 3)))


@pytest.mark.kafka
def test_what_is_deleted_between_planning_and_reading_is_told_or_refused(
    kafka: KafkaCluster, caplog: pytest.LogCaptureFixture
) -> None:
    topic = Topic(kafka)
    topic.write("abcdefgh")
    admin = AdminClient({"bootstrap.servers": topic.servers})
    place = TopicPartition(topic.name, 0, 4)
    admin.delete_records([place])[place].result()

    assert read(topic, KafkaOffsetResetStrategy.EARLIEST) == [4, 5]
    assert "offsets 0 to 3 are lost" in caplog.text
    assert read(topic, KafkaOffsetResetStrategy.LATEST) == []
    assert "offsets 0 to 5 are lost" in caplog.text
    with pytest.raises(KafkaOffsetNotFoundError, match="has 4 to 8"):
        read(topic, KafkaOffsetResetStrategy.NONE)


@pytest.mark.kafka
def test_a_topic_deleted_between_planning_and_reading_is_named_and_a_pattern_goes_on(
    kafka: KafkaCluster, caplog: pytest.LogCaptureFixture
) -> None:
    topic = Topic(kafka)
    admin = AdminClient({"bootstrap.servers": topic.servers})
    admin.delete_topics([topic.name])[topic.name].result()

    with pytest.raises(KafkaTopicNotFoundError, match=topic.name):
        read(topic, KafkaOffsetResetStrategy.EARLIEST)
    assert read(topic, KafkaOffsetResetStrategy.EARLIEST, pattern="topic-.*") == []
    assert f"topic {topic.name}" in caplog.text


@pytest.mark.kafka
def test_a_topic_made_anew_is_told_by_its_id_though_it_is_longer(kafka: KafkaCluster) -> None:
    topic = Topic(kafka)
    topic.write("ab")
    properties = {"bootstrap.servers": topic.servers}
    named = Reading(Subscription((topic.name,)), KafkaOffsetsInitializer.earliest(), discovery=1)
    of_pattern = replace(named, subscription=Subscription(pattern=topic.name))
    planners = [
        KafkaRecords(properties, one, Block, is_bounded=False).planner()
        for one in (of_pattern, of_pattern, named, named)
    ]
    runs, starts, named_runs, named_starts = planners
    state = runs.plan(None, 1).state
    assert named_runs.plan(None, 1).state == state
    assert [row[:4] for row in state] == [[topic.name, 0, 2, None]]
    topic.make_anew()
    topic.write("abc")

    deadline = time.monotonic() + SECONDS
    for planner in (runs, starts):
        while not (pieces := planner.plan(state, 1).pieces):
            assert time.monotonic() < deadline
        assert [piece.content[2:] for piece in pieces] == [(0, 3)]
    for planner in (named_runs, named_starts):
        with pytest.raises(KafkaOffsetNotFoundError, match="was deleted and made anew"):
            planner.plan(state, 1)
    for planner in planners:
        planner.close()
