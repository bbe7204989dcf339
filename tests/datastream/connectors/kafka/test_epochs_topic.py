from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tests.datastream.connectors.kafka.sinks import sink_of
from tests.datastream.connectors.kafka.topics import PATIENCE, Topic, delete_topic
from tests.datastream.connectors.sink_job import SINK_ID, NewJob
from tests.servers.kafka_server import KafkaCluster

from penstock.common import Configuration, SimpleStringSchema, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import (
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    epochs_topic,
)
from penstock.datastream.connectors.kafka.committer import RecordsCommitter
from penstock.datastream.connectors.kafka.epochs_topic import EpochsTopic
from penstock.datastream.connectors.kafka.target import KafkaTarget
from penstock.errors import (
    EpochsTopicLostError,
    KafkaPropertyError,
    SinkTopicError,
    UnclaimedOutputError,
)
from penstock.testing import TestingSource

NAME = "penstock-epochs-pay"
WORDS = (
    KafkaRecordSerializationSchema.builder()
    .set_topic("words")
    .set_value_serialization_schema(SimpleStringSchema())
    .build()
)
TARGET = KafkaTarget({"bootstrap.servers": "kafka:9092"}, WORDS, True, "pay")  # noqa: FBT003


class Message(NamedTuple):
    """What a consumer gives: an epoch that was sent, or an error."""

    sender: str = ""
    epoch: int | str | None = 0
    code: int | None = None

    def error(self) -> KafkaError | None:
        return None if self.code is None else KafkaError(self.code)

    def key(self) -> bytes:
        return self.sender.encode()

    def value(self) -> bytes | None:
        return None if self.epoch is None else str(self.epoch).encode()

    def offset(self) -> int:
        return 2

    def partition(self) -> int:
        return 0


class FakeClient:
    """Knows the topic, and gives messages."""

    def __init__(self, messages: list[Message]) -> None:
        self._messages = messages

    def describe_topics(self, wanted: Any, **options: Any) -> dict[str, Future[Any]]:
        found: Future[Any] = Future()
        found.set_result(SimpleNamespace(topic_id="id", partitions=[0]))
        return {NAME: found}

    def list_offsets(self, wanted: dict[Any, Any], **options: Any) -> dict[Any, Future[Any]]:
        found: Future[Any] = Future()
        found.set_result(SimpleNamespace(offset=2))
        return dict.fromkeys(wanted, found)

    def get_watermark_offsets(self, partition: Any, timeout: float) -> tuple[int, int]:
        return 0, 2

    def assign(self, partitions: list[Any]) -> None: ...

    def poll(self, timeout: float) -> Message:
        return self._messages.pop(0)

    def close(self) -> None: ...


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeClient], EpochsTopic]:
    def connect(client: FakeClient) -> EpochsTopic:
        def new_client(kind: str, properties: Mapping[str, Any]) -> FakeClient:
            return client

        monkeypatch.setattr(epochs_topic, "new_client", new_client)
        return EpochsTopic(TARGET)

    return connect


def test_no_right_to_a_group_is_needed(connect: Callable[[FakeClient], EpochsTopic]) -> None:
    messages = [
        Message("first/sink", 3),
        Message(code=KafkaError.GROUP_AUTHORIZATION_FAILED),
        Message("first/sink", 4),
        Message(code=KafkaError._PARTITION_EOF),
    ]

    assert connect(FakeClient(messages)).read(waits=False) == ("id", {"first/sink": 4})


def test_what_was_written_by_hand_counts_if_it_is_an_epoch(
    connect: Callable[[FakeClient], EpochsTopic], caplog: pytest.LogCaptureFixture
) -> None:
    messages = [
        Message("kept", 3),
        Message("deleted", 3),
        Message("deleted", None),
        Message("kept", "four"),
        Message(code=KafkaError._PARTITION_EOF),
    ]

    assert connect(FakeClient(messages)).read(waits=False).sent == {"kept": 3}
    assert "offset 2: key b'kept' and value b'four' name no epoch" in caplog.text


def test_any_other_error_ends_the_reading(connect: Callable[[FakeClient], EpochsTopic]) -> None:
    topic = connect(FakeClient([Message(code=KafkaError.TOPIC_AUTHORIZATION_FAILED)]))

    with pytest.raises(SinkTopicError):
        topic.read(waits=False)


