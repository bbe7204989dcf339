from __future__ import annotations

import re
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewPartitions, NewTopic
from tests.datastream.connectors.kafka.topics import forbidden

from penstock.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from penstock.datastream.formats import DeserializeFunction
from penstock.datastream.formats.json import JsonRowDeserializationSchema
from penstock.errors import (
    InvalidArgumentError,
    KafkaAccessError,
    KafkaClientNotFoundError,
    KafkaNotReachableError,
    KafkaPropertyError,
    KafkaTopicNotFoundError,
    MalformedMessageError,
)
from penstock.testing import local_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from tests.servers.kafka_server import KafkaCluster

LATEST = KafkaOffsetsInitializer.latest()
NO_WATERMARKS = WatermarkStrategy.no_watermarks()


def builder() -> KafkaSourceBuilder:
    schema = SimpleStringSchema()
    found = KafkaSource.builder().set_bootstrap_servers("localhost:1").set_topics("t")
    return found.set_value_only_deserializer(schema)


@pytest.fixture
def topic(kafka: KafkaCluster) -> str:
    """A new topic of two partitions."""
    name = f"t-{uuid.uuid4().hex}"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(name, 2)])[name].result()
    return name


def write(kafka: KafkaCluster, topic: str, *values: str, partition: int = 0, **more: Any) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 0})
    for value in values:
        producer.produce(topic, value, partition=partition, **more)
    assert producer.flush(30) == 0


def reading(kafka: KafkaCluster, topic: str) -> KafkaSourceBuilder:
    found = KafkaSource.builder().set_bootstrap_servers(kafka.bootstrap_servers).set_topics(topic)
    return found.set_value_only_deserializer(SimpleStringSchema())


def run(env: StreamExecutionEnvironment, source: KafkaSource) -> list[Any]:
    return sorted(env.from_source(source, NO_WATERMARKS, "kafka").execute_and_collect())


@pytest.mark.parametrize(
    ("build", "about"),
    [
        (lambda: KafkaSource.builder().build(), "bootstrap servers"),
        (lambda: KafkaSource.builder().set_bootstrap_servers("a").build(), "topics"),
        (
            lambda: KafkaSource.builder().set_bootstrap_servers("a").set_topics("t").build(),
            "deserializer",
        ),
        (lambda: builder().set_topic_pattern("a"), "twice"),
        (lambda: KafkaSource.builder().set_topics(), "set_topics"),
        (lambda: KafkaSource.builder().set_topic_pattern("("), "set_topic_pattern"),
        (lambda: KafkaSource.builder().set_partitions({("a", 1)}), "set_partitions"),  # type: ignore[arg-type]
        (lambda: builder().set_property("a", 1), "property 'a'"),  # type: ignore[arg-type]
        (lambda: builder().set_starting_offsets("latest"), "latest"),  # type: ignore[arg-type]
        (lambda: builder().set_value_only_deserializer("text"), "text"),  # type: ignore[arg-type]
        (lambda: builder().set_record_deserializer("text"), "text"),  # type: ignore[arg-type]
        (lambda: builder().set_max_records_per_epoch(0), "0"),
        (
            lambda: (
                builder().set_starting_offsets(KafkaOffsetsInitializer.committed_offsets()).build()
            ),
            "no consumer group",
        ),
    ],
)
def test_what_is_missing_or_wrong_is_said_at_once(build: Callable[[], Any], about: str) -> None:
    with pytest.raises(InvalidArgumentError, match=about):
        build()


def test_a_property_that_is_no_number_is_refused() -> None:
    with pytest.raises(KafkaPropertyError, match="no number"):
        builder().set_property("partition.discovery.interval.ms", "often").build()


def test_a_property_that_nobody_knows_is_named() -> None:
    source = builder().set_property("made.up", "x").set_bounded(LATEST).build()
    with pytest.raises(KafkaPropertyError, match=r"made\.up"):
        run(local_environment(), source)


