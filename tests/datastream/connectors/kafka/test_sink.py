from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from confluent_kafka import KafkaError
from tests.datastream.connectors.kafka.topics import Topic
from tests.datastream.connectors.sink_job import NewJob, SinkJob
from tests.servers.kafka_server import KafkaCluster

from penstock.common import SimpleStringSchema
from penstock.datastream.connectors import DeliveryGuarantee
from penstock.datastream.connectors.kafka import (
    FlinkKafkaProducer,
    KafkaRecord,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSinkBuilder,
    KafkaTopicSelector,
    Semantic,
)
from penstock.datastream.connectors.kafka.failures import failure
from penstock.datastream.connectors.kafka.target import KafkaTarget
from penstock.errors import (
    InvalidArgumentError,
    KafkaClientNotFoundError,
    KafkaPropertyError,
    SinkNotReachableError,
    SinkNotWritableError,
    SinkRowError,
    SinkTopicError,
)
from penstock.runtime.sinks import Uncommitted
from penstock.testing import local_environment

NOWHERE = "127.0.0.1:1"


class Pairs(KafkaRecordSerializationSchema):
    """Makes records of whatever a test says: of texts values, of tuples keys and values, of others themselves."""

    def __init__(self, topic: str) -> None:
        self._topic = topic

    def record(self, element: Any, timestamp: int | None) -> KafkaRecord:
        if isinstance(element, KafkaRecord):
            return element._replace(topic=element.topic or self._topic)
        if isinstance(element, str):
            return KafkaRecord(self._topic, element.encode(), timestamp=timestamp)
        return KafkaRecord(self._topic, element[1], element[0], timestamp)


def builder(servers: str = NOWHERE, topic: str = "topic") -> KafkaSinkBuilder:
    return KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(Pairs(topic))


def exactly_once(servers: str = NOWHERE, topic: str = "topic") -> KafkaSinkBuilder:
    found = builder(servers, topic).set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    return found.set_transactional_id_prefix(f"job-{topic}")


@pytest.fixture
def staging(monkeypatch: pytest.MonkeyPatch, new_job: NewJob) -> SinkJob:
    """A job that sends exactly once, without a Kafka."""
    monkeypatch.setattr(
        "penstock.datastream.connectors.kafka.epochs_topic.EpochsTopic.create", lambda self: None
    )
    return new_job(exactly_once().set_property("max.request.size", "1000").build())


class TestSchemas:
    def test_make_records_of_key_value_topic_and_what_penstock_adds(self) -> None:
        class First(KafkaTopicSelector):
            def apply(self, data: str) -> str:
                return f"topic-{data[0]}"

        schema = (
            KafkaRecordSerializationSchema.builder()
            .set_topic_selector(First())
            .set_key_serialization_schema(SimpleStringSchema())
            .set_value_serialization_schema(SimpleStringSchema("utf-16-be"))
            .set_header_provider(lambda text: {"length": b"%d" % len(text)})
            .set_partitioner(len)
            .build()
        )
        assert schema.record("ab", 5) == KafkaRecord(
            "topic-a", b"\0a\0b", b"ab", 5, 2, (("length", b"2"),)
        )
        assert schema.record("ab", -1) == KafkaRecord(
            "topic-a", b"\0a\0b", b"ab", None, 2, (("length", b"2"),)
        )
        assert schema.serialize("ab") == b"\0a\0b"
        assert cloudpickle.loads(cloudpickle.dumps(schema)).record("b", None)[0] == "topic-b"

    def test_say_what_is_missing_or_wrong(self) -> None:
        new = KafkaRecordSerializationSchema.builder
        with pytest.raises(InvalidArgumentError, match="needs a topic"):
            new().set_value_serialization_schema(SimpleStringSchema()).build()
        with pytest.raises(InvalidArgumentError, match="a schema for the value"):
            new().set_topic("words").build()
        with pytest.raises(InvalidArgumentError, match="said twice"):
            new().set_topic("words").set_topic_selector(str)
        for name in ("", "not a topic", ".", "x" * 250):
            with pytest.raises(InvalidArgumentError, match=f"'{name}' is no topic"):
                new().set_topic(name)
        wrong: Any = "text"
        with pytest.raises(TypeError, match="must be KafkaTopicSelector or a callable"):
            new().set_topic_selector(wrong)
        with pytest.raises(InvalidArgumentError, match=r"set_partitioner\(\) was given 'text'"):
            new().set_partitioner(wrong)
        with pytest.raises(InvalidArgumentError, match=r"set_header_provider\(\) was given 'te"):
            new().set_header_provider(wrong)
        with pytest.raises(InvalidArgumentError, match="'not a topic' is no topic"):
            builder().set_epochs_topic("not a topic")
        with pytest.raises(InvalidArgumentError, match="'text' is no SerializationSchema"):
            new().set_key_serialization_schema(wrong)


