"""Jobs from topic to topic that go on, go back and begin from savepoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import pytest
from tests.datastream.connectors.kafka.sinks import sink_of
from tests.datastream.connectors.kafka.topics import PATIENCE, Topic
from tests.servers.kafka_server import KafkaCluster

from penstock.common import Configuration, JobClient, SimpleStringSchema, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DeliveryGuarantee
from penstock.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSink, KafkaSource
from penstock.errors import ProducerFencedError, UserFunctionError

pytestmark = pytest.mark.kafka

RESTARTED: Final = (
    ("restart-strategy.type", "fixed-delay"),
    ("restart-strategy.fixed-delay.delay", "1 ms"),
)
Settings = Iterable[tuple[str, str]]

FAILS: list[str] = []
"""At which records the job fails: functions of a job are copied, and what they name of a module is not."""


class Copying:
    """A job that copies a topic into a sink.

    Args:
        topic: The topic.
        sink: The sink.
        records: The records of an epoch.
    """

    def __init__(self, topic: Topic, sink: KafkaSink, records: int = 1) -> None:
        self._topic = topic
        self._sink = sink
        self._records = records

    def start(self, location: Path, settings: Settings = (), *, ends: bool = False) -> JobClient:
        """Start it; one that ends copies what is there."""
        configuration = Configuration().set_string("execution.target", "local")
        configuration.set_string("execution.checkpointing.dir", str(location))
        configuration.set_integer("execution.checkpointing.num-retained", 100)
        for key, value in settings:
            configuration.set_string(key, value)
        source = KafkaSource.builder().set_bootstrap_servers(self._topic.servers)
        source.set_topics(self._topic.name).set_value_only_deserializer(SimpleStringSchema())
        source.set_max_records_per_epoch(self._records)
        if ends:
            source.set_unbounded(KafkaOffsetsInitializer.latest())
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(1)
        stream = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "topic")
        stream.map(checked).sink_to(self._sink)
        return env.execute_async()

    def run(self, location: Path, *settings: tuple[str, str]) -> None:
        """Copy what is there."""
        self.start(location, settings, ends=True).get_job_execution_result().result()


def checked(value: str) -> str:
    if value in FAILS:
        FAILS.remove(value)
        raise ValueError(value)
    return value


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline


def test_what_came_after_a_savepoint_or_an_epoch_is_sent_again_by_who_begins_there(
    kafka: KafkaCluster, tmp_path: Path
) -> None:
    there, here = Topic(kafka), Topic(kafka)
    job, location = Copying(there, sink_of(here)), tmp_path / "job"
    there.write(["a", "b"])
    running = job.start(location)
    wait_for(lambda: here.values() == ["a", "b"])
    savepoint = running.trigger_savepoint(str(tmp_path)).result()
    there.write(["c"])
    wait_for(lambda: here.values() == ["a", "b", "c"])
    running.cancel().result()
    there.write(["d"])
    job.run(location)
    assert here.values() == [*"abcd"]

    job.run(location, ("execution.state-recovery.epoch", "1"))
    job.run(location)
    assert here.values() == [*"abcd", *"cd"]

    for _ in range(2):
        job.run(tmp_path / "other", ("execution.state-recovery.path", savepoint))
    assert here.values() == [*"abcd", *"cd", *"cd"]


@pytest.mark.parametrize("guarantee", [DeliveryGuarantee.AT_LEAST_ONCE, DeliveryGuarantee.NONE])
def test_nothing_is_lost_by_a_sink_that_may_send_twice(
    kafka: KafkaCluster, tmp_path: Path, guarantee: DeliveryGuarantee
) -> None:
    there, here = Topic(kafka), Topic(kafka)
    there.write("abcdef")
    builder = KafkaSink.builder().set_bootstrap_servers(here.servers)
    builder.set_record_serializer(sink_of(here).target.serializer)
    job = Copying(there, builder.set_delivery_guarantee(guarantee).build(), records=2)
    FAILS[:] = ["d"]
    with pytest.raises(UserFunctionError):
        job.run(tmp_path)
    job.run(tmp_path)

    assert here.values() in (["a", "b", "c", "d", "e", "f"], ["a", "b", "c", "c", "d", "e", "f"])


def test_a_job_that_another_one_has_fenced_ends_and_is_not_restarted(
    kafka: KafkaCluster, tmp_path: Path
) -> None:
    there, here = Topic(kafka), Topic(kafka)
    job = Copying(there, sink_of(here))
    there.write(["a"])
    earlier = job.start(tmp_path / "earlier", RESTARTED)
    wait_for(lambda: here.values() == ["a"])
    later = job.start(tmp_path / "later", RESTARTED)
    wait_for(lambda: here.values() == ["a", "a"])
    there.write(["b"])
    with pytest.raises(ProducerFencedError, match="Does the job run twice"):
        earlier.get_job_execution_result().result()
    wait_for(lambda: here.values() == ["a", "a", "b"])
    later.cancel().result()
