from __future__ import annotations

import sys
from collections import defaultdict
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.errors import AnalysisException
from tests.datastream.connectors.kafka.sinks import sink_of
from tests.datastream.connectors.kafka.topics import PATIENCE, Topic

from penstock.common import Configuration, Duration, SimpleStringSchema, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from penstock.errors import (
    CheckpointMismatchError,
    KafkaClientNotFoundError,
    KafkaConnectorNotFoundError,
    KafkaPropertyError,
    KafkaTopicNotFoundError,
    MalformedMessageError,
    PenstockError,
    UnsupportedOperationError,
)
from penstock.executors.spark.kafka.connector import (
    ConnectorTopics,
    connector_reading,
    read_by_connector,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from tests.servers.kafka_server import KafkaCluster

LATEST = KafkaOffsetsInitializer.latest()
NO_WATERMARKS = WatermarkStrategy.no_watermarks()
IAM = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "AWS_MSK_IAM",
    "sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;",
}


def builder(servers: str = "localhost:1", topic: str = "t") -> KafkaSourceBuilder:
    found = KafkaSource.builder().set_bootstrap_servers(servers).set_topics(topic)
    return found.set_value_only_deserializer(SimpleStringSchema())


def configured(reader: str) -> Configuration:
    return Configuration().set_string("kafka.reader", reader)


class Reader:
    """Takes what Spark's reader is told, and finds no connector; on Spark Connect, it looks for it later."""

    def __init__(self, *, looks_later: bool = False) -> None:
        self.told: dict[str, str] = {}
        self.read = self.readStream = self
        self._looks_later = looks_later

    def format(self, name: str) -> Reader:
        assert name == "kafka"
        return self

    def options(self, **options: str) -> Reader:
        self.told = options
        return self

    def load(self) -> Any:
        return self if self._looks_later else self.isStreaming

    @property
    def isStreaming(self) -> bool:  # noqa: N802 - Spark's name
        raise AnalysisException("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: kafka.")


def told(source: KafkaSource) -> dict[str, str]:
    reader: Any = Reader()
    with pytest.raises(KafkaConnectorNotFoundError, match="not in the SparkSession"):
        connector_reading(ConnectorTopics(source.description()), reader, "Source: t")
    return reader.told  # type: ignore[no-any-return]


def test_python_reads_unless_it_cannot_or_is_not_to() -> None:
    plain = builder().build().description()
    iam = builder().set_properties(IAM).build().description()
    login = builder().set_property("sasl.login.class", "a.B").build().description()
    assert read_by_connector(plain, Configuration()) is None
    assert read_by_connector(plain, configured("spark")) == ConnectorTopics(plain)
    assert read_by_connector(iam, configured("python")) is None
    for name in ("made.up", "sasl.mechansim", "ssl.ca.locaton"):
        typo = builder().set_property(name, "x").build().description()
        assert read_by_connector(typo, Configuration()) is None
    for of_java in (iam, login):
        found = read_by_connector(of_java, Configuration())
        assert found is not None
        assert isinstance(found.reason, KafkaPropertyError)


def test_where_neither_can_read_the_error_says_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    topics = read_by_connector(builder().build().description(), Configuration())
    reader: Any = Reader()
    assert topics is not None
    with pytest.raises(KafkaClientNotFoundError, match=r"penstock\[kafka\](.|\n)*spark-sql-kafka"):
        connector_reading(topics, reader, "Source: t")


def test_that_there_is_no_connector_is_said_on_spark_connect_too() -> None:
    reader: Any = Reader(looks_later=True)
    with pytest.raises(KafkaConnectorNotFoundError, match="start the server"):
        connector_reading(ConnectorTopics(builder().build().description()), reader, "Source: t")


def test_the_connector_is_told_what_the_builder_was() -> None:
    source = builder().set_group_id("g").set_max_records_per_epoch(7).build()
    assert told(source) == {
        "kafka.bootstrap.servers": "localhost:1",
        "kafka.group.id": "g",
        "kafka.client.id": "g",
        "kafka.isolation.level": "read_committed",
        "subscribe": "t",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "7",
        "includeHeaders": "false",
        "failOnDataLoss": "false",
        "kafkaConsumer.pollTimeoutMs": "60000",
        "kafka.request.timeout.ms": "20000",
        "kafka.default.api.timeout.ms": "20000",
    }
    assert told(builder().set_record_deserializer().build())["includeHeaders"] == "true"
    slow = told(builder().set_property("request.timeout.ms", "50000").build())
    assert slow["kafka.default.api.timeout.ms"] == "50000"
    by_time = KafkaOffsetsInitializer.timestamp(5)
    places = {KafkaTopicPartition("a", 1), KafkaTopicPartition("a", 0)}
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers("localhost:1")
        .set_partitions(places)
        .set_value_only_deserializer(SimpleStringSchema())
        .set_starting_offsets(by_time)
        .set_bounded(by_time)
        .build()
    )
    found = told(source)
    assert found["assign"] == '{"a": [0, 1]}'
    assert found["groupIdPrefix"] == "penstock"
    assert found["failOnDataLoss"] == "true"
    times = "startingTimestamp", "startingOffsetsByTimestampStrategy", "endingTimestamp"
    assert [found[one] for one in times] == ["5", "latest", "5"]
    assert "maxOffsetsPerTrigger" not in found