class Stuck(FakeClient):
    """Asks what no longer runs: the controller, or a leader."""

    def describe_topics(self, wanted: Any, **options: Any) -> dict[str, Future[Any]]:
        found: Future[Any] = Future()
        found.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
        return {NAME: found}


class Broken(FakeClient):
    """Answers so when its connection breaks."""

    def list_offsets(self, wanted: dict[Any, Any], **options: Any) -> dict[Any, Future[Any]]:
        found: Future[Any] = Future()
        found.set_result(SimpleNamespace(offset=-1))
        return dict.fromkeys(wanted, found)


@pytest.mark.parametrize("first", [Stuck, Broken])
def test_another_client_asks_when_one_got_no_answer(
    first: type[FakeClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = [Message("first/sink", 3), Message(code=KafkaError._PARTITION_EOF)]
    admins = [first([]), FakeClient([])]

    def new_client(kind: str, properties: Mapping[str, Any]) -> FakeClient:
        return admins.pop(0) if kind == "AdminClient" else FakeClient(messages)

    monkeypatch.setattr(epochs_topic, "new_client", new_client)
    assert EpochsTopic(TARGET).read().sent == {"first/sink": 3}
    assert not admins


class Program:
    """A job with a checkpoint location, which writes an epoch for each value.

    Args:
        folder: The location.
        values: The values.
    """

    def __init__(self, folder: Path, values: list[str]) -> None:
        self.location = str(folder / "location")
        self._values = values

    def run(self, *sinks: KafkaSink, after: Program | None = None) -> None:
        """Run to the end; at a new location from where another one has crashed."""
        configuration = Configuration().set_string("execution.target", "local")
        configuration.set_string("execution.checkpointing.dir", self.location)
        if after is not None:
            configuration.set_string("execution.state-recovery.path", after.location)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        source = TestingSource([[value] for value in self._values])
        values = env.from_source(source, WatermarkStrategy.no_watermarks(), "values")
        for sink in sinks:
            values.sink_to(sink)
        env.execute()

    def crash(self, sink: KafkaSink, epoch: int, *others: KafkaSink) -> None:
        """Run until an epoch is sent, and nobody could note that it is."""

        class CrashError(BaseException):
            pass

        def commit(self: RecordsCommitter, committables: Any, context: Any) -> None:
            plain(self, committables, context)
            if context.epoch == epoch:
                raise CrashError

        plain = RecordsCommitter.commit
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RecordsCommitter, "commit", commit)
            with pytest.raises(CrashError):
                self.run(sink, *others)


@pytest.fixture
def topic(kafka: KafkaCluster) -> Topic:
    return Topic(kafka)


def delete(sink: KafkaSink) -> None:
    """Delete the topic of epochs."""
    delete_topic(sink.target.servers, sink.target.topic_of_epochs)


def make(sink: KafkaSink, **options: Any) -> None:
    """Make the topic of epochs beforehand."""
    name, admin = sink.target.topic_of_epochs, AdminClient({**sink.target.connection})
    admin.create_topics([NewTopic(name, **options)], operation_timeout=PATIENCE)[name].result()


@pytest.mark.kafka
def test_an_epoch_whose_marker_was_deleted_is_not_sent_again(topic: Topic, tmp_path: Path) -> None:
    sink, program = sink_of(topic), Program(tmp_path, ["a", "b", "c"])
    program.crash(sink, 1)
    delete(sink)
    with pytest.raises(EpochsTopicLostError, match="Epoch 1 may have been sent") as caught:
        program.run(sink)
    assert topic.values() == ["a", "b"]

    key = str(caught.value).split("with the key ")[1].split()[0]
    producer = Producer(sink.target.connection)
    producer.produce(sink.target.topic_of_epochs, "1", key)
    assert producer.flush(PATIENCE) == 0
    program.run(sink)
    program.run(sink)
    assert topic.values() == ["a", "b", "c"]

    # A run that ended in order has noted itself what was sent.
    delete(sink)
    program.run(sink)
    assert topic.values() == ["a", "b", "c"]


@pytest.mark.kafka
def test_after_a_run_that_ended_in_order_the_topic_of_epochs_may_be_another(
    kafka: KafkaCluster, topic: Topic, tmp_path: Path
) -> None:
    lines, sink = Topic(kafka), sink_of(topic)
    other = sink_of(topic, prefix=f"other-{topic.name}")
    builder = KafkaSource.builder().set_bootstrap_servers(lines.servers).set_topics(lines.name)
    source = builder.set_value_only_deserializer(SimpleStringSchema()).build()
    for line, now in (("a", sink), ("b", other), ("c", sink)):
        lines.write([line])
        configuration = Configuration().set_string("execution.target", "local")
        configuration.set_string("execution.checkpointing.dir", str(tmp_path / "location"))
        configuration.set_string("execution.epoch.available-now", "true")
        configuration.set_string("execution.epoch.end-of-input", "false")
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").sink_to(now)
        env.execute()
        delete(now)
    assert topic.values() == ["a", "b", "c"]


@pytest.mark.kafka
def test_an_epoch_that_goes_on_at_a_new_location_is_not_sent_again(
    topic: Topic, tmp_path: Path
) -> None:
    sink, program = sink_of(topic), Program(tmp_path, ["a", "b", "c"])
    program.crash(sink, 1)
    Program(tmp_path / "known", ["a", "b", "c"]).run(sink, after=program)
    assert topic.values() == ["a", "b", "c"]

    delete(sink)
    unknown = Program(tmp_path / "unknown", ["a", "b", "c"])
    for _ in range(2):
        with pytest.raises(EpochsTopicLostError, match="Epoch 1 may have been sent"):
            unknown.run(sink, after=program)
    assert topic.values() == ["a", "b", "c"]


@pytest.mark.kafka
def test_another_prefix_or_guarantee_does_not_take_what_was_staged_for_the_first(
    topic: Topic, tmp_path: Path
) -> None:
    sink, program = sink_of(topic), Program(tmp_path, ["a", "b", "c"])
    program.crash(sink, 1)
    with pytest.raises(UnclaimedOutputError, match="Epoch 1 is committed, and perhaps not"):
        program.run(sink_of(topic, prefix=f"other-{topic.name}"))
    without = KafkaSink.builder().set_bootstrap_servers(topic.servers)
    without.set_record_serializer(sink.target.serializer)
    with pytest.raises(UnclaimedOutputError, match="Epoch 1 is committed, and perhaps not"):
        program.run(without.build())
    _, port = topic.servers.split(":")
    program.run(sink_of(topic, bootstrap_servers=f"localhost:{port}"))
    assert topic.values() == ["a", "b", "c"]


@pytest.mark.kafka
def test_two_sinks_of_a_job_may_have_one_prefix(topic: Topic, tmp_path: Path) -> None:
    program = Program(tmp_path, ["a", "b", "c"])
    program.crash(sink_of(topic), 1, sink_of(topic))
    program.run(sink_of(topic), sink_of(topic))
    assert sorted(topic.values()) == ["a", "a", "b", "b", "c", "c"]


@pytest.mark.kafka
class TestATopicThatIsThereBeforehand:
    def test_may_have_several_partitions(self, topic: Topic, new_job: NewJob) -> None:
        sink = sink_of(topic)
        make(sink, num_partitions=5, config={"cleanup.policy": "compact"})
        job = new_job(sink)
        job.run([["a"]])
        job.run([["b"]])
        job.start_driver()
        assert topic.values() == ["a", "b"]
        producer = Producer(sink.target.connection)
        producer.produce(sink.target.topic_of_epochs, "2", f"lineage/{SINK_ID}", partition=3)
        assert producer.flush(PATIENCE) == 0
        job.prepare([["c"]])()
        job.start_driver()
        assert topic.values() == ["a", "b"]

    def test_has_to_keep_what_it_remembers(self, topic: Topic, new_job: NewJob) -> None:
        sink = sink_of(topic)
        make(sink, config={"cleanup.policy": "compact,delete"})
        with pytest.raises(SinkTopicError, match=r"has cleanup.policy=compact,delete: what it"):
            new_job(sink)


@pytest.mark.kafka
def test_a_topic_that_is_not_there_is_not_taken_for_an_empty_one(topic: Topic) -> None:
    with pytest.raises(SinkTopicError, match="in which the sink remembers the epochs"):
        EpochsTopic(sink_of(topic, max_block_ms="500").target).read()


@pytest.mark.kafka
def test_properties_that_cannot_be_are_named_before_anything_is_committed(
    topic: Topic, tmp_path: Path
) -> None:
    with pytest.raises(KafkaPropertyError, match="acks"):
        Program(tmp_path, ["a"]).run(sink_of(topic, acks="1"))
    assert not list(tmp_path.glob("location/epochs/*"))
