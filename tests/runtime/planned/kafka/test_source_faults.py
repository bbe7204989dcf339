from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from tests.datastream.connectors.kafka.topics import Topic, delete_topic

from penstock.common import Configuration, JobClient, SimpleStringSchema, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import (
    KafkaConsumerRecord,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from penstock.errors import KafkaOffsetNotFoundError, KafkaTopicNotFoundError

if TYPE_CHECKING:
    from tests.servers.kafka_server import KafkaCluster

SECONDS = 30.0
FOUND: list[str] = []
"""What the job has read: functions of a job are copied, and what they name of a module is not."""
TO_PAUSE: list[KafkaCluster] = []


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


def looking_often(builder: KafkaSourceBuilder) -> KafkaSourceBuilder:
    return builder.set_property("partition.discovery.interval.ms", "1")


def environment(checkpoints: Path | None, **settings: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.target", "local")
    if checkpoints is not None:
        configuration.set_string("execution.checkpointing.dir", str(checkpoints))
    for key, value in settings.items():
        configuration.set_string(key, value)
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def started(
    source: KafkaSource, checkpoints: Path | None = None, *, restarts: bool = False
) -> JobClient:
    """Start a job that reads."""
    FOUND.clear()
    settings = {"restart-strategy.type": "fixed-delay"} if restarts else {}
    if restarts:
        settings["restart-strategy.fixed-delay.attempts"] = "100"
        settings["restart-strategy.fixed-delay.delay"] = "100 ms"
    env = environment(checkpoints, **settings)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka").uid("kafka").add_sink(take)
    return env.execute_async()


def wait_for(condition: Callable[[], bool], job: JobClient) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        if job.get_job_status().result().name == "FAILED":
            job.get_job_execution_result().result()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def cancelled(job: JobClient) -> None:
    """Cancel a job, and wait for its end."""
    job.cancel().result()


@pytest.mark.kafka
def test_a_job_reads_on_when_its_broker_is_back(
    broker: KafkaCluster, caplog: pytest.LogCaptureFixture
) -> None:
    topic = Topic(broker)
    topic.write(["a"])
    job = started(looking_often(reading(topic)).build())
    wait_for(lambda: FOUND == ["a"], job)

    broker.kill(0)
    wait_for(lambda: "reading waits until it can go on" in caplog.text, job)
    broker.start(0)
    topic.write(["b"])
    wait_for(lambda: FOUND == ["a", "b"], job)

    cancelled(job)


def pausing(record: KafkaConsumerRecord) -> str:
    """Let the broker stand still at the first message, once."""
    if TO_PAUSE:
        TO_PAUSE.pop().pause(0)
    return (record.value or b"").decode()


@pytest.mark.kafka
def test_a_job_is_restarted_until_its_broker_answers_that_was_away_for_too_long(
    broker: KafkaCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topic = Topic(broker, 2)
    topic.write(["a", "b"])
    topic.write(["c"], partition=1)
    source = reading(topic).set_record_deserializer(pausing)
    source.set_property("default.api.timeout.ms", "1000").set_group_id(topic.name)

    TO_PAUSE.append(broker)
    job = started(source.build(), tmp_path, restarts=True)
    wait_for(lambda: f"has given nothing of {topic.name}-1 for 1 s" in caplog.text, job)
    broker.resume(0)
    wait_for(lambda: set(FOUND) == {"a", "b", "c"}, job)
    wait_for(lambda: topic.committed() == {0: 2, 1: 1}, job)

    cancelled(job)


@pytest.mark.kafka
def test_a_job_takes_up_partitions_and_topics_while_it_runs_and_names_what_is_deleted(
    kafka: KafkaCluster, caplog: pytest.LogCaptureFixture
) -> None:
    prefix = uuid.uuid4().hex
    first = Topic(kafka, prefix=prefix)
    first.write(["a"])
    of_pattern = KafkaSource.builder().set_bootstrap_servers(first.servers)
    of_pattern.set_topic_pattern(f"{prefix}-.*").set_value_only_deserializer(SimpleStringSchema())
    job = started(looking_often(of_pattern).build())
    wait_for(lambda: FOUND == ["a"], job)
    first.add_partition()
    first.write(["b"], partition=1)
    wait_for(lambda: FOUND == ["a", "b"], job)
    second = Topic(kafka, prefix=prefix)
    second.write(["c"])
    wait_for(lambda: FOUND == ["a", "b", "c"], job)
    delete_topic(second.servers, second.name)
    wait_for(
        lambda: f"are gone, and not read until they are back: {second.name}-0" in caplog.text, job
    )
    first.write(["d"])
    wait_for(lambda: FOUND == ["a", "b", "c", "d"], job)
    cancelled(job)

    named = started(looking_often(reading(first)).build())
    wait_for(lambda: sorted(FOUND) == ["a", "b", "d"], named)
    delete_topic(first.servers, first.name)
    with pytest.raises(KafkaTopicNotFoundError, match=first.name):
        named.get_job_execution_result().result()


@pytest.mark.kafka
def test_a_topic_that_comes_after_a_job_has_found_none_is_read_from_its_beginning(
    kafka: KafkaCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prefix = uuid.uuid4().hex
    source = KafkaSource.builder().set_bootstrap_servers(kafka.bootstrap_servers)
    source.set_topic_pattern(f"{prefix}-.*").set_value_only_deserializer(SimpleStringSchema())
    source.set_starting_offsets(KafkaOffsetsInitializer.latest())
    job = started(source.build(), tmp_path)
    wait_for(lambda: job.progress().epochs == 1, job)
    cancelled(job)
    Topic(kafka, prefix=prefix).write(["a"])

    job = started(source.build(), tmp_path)
    wait_for(lambda: FOUND == ["a"], job)
    cancelled(job)


@pytest.mark.kafka
def test_what_becomes_of_the_group_is_nothing_to_the_job_which_tells_it_again(
    kafka: KafkaCluster, tmp_path: Path
) -> None:
    topic = Topic(kafka)
    admin = AdminClient({"bootstrap.servers": topic.servers})
    source = reading(topic).set_group_id(topic.name).build()

    def expire() -> None:
        admin.delete_consumer_groups([topic.name])[topic.name].result()
        assert topic.committed() == {0: -1001}

    def reads(value: str, until: int) -> None:
        topic.write([value])
        wait_for(lambda: FOUND[-1:] == [value] and topic.committed() == {0: until}, job)

    job = started(source, tmp_path / "one")
    reads("a", 1)
    expire()
    reads("b", 2)
    cancelled(job)
    expire()
    topic.write(["c"])
    job = started(source, tmp_path / "one")
    reads("d", 4)
    assert FOUND == ["c", "d"]

    other = started(source, tmp_path / "two")
    wait_for(lambda: FOUND == ["a", "b", "c", "d"], other)
    topic.write(["e"])
    wait_for(lambda: FOUND == ["a", "b", "c", "d", "e", "e"], other)
    cancelled(other)
    reads("f", 6)
    cancelled(job)


@pytest.mark.kafka
def test_a_time_that_is_still_to_come_begins_at_the_end(kafka: KafkaCluster) -> None:
    topic = Topic(kafka)
    topic.write(["a"])
    source = reading(topic).set_group_id(topic.name)
    source.set_starting_offsets(KafkaOffsetsInitializer.timestamp(1 << 42))
    job = started(source.build())
    wait_for(lambda: topic.committed() == {0: 1}, job)
    topic.write(["b"])
    wait_for(lambda: FOUND == ["b"], job)
    cancelled(job)


@pytest.mark.kafka
def test_what_retention_has_deleted_while_a_job_was_down_is_told_or_refused(
    kafka: KafkaCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topic = Topic(kafka)
    topic.write(["a"])
    source = reading(topic)
    job = started(source.build(), tmp_path)
    wait_for(lambda: FOUND == ["a"] and job.progress().epochs == 1, job)
    cancelled(job)
    topic.write("bcd")
    topic.delete_records(3)

    place = KafkaTopicPartition(topic.name, 0)
    strict = KafkaOffsetsInitializer.offsets({place: 0}, KafkaOffsetResetStrategy.NONE)
    job = started(reading(topic).set_starting_offsets(strict).build(), tmp_path)
    with pytest.raises(KafkaOffsetNotFoundError, match="from offset 1, but has 3 to 4"):
        job.get_job_execution_result().result()
    job = started(source.build(), tmp_path)
    wait_for(lambda: FOUND == ["d"], job)
    assert f"{place}: offsets 1 to 2 are lost" in caplog.text
    cancelled(job)


@pytest.mark.kafka
def test_the_end_is_reached_where_a_compacted_topic_has_lost_what_was_there(
    kafka: KafkaCluster, tmp_path: Path
) -> None:
    topic = Topic(
        kafka, cleanup_policy="compact", segment_ms="1", min_cleanable_dirty_ratio="0.001"
    )
    for value in "abcdef":
        topic.write([value, None], key="key")
    topic.write(["z"], key="other")
    topic.write(["y"], key="another")
    deadline = time.monotonic() + SECONDS
    while topic.values() != ["", "z", "y"]:
        assert time.monotonic() < deadline

    def found(source: KafkaSourceBuilder, **settings: str) -> list[str]:
        env = environment(tmp_path if settings else None, **settings)
        stream = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "kafka")
        return list(stream.uid("kafka").execute_and_collect())

    end = KafkaOffsetsInitializer.offsets({KafkaTopicPartition(topic.name, 0): 7})
    assert found(reading(topic).set_bounded(end)) == []
    assert found(reading(topic).set_bounded(KafkaOffsetsInitializer.latest())) == ["z", "y"]
    a_few = reading(topic).set_max_records_per_epoch(3)
    assert found(a_few, **{"execution.epoch.available-now": "true"}) == ["z", "y"]


def group_of(broker: int, admin: AdminClient) -> str:
    """Return the name of a group that a broker coordinates."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        name = uuid.uuid4().hex
        # The first who asks has the topic made that offsets are in.
        with suppress(KafkaException):
            found = admin.describe_consumer_groups([name])[name].result()
            if found.coordinator.id == broker:
                return name
    raise AssertionError(f"Broker {broker} coordinates nothing.")


@pytest.mark.kafka
def test_a_job_reads_on_and_tells_its_group_when_the_broker_is_gone_that_leads_both() -> None:
    from tests.servers.kafka_server import KafkaCluster

    with closing(KafkaCluster(3)) as cluster:
        topic = Topic(cluster)
        topic.write(["a"])
        admin = AdminClient({"bootstrap.servers": topic.servers})
        leader = admin.list_topics(topic.name).topics[topic.name].partitions[0].leader
        group = group_of(leader, admin)
        job = started(reading(topic).set_group_id(group).build())
        wait_for(lambda: FOUND == ["a"] and topic.committed(group) == {0: 1}, job)
        cluster.kill(leader)
        topic.write(["b"])
        wait_for(lambda: FOUND == ["a", "b"], job)
        wait_for(lambda: topic.committed(group) == {0: 2}, job)

        cancelled(job)