class TestTheBuilder:
    def test_says_what_is_missing_or_wrong(self) -> None:
        wrong: Any = "text"
        with pytest.raises(InvalidArgumentError, match="needs to know where Kafka is"):
            KafkaSink.builder().set_record_serializer(Pairs("topic")).build()
        with pytest.raises(InvalidArgumentError, match="what makes its records"):
            KafkaSink.builder().set_bootstrap_servers(NOWHERE).build()
        with pytest.raises(InvalidArgumentError, match="needs a prefix"):
            builder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()
        with pytest.raises(InvalidArgumentError, match="is no DeliveryGuarantee"):
            builder().set_delivery_guarantee(wrong)
        with pytest.raises(InvalidArgumentError, match="is no KafkaRecordSerializationSchema"):
            builder().set_record_serializer(wrong)
        for number in (0, wrong):
            with pytest.raises(InvalidArgumentError, match=f"sent in {number!r} transactions"):
                builder().set_transactions_per_epoch(number)
        with pytest.raises(InvalidArgumentError, match="longer than 6400 bytes"):
            builder().set_transactional_id_prefix("x" * 6401)
        for value in (5, True, None, b"secret"):
            with pytest.raises(InvalidArgumentError, match=r"'linger\.ms' with a value that is"):
                builder().set_property("linger.ms", value)  # type: ignore[arg-type]

    def test_keeps_passwords_to_itself(self) -> None:
        sink = builder().set_property("sasl.password", "secret").build()
        assert "secret" not in repr(sink)
        assert sink.place == NOWHERE

    def test_takes_properties_of_kafkas_java_client(self) -> None:
        found = exactly_once()
        for key, value in {
            "acks": "all",
            "max.request.size": "2000",
            "buffer.memory": "33554432",
            "key.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
            "sasl.jaas.config": 'Plain required username="me" password="it is; \\"so\\"";',
        }.items():
            found.set_property(key, value)
        assert found.build().target.settings == {
            "bootstrap.servers": NOWHERE,
            "partitioner": "murmur2_random",
            "transaction.timeout.ms": "300000",
            "acks": "all",
            "message.max.bytes": "2000",
            "queue.buffering.max.kbytes": "32768",
            "sasl.username": "me",
            "sasl.password": 'it is; "so"',
        }
        assert found.build().target.connection == {
            "bootstrap.servers": NOWHERE,
            "sasl.username": "me",
            "sasl.password": 'it is; "so"',
        }
        with pytest.raises(InvalidArgumentError, match="a keystore of Java"):
            builder().set_property("ssl.truststore.location", "/etc/trust.jks").build()

    def test_names_properties_that_the_client_does_not_know(self, new_job: NewJob) -> None:
        job = new_job(builder().set_property("no.such", "1").build())
        with pytest.raises(InvalidArgumentError, match=r'such configuration property: "no.such"'):
            job.prepare([["a"]])

    def test_names_a_topic_for_each_prefix(self) -> None:
        def topic(prefix: str) -> str:
            sink = exactly_once().set_transactional_id_prefix(prefix).build()
            return sink.target.topic_of_epochs

        assert topic("my-job") == "penstock-epochs-my-job"
        assert topic("my job") == "penstock-epochs-my_job-" + topic("my job")[-8:]
        assert len({topic("my job"), topic("my/job"), topic("my_job")}) == 3
        assert len(topic("x" * 6000)) < 249
        other = exactly_once().set_epochs_topic("other").build()
        assert other.target.topic_of_epochs == "other"