def test_offsets_are_given_as_they_are_where_nobody_knows_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    given = KafkaOffsetsInitializer.offsets({KafkaTopicPartition("t", 0): 3})
    assert (
        told(builder().set_starting_offsets(given).build())["startingOffsets"] == '{"t": {"0": 3}}'
    )
    committed = KafkaOffsetsInitializer.committed_offsets()
    with pytest.raises(UnsupportedOperationError, match="committed offsets"):
        told(builder().set_group_id("g").set_starting_offsets(committed).build())


def test_a_stream_that_stops_somewhere_is_refused() -> None:
    with pytest.raises(UnsupportedOperationError, match="ends no stream"):
        told(builder().set_unbounded(LATEST).build())


def environment(spark: SparkSession, folder: Path | None = None) -> StreamExecutionEnvironment:
    configuration = configured("spark").set_string("execution.epoch.available-now", "true")
    if folder is not None:
        configuration.set_string("execution.checkpointing.dir", str(folder))
        configuration.set_string("execution.epoch.end-of-input", "false")
    found = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    return found.set_parallelism(2)


def tuple_of(*values: str) -> tuple[str, ...]:
    return values


def run(env: StreamExecutionEnvironment, source: KafkaSource) -> list[Any]:
    return sorted(env.from_source(source, NO_WATERMARKS, "kafka").execute_and_collect())


@pytest.mark.spark
@pytest.mark.kafka
def test_whole_records_tombstones_and_nothing_that_a_transaction_took_back(
    kafka: KafkaCluster, spark: SparkSession
) -> None:
    topic = Topic(kafka)
    topic.write(["a"], key=b"k", timestamp=77, headers=[("h", b"1"), ("n", None)])
    topic.write([None], timestamp=78)
    producer = Producer({"bootstrap.servers": topic.servers, "transactional.id": topic.name})
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    producer.produce(topic.name, "taken back", partition=0)
    producer.flush(PATIENCE)
    producer.abort_transaction(PATIENCE)
    topic.write(["b"], timestamp=79)
    # The partition hears of the transaction's end a little later.
    assert topic.values() == ["a", "", "b"]
    values = builder(topic.servers, topic.name)
    whole = builder(topic.servers, topic.name).set_group_id(topic.name).set_record_deserializer()
    ending = KafkaOffsetsInitializer.offsets({KafkaTopicPartition(topic.name, 0): 2})

    assert run(environment(spark), values.build()) == ["a", "b"]
    assert run(environment(spark), values.set_bounded(LATEST).build()) == ["a", "b"]
    assert run(environment(spark), whole.set_bounded(ending).build()) == [
        (topic.name, 0, 0, 77, b"k", b"a", (("h", b"1"), ("n", None))),
        (topic.name, 0, 1, 78, None, None, ()),
    ]
    assert topic.committed() == {0: 2}


