from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from tests.datastream.connectors.kafka.sinks import sink_of
from tests.datastream.connectors.kafka.topics import PATIENCE, Topic, delete_topic
from tests.datastream.connectors.sink_job import NewJob
from tests.servers.kafka_server import KafkaCluster

from penstock.common import SimpleStringSchema
from penstock.datastream.connectors import DeliveryGuarantee
from penstock.datastream.connectors.kafka import FlinkKafkaProducer, KafkaSink
from penstock.errors import SinkTopicError

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaCluster]:
    """A Kafka whose topics are made by those who may."""
    with closing(KafkaCluster(makes_topics=False)) as found:
        yield found


@pytest.fixture
def topic(broker: KafkaCluster, monkeypatch: pytest.MonkeyPatch) -> Topic:
    monkeypatch.setattr("penstock.datastream.connectors.kafka.waiting._ROUND_SECONDS", 0.5)
    return Topic(broker)


def test_a_topic_that_is_deleted_in_a_running_job_is_named_and_the_job_goes_on_with_another(
    topic: Topic, new_job: NewJob
) -> None:
    job = new_job(sink_of(topic))
    job.run([["a"]])
    delete_topic(topic.servers, topic.name)
    job.prepare([["b"]])()
    with pytest.raises(SinkTopicError, match=f"has no topic '{topic.name}', or none that"):
        job.publish()
    topic.make()
    job.publish()
    job.run([["c"]])

    assert topic.values() == ["b", "c"]


def test_a_topic_that_is_deleted_is_named_before_an_epoch_is_committed(
    topic: Topic, new_job: NewJob
) -> None:
    builder = KafkaSink.builder().set_bootstrap_servers(topic.servers)
    builder.set_record_serializer(sink_of(topic).target.serializer)
    job = new_job(builder.set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE).build())
    job.run([["a"]])
    delete_topic(topic.servers, topic.name)
    with pytest.raises(SinkTopicError, match=f"has no topic '{topic.name}', or none that"):
        job.run([["b"]])
    topic.make()
    job.kill([0])
    job.run([["b"]])

    assert set(topic.values()) == {"b"}


def test_a_topic_that_is_deleted_ends_no_job_that_only_logs_what_fails(
    topic: Topic, new_job: NewJob, caplog: pytest.LogCaptureFixture
) -> None:
    config = {"bootstrap.servers": topic.servers, "delivery.timeout.ms": "1500"}
    producer = FlinkKafkaProducer(topic.name, SimpleStringSchema(), config)
    job = new_job(producer.set_log_failures_only(True))
    job.run([["a"]])
    delete_topic(topic.servers, topic.name)
    job.run([["b"]])

    assert f"has no topic '{topic.name}'" in caplog.text


def test_a_topic_of_epochs_that_is_deleted_in_a_running_job_is_named(
    topic: Topic, new_job: NewJob
) -> None:
    sink = sink_of(topic)
    epochs, job = sink.target.topic_of_epochs, new_job(sink)
    job.run([["a"]])
    delete_topic(topic.servers, epochs)
    job.prepare([["b"]])()
    with pytest.raises(SinkTopicError, match=f"has no topic '{epochs}', in which the sink"):
        job.publish()

    assert topic.values() == ["a"]


def clients() -> set[str]:
    """Return the main threads of the clients that there are in this process, whatever else runs in it."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # It may have ended since.
            if (task / "comm").read_text() == "rdk:main\n":
                found.add(task.name)
    return found


def test_nothing_of_a_client_is_left_when_a_job_is_closed(topic: Topic, new_job: NewJob) -> None:
    before = clients()
    job = new_job(sink_of(topic))
    job.run([["a"]])
    running = clients() - before
    job.close()

    assert running
    deadline = time.monotonic() + PATIENCE
    while clients() & running:  # The kernel shows a thread that has ended for a moment more.
        assert time.monotonic() < deadline