class TestRecords:
    @pytest.mark.parametrize(
        ("record", "why"),
        [
            ("b" * 1001, r"'b{97,}\.\.\.: it has 1001 bytes, of at most 964"),
            (KafkaRecord("", b"a", headers=[("h", b"b" * 1000)]), "it has 1005 bytes"),
            (KafkaRecord(5, b"a"), "its topic would be 5"),  # type: ignore[arg-type]
            ((b"k", "text"), r"it would be \('topic', 'text', b'k'"),
            (("key", b"v"), r"it would be \('topic', b'v', 'key'"),
            (KafkaRecord("", b"v", timestamp=1.5), r"it would be \("),  # type: ignore[arg-type]
            (KafkaRecord("", b"v", timestamp=-1), r"it would be \("),
            (KafkaRecord("", b"v", partition=1 << 31), r"it would be \("),
            (KafkaRecord("", b"v", headers=[("h", "x")]), r"it would be \("),  # type: ignore[list-item]
            (KafkaRecord("", b"v", headers=["h"]), r"it would be \("),  # type: ignore[list-item]
            (KafkaRecord("not a topic", b"v"), "its topic would be 'not a topic'"),
            (KafkaRecord("..", b"v"), r"its topic would be '\.\.'"),
        ],
    )
    def test_that_kafka_would_not_take_fail_before_the_epoch_is_committed(
        self, staging: SinkJob, record: Any, why: str
    ) -> None:
        with pytest.raises(SinkRowError, match=f"'Sink: Writer' cannot send .*{why}"):
            staging.prepare([["fits", record]])

    def test_are_staged_in_files_of_limited_size(
        self, staging: SinkJob, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr("penstock.datastream.connectors.kafka.writers._BYTES_PER_FILE", 1000)
        staging.prepare([["b" * 400] * 7])
        assert len(list((tmp_path / "job" / "prepared").iterdir())) == 3


class TestProducers:
    def test_are_told_what_they_write(self) -> None:
        config = {"bootstrap.servers": NOWHERE, "transactional.id": "my-job"}
        producer = FlinkKafkaProducer(
            "words", SimpleStringSchema(), config, semantic=Semantic.EXACTLY_ONCE
        )
        assert producer.ignore_failures_after_transaction_timeout() is producer
        target = producer.target
        assert target.is_exactly_once
        assert target.transactional_id("sink") == "my-job-sink"
        assert "transactional.id" not in target.settings
        assert target.serializer.record("a", 5) == KafkaRecord("words", b"a")
        changed = producer.set_write_timestamp_to_kafka(True).set_flush_on_checkpoint(False)
        assert changed.target.serializer.record("a", 5) == KafkaRecord("words", b"a", timestamp=5)
        assert changed.set_log_failures_only(True).target.logs_failures_only
        cloudpickle.loads(cloudpickle.dumps(producer.create_operator()))

    def test_say_what_is_missing_or_wrong(self) -> None:
        wrong: Any = "text"
        config = {"bootstrap.servers": NOWHERE}
        with pytest.raises(InvalidArgumentError, match="needs to know where Kafka is"):
            FlinkKafkaProducer("words", SimpleStringSchema(), {})
        with pytest.raises(InvalidArgumentError, match="is no SerializationSchema"):
            FlinkKafkaProducer("words", wrong, config)
        with pytest.raises(InvalidArgumentError, match="is no Semantic"):
            FlinkKafkaProducer("words", SimpleStringSchema(), config, semantic=wrong)
        with pytest.raises(InvalidArgumentError, match=r"'linger\.ms' with a value that is int"):
            FlinkKafkaProducer("words", SimpleStringSchema(), {**config, "linger.ms": 5})  # type: ignore[dict-item]

    def test_have_the_topic_as_their_name_unless_they_are_given_one(self) -> None:
        for given, found in (
            ({}, "penstock-words-sink"),
            ({"transactional.id": "job"}, "job-sink"),
        ):
            config = {"bootstrap.servers": NOWHERE, **given}
            semantic = Semantic.EXACTLY_ONCE
            producer = FlinkKafkaProducer("words", SimpleStringSchema(), config, semantic=semantic)
            assert producer.target.transactional_id("sink") == found


def test_a_client_that_is_not_installed_is_named(
    new_job: NewJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(KafkaClientNotFoundError, match="confluent-kafka is not installed"):
        new_job(exactly_once().build())
    with pytest.raises(KafkaClientNotFoundError, match="confluent-kafka is not installed"):
        new_job(builder().build()).prepare([["a"]])


def test_a_kafka_that_is_not_there_is_waited_for_and_named(
    new_job: NewJob, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("penstock.datastream.connectors.kafka.waiting._ROUND_SECONDS", 0.1)
    sink = exactly_once().set_property("max.block.ms", "300").build()
    with pytest.raises(SinkNotReachableError, match=r"Kafka at 127\.0\.0\.1:1 does not answer"):
        new_job(sink)
    assert "Kafka at 127.0.0.1:1: waiting for topics for" in caplog.text
    with pytest.raises(SinkNotReachableError):
        sink.create_committer().drop(Uncommitted("lineage", sink_id="sink"))
    for key in ("max.block.ms", "transaction.timeout.ms", "message.max.bytes"):
        with pytest.raises(KafkaPropertyError, match=rf"{key} is 'long', which is no number"):
            exactly_once().set_property(key, "long").build()
    job = new_job(builder().set_property("delivery.timeout.ms", "200").build())
    monkeypatch.setattr("penstock.datastream.connectors.kafka.sender._ANSWER_SECONDS", 0.1)
    with pytest.raises(SinkNotReachableError, match=r"Kafka at 127\.0\.0\.1:1 does not answer"):
        job.prepare([["a"]])


def test_what_is_not_taken_in_time_is_told_with_what_may_hold_it_up() -> None:
    error = KafkaError(KafkaError._MSG_TIMED_OUT)
    record = KafkaRecord("topic", b"a")
    for found, again in (
        (builder(), "What was sent before is there, and comes once more when"),
        (exactly_once(), "What is not visible is sent when the job is started again"),
    ):
        told = str(failure(error, found.build().target, record))
        assert "did not take a record of 1 bytes for the topic 'topic'" in told
        assert again in told
        assert "min.insync.replicas" in told


@pytest.mark.kafka
class TestSending:
    def test_ends_before_the_epoch_is_committed(self, kafka: KafkaCluster, new_job: NewJob) -> None:
        topic = Topic(kafka)
        job = new_job(builder(kafka.bootstrap_servers, topic.name).build())
        job.prepare([["a", (b"k", b"b"), KafkaRecord("", None, b"k", 77, 0, [("h", b"x")])]])
        job.prepare([[KafkaRecord("", b"c", timestamp=0)]])
        seen = topic.read()
        assert [(one.value, one.key) for one in seen] == [
            (b"a", None),
            (b"b", b"k"),
            (None, b"k"),
            (b"c", None),
        ]
        assert (seen[2].timestamp, seen[2].headers) == (77, [("h", b"x")])
        assert seen[3].timestamp == 1
        with pytest.raises(SinkNotWritableError, match=r"message\.timestamp\.after\.max\.ms"):
            job.prepare([[KafkaRecord("", b"late", timestamp=10**15)]])
        job.kill([0])
        job.run([["a"]])
        assert topic.values() == ["a", "b", "", "c", "a"]

    def test_puts_keys_where_kafkas_java_client_puts_them(
        self, kafka: KafkaCluster, new_job: NewJob
    ) -> None:
        topic = Topic(kafka, partitions=10)
        job = new_job(builder(kafka.bootstrap_servers, topic.name).build())
        # Utils.toPositive(Utils.murmur2(key)) % 10, of Kafka's tests of Utils.murmur2.
        hashes = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536}
        job.run([[(key, b"") for key in hashes]])
        assert {one.key: one.partition for one in topic.read()} == {
            key: (found & 0x7FFFFFFF) % 10 for key, found in hashes.items()
        }

    def test_names_topics_that_cannot_be_written_to(
        self, kafka: KafkaCluster, new_job: NewJob
    ) -> None:
        topic = Topic(kafka)
        job = new_job(builder(kafka.bootstrap_servers, topic.name).build())
        with pytest.raises(SinkTopicError, match="partition"):
            job.prepare([[KafkaRecord("", b"a", partition=7)]])

    def test_a_producer_writes_to_a_partition_of_its_own_and_may_log_failures(
        self, kafka: KafkaCluster, new_job: NewJob, caplog: pytest.LogCaptureFixture
    ) -> None:
        topic = Topic(kafka, partitions=3, max_message_bytes="100")
        config = {"bootstrap.servers": kafka.bootstrap_servers}
        sink = FlinkKafkaProducer(topic.name, SimpleStringSchema(), config)
        job = new_job(sink.set_log_failures_only(True), parallelism=2)
        job.run([["a", "b"], ["c"]])
        with caplog.at_level(logging.ERROR):
            job.run([["d" * 200], []])
        assert "1 records could not be sent" in caplog.text
        assert [(one.value, one.partition) for one in topic.read()] == [
            (b"a", 0),
            (b"b", 0),
            (b"c", 1),
        ]

    def test_a_producer_hears_of_partitions_that_are_added(
        self, kafka: KafkaCluster, new_job: NewJob, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("penstock.datastream.connectors.kafka.sender._KNOWN_SECONDS", 0)
        topic = Topic(kafka)
        config = {"bootstrap.servers": kafka.bootstrap_servers}
        job = new_job(FlinkKafkaProducer(topic.name, SimpleStringSchema(), config), parallelism=2)
        job.run([["a"], ["b"]])
        topic.add_partition()
        job.run([["c"], ["d"]])
        assert [(one.value, one.partition) for one in topic.read()] == [
            (b"a", 0),
            (b"b", 0),
            (b"c", 0),
            (b"d", 1),
        ]

    def test_is_what_a_program_does(self, kafka: KafkaCluster) -> None:
        topic = Topic(kafka, partitions=2)
        env = local_environment()
        stream = env.from_collection([f"{n}" for n in range(100)])
        stream.sink_to(exactly_once(kafka.bootstrap_servers, topic.name).build())
        config = {"bootstrap.servers": kafka.bootstrap_servers}
        stream.add_sink(FlinkKafkaProducer(topic.name, SimpleStringSchema(), config))
        env.execute()
        assert sorted(map(int, topic.values())) == sorted([*range(100), *range(100)])


def test_targets_are_plain_data() -> None:
    target = builder().build().target
    assert isinstance(target, KafkaTarget)
    cloudpickle.loads(cloudpickle.dumps(builder().build().create_operator()))