@pytest.mark.spark
@pytest.mark.kafka
def test_each_source_begins_where_it_was_told_and_reads_what_it_was_told(
    kafka: KafkaCluster, spark: SparkSession
) -> None:
    one, other = Topic(kafka, partitions=2), Topic(kafka)
    producer = Producer({"bootstrap.servers": one.servers, "linger.ms": 0})
    for partition, value, time in ((0, "a", 10), (0, "b", 20), (0, "c", 30), (1, "d", 40)):
        producer.produce(one.name, value, partition=partition, timestamp=time)
    producer.produce(other.name, "e", partition=0)
    assert producer.flush(PATIENCE) == 0
    with closing(Consumer({"bootstrap.servers": one.servers, "group.id": one.name})) as consumer:
        consumer.commit(offsets=[TopicPartition(one.name, 0, 2)], asynchronous=False)

    def source() -> KafkaSourceBuilder:
        found = KafkaSource.builder().set_bootstrap_servers(one.servers)
        return found.set_value_only_deserializer(SimpleStringSchema())

    starts = {
        "committed": KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.EARLIEST),
        "given": KafkaOffsetsInitializer.offsets({KafkaTopicPartition(one.name, 0): 1}),
        "latest": LATEST,
        "by time": KafkaOffsetsInitializer.timestamp(35),
    }
    sources = {
        name: source().set_topics(one.name).set_starting_offsets(start)
        for name, start in starts.items()
    }
    sources["committed"].set_group_id(one.name)
    sources["by pattern"] = source().set_topic_pattern(f"{one.name}|{other.name[:-1]}.")
    sources["by partition"] = source().set_partitions({KafkaTopicPartition(one.name, 1)})
    env = environment(spark)
    streams = [
        env.from_source(made.build(), NO_WATERMARKS, name).map(partial(tuple_of, name))
        for name, made in sources.items()
    ]

    found: dict[str, str] = defaultdict(str)
    for name, value in sorted(streams[0].union(*streams[1:]).execute_and_collect()):
        found[name] += value
    assert found == {
        "by partition": "d",
        "by pattern": "abcde",
        "by time": "d",
        "committed": "cd",
        "given": "bcd",
    }
    assert one.committed() == {0: 3, 1: 1}


@pytest.mark.spark
@pytest.mark.kafka
def test_each_partition_has_a_watermark_of_its_own(
    kafka: KafkaCluster, spark: SparkSession
) -> None:
    """Without one, what is late after the other partition would be late here."""

    class WithWatermark(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            yield value, ctx.timer_service().current_watermark() >= 1_000

    topic = Topic(kafka, partitions=2)
    producer = Producer({"bootstrap.servers": topic.servers, "linger.ms": 0})
    for epoch in range(2):
        producer.produce(topic.name, f"new {epoch}", partition=0, timestamp=10_000)
        producer.produce(topic.name, f"old {epoch}", partition=1, timestamp=10 + epoch)
    assert producer.flush(PATIENCE) == 0
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(0))
    source = builder(topic.servers, topic.name).set_max_records_per_epoch(2).build()
    stream = environment(spark).from_source(source, strategy, "kafka").key_by(lambda value: 0)

    assert sorted(stream.process(WithWatermark()).execute_and_collect()) == [
        ("new 0", False),
        ("new 1", False),
        ("old 0", False),
        ("old 1", False),
    ]


@pytest.mark.spark
@pytest.mark.kafka
def test_a_job_goes_on_where_it_was_and_delivers_once_and_keeps_its_reader(
    kafka: KafkaCluster, spark: SparkSession, tmp_path: Path
) -> None:
    topic, out = Topic(kafka), Topic(kafka)
    source = builder(topic.servers, topic.name).set_group_id(topic.name)
    source.set_max_records_per_epoch(2)
    sink = sink_of(out)

    def start(reader: str = "spark") -> None:
        env = environment(spark, tmp_path)
        env.configure(configured(reader))
        env.from_source(source.build(), NO_WATERMARKS, "kafka").sink_to(sink)
        env.execute()

    topic.write(["a", "b", "c"])
    start()
    assert topic.committed() == {0: 3}
    topic.write(["d"])
    start()
    # The group's offsets expire.
    admin = AdminClient({"bootstrap.servers": topic.servers})
    admin.delete_consumer_groups([topic.name])[topic.name].result(PATIENCE)
    start()
    assert topic.committed() == {0: 4}
    assert sorted(out.values()) == ["a", "b", "c", "d"]
    # As if confluent-kafka had not been installed before.
    with pytest.raises(CheckpointMismatchError, match=r"set kafka\.reader to spark"):
        start("auto")


@pytest.mark.spark
@pytest.mark.kafka
def test_what_is_wrong_has_a_name(kafka: KafkaCluster, spark: SparkSession) -> None:
    topic = Topic(kafka)
    topic.write(["no number"])
    bounded = builder(topic.servers, topic.name).set_bounded(LATEST)
    bounded.set_record_deserializer(lambda record: int(record.value or b""))
    with pytest.raises(MalformedMessageError, match=rf"{topic.name}(.|\n)*offset 0"):
        run(environment(spark), bounded.build())
    strict = KafkaOffsetsInitializer.offsets({}, KafkaOffsetResetStrategy.NONE)
    with pytest.raises(PenstockError, match="no offsets"):
        run(environment(spark), bounded.set_starting_offsets(strict).build())
    with pytest.raises(KafkaTopicNotFoundError, match="cannot read its topics"):
        run(environment(spark), builder(topic.servers, "nowhere").build())