def test_a_broker_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.runtime.planned.kafka.broker._ANSWER_SECONDS", 0.1)
    source = builder().set_property("default.api.timeout.ms", "1").set_bounded(LATEST).build()
    with pytest.raises(KafkaNotReachableError, match=r"localhost:1 .*refused"):
        run(local_environment(), source)


def test_without_the_client_an_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    where = f"confluent-kafka is not installed: it is not known to {re.escape(sys.executable)}"
    with pytest.raises(KafkaClientNotFoundError, match=where):
        run(local_environment(), builder().set_bounded(LATEST).build())


@pytest.mark.kafka
def test_what_was_committed_is_read_and_nothing_that_a_transaction_took_back(
    kafka: KafkaCluster, topic: str
) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": topic})
    producer.init_transactions(60)
    for value, is_good in (("a", True), ("b", False), ("c", True), ("d", False)):
        producer.begin_transaction()
        producer.produce(topic, value, partition=0)
        producer.flush(60)
        if is_good:
            producer.commit_transaction(60)
        else:
            producer.abort_transaction(60)
    producer.begin_transaction()
    producer.produce(topic, "open", partition=0)
    producer.flush(60)
    dirty = {"isolation.level": "read_uncommitted"}

    bounded = reading(kafka, topic).set_bounded(LATEST)
    assert run(local_environment(), bounded.build()) == ["a", "c"]
    # One partition after the other, each offset in an epoch of its own.
    assert run(local_environment(2), bounded.set_max_records_per_epoch(1).build()) == ["a", "c"]
    found = run(local_environment(), bounded.set_properties(dirty).build())
    assert set(found) == {"a", "b", "c", "d", "open"}

    behind_what_is_open = KafkaOffsetsInitializer.offsets({KafkaTopicPartition(topic, 0): 9})
    late = reading(kafka, topic).set_bounded(LATEST).set_starting_offsets(behind_what_is_open)
    assert run(local_environment(), late.build()) == []
    producer.abort_transaction(60)


@pytest.mark.kafka
def test_a_record_can_be_had_with_all_that_belongs_to_it(kafka: KafkaCluster, topic: str) -> None:
    headers = [("h", b"1"), ("n", None)]
    write(kafka, topic, "v", partition=1, key=b"k", timestamp=77, headers=headers)
    source = reading(kafka, topic).set_record_deserializer().set_bounded(LATEST).build()

    (found,) = run(local_environment(), source)

    assert found == (topic, 1, 0, 77, b"k", b"v", (("h", b"1"), ("n", None)))
    assert found.key == b"k"


@pytest.mark.kafka
def test_a_job_goes_on_where_it_was_and_tells_the_group(
    kafka: KafkaCluster, topic: str, tmp_path: Path
) -> None:
    source = reading(kafka, topic).set_group_id(topic).set_max_records_per_epoch(2).build()

    def start() -> list[Any]:
        configuration = Configuration()
        configuration.set_string("execution.target", "local")
        configuration.set_string("execution.checkpointing.dir", str(tmp_path))
        configuration.set_string("execution.epoch.available-now", "true")
        configuration.set_string("execution.epoch.end-of-input", "false")
        return run(StreamExecutionEnvironment.get_execution_environment(configuration), source)

    write(kafka, topic, "a", "b", "c")
    assert start() == ["a", "b", "c"]
    write(kafka, topic, "d")
    write(kafka, topic, "e", partition=1)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result()
    write(kafka, topic, "f", partition=2)

    assert start() == ["d", "e", "f"]
    assert start() == []
    committed = reading(kafka, topic).set_group_id(topic).set_bounded(LATEST)
    committed.set_starting_offsets(KafkaOffsetsInitializer.committed_offsets())
    assert run(local_environment(), committed.build()) == []


