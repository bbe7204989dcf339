from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.datastream.connectors.kafka.topics import Topic

from penstock.common import Configuration, JobClient, SimpleStringSchema, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import KafkaSource, KafkaSourceBuilder

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
    job = started(reading(topic).build())
    wait_for(lambda: FOUND == ["a"], job)

    broker.kill(0)
    wait_for(lambda: "reading waits until it can go on" in caplog.text, job)
    broker.start(0)
    topic.write(["b"])
    since = time.monotonic()
    wait_for(lambda: FOUND == ["a", "b"], job)

    assert time.monotonic() - since < 10
    job.cancel().result()
