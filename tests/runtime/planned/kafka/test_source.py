from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from tests.datastream.connectors.kafka.topics import Topic

from penstock.common import Configuration, JobClient, SimpleStringSchema, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaSourceBuilder,
)
from penstock.errors import (
    KafkaNotReachableError,
    KafkaOffsetNotFoundError,
    KafkaTopicNotFoundError,
)
from penstock.runtime.exchange.elements import Block
from penstock.runtime.planned.kafka.planner import Range, Reading, Subscription
from penstock.runtime.planned.kafka.source import KafkaRecords

if TYPE_CHECKING:
    from tests.servers.kafka_server import KafkaCluster

SECONDS = 30.0
FOUND: list[str] = []
"""What the job has read: functions of a job are copied, and what they name of a module is not."""


def take(value: str) -> None:
    FOUND.append(value)


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaCluster]:
    """A Kafka of one broker, which tests may stop if they start it again."""
    from tests.servers.kafka_server import KafkaCluster

    with closing(KafkaCluster()) as found:
        yield found


def reading(topic: Topic) -> KafkaSourceBuilder:
    found = KafkaSource.builder().set_bootstrap_servers(topic.servers).set_topics(topic.name)
    return found.set_value_only_deserializer(SimpleStringSchema())


def started(source: KafkaSource, checkpoints: Path | None = None) -> JobClient:
    """Start a job that reads; with checkpoints it is restarted when it fails."""
    FOUND.clear()
    configuration = Configuration()
    configuration.set_string("execution.target", "local")
    if checkpoints is not None:
        configuration.set_string("execution.checkpointing.dir", str(checkpoints))
        configuration.set_string("restart-strategy.type", "fixed-delay")
        configuration.set_string("restart-strategy.fixed-delay.attempts", "100")
        configuration.set_string("restart-strategy.fixed-delay.delay", "100 ms")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka").add_sink(take)
    return env.execute_async()


def wait_for(condition: Callable[[], bool], job: JobClient) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        if job.get_job_status().result().name == "FAILED":
            job.get_job_execution_result().result()
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.kafka
def test_a_job_reads_on_seconds_after_its_broker_is_back(
    broker: KafkaCluster, caplog: pytest.LogCaptureFixture
) -> None:
    topic = Topic(broker)
    topic.write(["a"])
    looks_often = reading(topic).set_property("partition.discovery.interval.ms", "1")
    job = started(looks_often.build())
    wait_for(lambda: FOUND == ["a"], job)

    broker.kill(0)
    wait_for(lambda: "reading waits until it can go on" in caplog.text, job)
    with pytest.raises(KafkaNotReachableError, match=f"nothing of {topic.name}-0 for 1 s"):
        read(topic, KafkaOffsetResetStrategy.EARLIEST, patience=1)
    broker.start(0)
    topic.write(["b"])
    since = time.monotonic()
    wait_for(lambda: FOUND == ["a", "b"], job)

    assert time.monotonic() - since < 10
    job.cancel().result()


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


@pytest.mark.kafka
def test_a_job_reads_on_when_the_leader_of_a_partition_is_gone_and_another_leads() -> None:
    from tests.servers.kafka_server import KafkaCluster

    with closing(KafkaCluster(3)) as cluster:
        topic = Topic(cluster)
        topic.write(["a"])
        job = started(reading(topic).build())
        wait_for(lambda: FOUND == ["a"], job)
        admin = AdminClient({"bootstrap.servers": topic.servers})
        cluster.kill(admin.list_topics(topic.name).topics[topic.name].partitions[0].leader)
        topic.write(["b"])
        wait_for(lambda: FOUND == ["a", "b"], job)

        job.cancel().result()