@pytest.mark.kafka
def test_a_right_on_a_group_is_only_needed_to_ask_it_or_to_tell_it(
    kafka: KafkaCluster, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    write(kafka, topic, "a")
    group = ResourceType.GROUP
    without = reading(kafka, topic).set_bounded(LATEST)
    with (
        forbidden(kafka, group, "penstock", user="nobody"),
        forbidden(kafka, group, topic, user="nobody"),
    ):
        assert run(local_environment(), without.build()) == ["a"]
        assert "cannot be told" not in caplog.text
        of_group = without.set_group_id(topic)
        assert run(local_environment(), of_group.build()) == ["a"]
        assert f"the consumer group {topic} cannot be told how far it has read" in caplog.text
        of_group.set_starting_offsets(KafkaOffsetsInitializer.committed_offsets())
        with pytest.raises(KafkaAccessError, match="does not let the job have the consumer group"):
            run(local_environment(), of_group.build())


@pytest.mark.kafka
def test_a_message_that_cannot_be_read_ends_the_job_and_is_named(
    kafka: KafkaCluster, topic: str
) -> None:
    write(kafka, topic, "1", "x")
    source = reading(kafka, topic).set_bounded(LATEST)
    source.set_record_deserializer(lambda record: int(record.value or b""))

    with pytest.raises(MalformedMessageError, match=f"'{topic}', partition 0, offset 1"):
        run(local_environment(), source.build())


@pytest.mark.kafka
def test_messages_that_hold_no_record_go_to_dead_letters(kafka: KafkaCluster, topic: str) -> None:
    write(kafka, topic, '{"id": 1}', "?", '{"id": 2}')
    write(kafka, topic, "!", partition=1)
    ids = Types.ROW_NAMED(["id"], [Types.INT()])
    schema = JsonRowDeserializationSchema.builder().type_info(ids).build()
    dead = OutputTag("dead letters")
    source = reading(kafka, topic).set_record_deserializer().set_bounded(LATEST).build()

    messages = local_environment(2).from_source(source, NO_WATERMARKS, "messages")
    rows = messages.process(DeserializeFunction(schema, dead_letters=dead), ids)
    places = rows.get_side_output(dead).map(
        lambda letter: (letter.topic, letter.partition, letter.offset, letter.message)
    )
    found = rows.map(lambda row: row.id).union(places).execute_and_collect()

    assert sorted(found, key=str) == [(topic, 0, 1, b"?"), (topic, 1, 0, b"!"), 1, 2]


@pytest.mark.kafka
def test_offsets_and_times_and_topics_say_what_is_read(kafka: KafkaCluster, topic: str) -> None:
    write(kafka, topic, "a", timestamp=10)
    write(kafka, topic, "b", timestamp=20)

    def found(start: KafkaOffsetsInitializer, end: KafkaOffsetsInitializer = LATEST) -> list[str]:
        source = reading(kafka, topic).set_starting_offsets(start).set_bounded(end)
        return run(local_environment(), source.build())

    place = KafkaTopicPartition(topic, 0)
    assert found(KafkaOffsetsInitializer.timestamp(15)) == ["b"]
    assert found(KafkaOffsetsInitializer.offsets({place: 1})) == ["b"]
    assert found(KafkaOffsetsInitializer.earliest(), KafkaOffsetsInitializer.timestamp(15)) == ["a"]
    with pytest.raises(KafkaTopicNotFoundError, match="no nothing-here"):
        run(local_environment(), reading(kafka, "nothing-here").set_bounded(LATEST).build())


@pytest.mark.kafka
@pytest.mark.spark
def test_spark_reads_the_same(spark: SparkSession, kafka: KafkaCluster, topic: str) -> None:
    numbers = [f"{number:05}" for number in range(3000)]
    write(kafka, topic, *numbers[:1000])
    write(kafka, topic, *numbers[1000:], partition=1)
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    env.set_parallelism(2)
    source = reading(kafka, topic).set_unbounded(LATEST).set_max_records_per_epoch(1300)

    assert run(env, source.build()) == numbers
