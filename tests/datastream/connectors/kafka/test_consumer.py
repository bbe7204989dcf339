from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from penstock.common import (
    ByteArraySchema,
    Configuration,
    DeserializationSchema,
    JobClient,
    Row,
    SimpleStringSchema,
    Types,
)
from penstock.datastream import EpochCompleted, EpochListener, StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import (
    FlinkKafkaConsumer,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
)
from penstock.datastream.formats.avro import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
)
from penstock.datastream.formats.csv import CsvRowDeserializationSchema
from penstock.datastream.formats.json import JsonRowDeserializationSchema
from penstock.errors import (
    InvalidArgumentError,
    KafkaOffsetNotFoundError,
    KafkaPropertyError,
    TypeMismatchError,
)
from penstock.runtime.planned.kafka.reading import Reading
from penstock.testing import local_environment

if TYPE_CHECKING:
    from tests.servers.kafka_server import KafkaCluster

AVRO = """{"type": "record", "name": "Fare", "fields": [
    {"name": "id", "type": "int"}, {"name": "by", "type": "string"}]}"""
SERVERS = {"bootstrap.servers": "localhost:1", "group.id": "g"}


def consumer(topics: Any = "t", **properties: Any) -> FlinkKafkaConsumer:
    given = {key.replace("_", "."): value for key, value in properties.items()}
    return FlinkKafkaConsumer(topics, SimpleStringSchema(), {**SERVERS, **given})


def reading(source: FlinkKafkaConsumer) -> Reading:
    return source.description().reading


def what(offsets: KafkaOffsetsInitializer) -> tuple[Any, ...]:
    return offsets.kind, offsets.reset, offsets.time


@pytest.mark.parametrize(
    ("build", "about"),
    [
        (lambda: FlinkKafkaConsumer("t", SimpleStringSchema(), {}), "where Kafka is"),
        (lambda: consumer([]), r"given \[\] to read"),
        (lambda: consumer(("a", "b")), "to read"),
        (lambda: consumer([""]), "to read"),
        (lambda: FlinkKafkaConsumer("t", "text", SERVERS), "'text' is no Deser"),  # type: ignore[arg-type]
        (lambda: consumer(fetch_min_bytes=1), "fetch.min.bytes"),
        (lambda: consumer().set_start_from_timestamp(-1), "-1"),
        (lambda: consumer().set_start_from_timestamp(1 << 60), "in the future"),
    ],
)
def test_what_is_missing_or_wrong_is_said_at_once(build: Callable[[], Any], about: str) -> None:
    with pytest.raises(InvalidArgumentError, match=about):
        build()


def test_a_group_is_needed_for_its_offsets_alone() -> None:
    given = {"bootstrap.servers": "localhost:1"}
    source = FlinkKafkaConsumer("t", SimpleStringSchema(), given)
    with pytest.raises(InvalidArgumentError, match="no consumer group"):
        local_environment().add_source(source)
    assert not reading(source.set_start_from_earliest()).commits


def test_defaults_are_those_of_the_earlier_connector() -> None:
    found = reading(consumer(["a", "b"]))

    assert found.subscription.topics == ("a", "b")
    latest = KafkaOffsetResetStrategy.LATEST
    assert what(found.starting) == ("committed_offsets", latest, 0)
    assert (found.stopping, found.discovery, found.commits) == (None, None, True)
    assert not consumer().is_bounded


def test_what_is_set_is_what_is_read() -> None:
    now = int(time.time() * 1000)
    earlier = {"flink.partition-discovery.interval-millis": "500", "flink.disable-metrics": "true"}
    source = consumer(**earlier, auto_offset_reset="earliest")
    assert reading(source).discovery == 500
    reset = KafkaOffsetResetStrategy
    assert what(reading(source).starting)[:2] == ("committed_offsets", reset.EARLIEST)
    for start, kind in (
        (source.set_start_from_earliest, ("earliest", reset.EARLIEST, 0)),
        (lambda: source.set_start_from_timestamp(now), ("timestamp", reset.NONE, now)),
        (source.set_start_from_latest, ("latest", reset.LATEST, 0)),
        (source.set_start_from_group_offsets, ("committed_offsets", reset.EARLIEST, 0)),
    ):
        assert start() is source
        assert what(reading(source).starting) == kind
    assert not reading(source.set_commit_offsets_on_checkpoints(False)).commits
    assert reading(source.set_commit_offsets_on_checkpoints(True)).commits
    assert not reading(source).keeps_restored
    assert reading(
        source.disable_filter_restored_partitions_with_subscribed_topics()
    ).keeps_restored
    with pytest.raises(KafkaPropertyError, match=r"auto\.offset\.reset is 'soon'"):
        consumer(auto_offset_reset="soon")


def test_records_have_the_type_of_the_schema() -> None:
    assert consumer().get_produced_type() == Types.STRING()
    env = local_environment()
    stream = env.add_source(consumer(), "fares")
    assert (stream.get_type(), stream.get_name()) == (Types.STRING(), "fares")
    assert env.add_source(consumer(), type_info=Types.LONG()).get_type() == Types.LONG()


def new_topic(kafka: KafkaCluster, *values: str) -> str:
    name = f"t-{uuid.uuid4().hex}"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(name, 1)])[name].result()
    write(kafka, name, *values)
    return name


def write(kafka: KafkaCluster, topic: str, *values: str | bytes) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 0})
    for value in values:
        seconds = int(value.strip("{}").split(":")[-1]) if isinstance(value, str) else 0
        producer.produce(topic, value, timestamp=1000 * seconds)
    assert producer.flush(30) == 0


def of(kafka: KafkaCluster, topic: str, schema: DeserializationSchema) -> FlinkKafkaConsumer:
    properties = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": f"of-{topic}"}
    return FlinkKafkaConsumer(topic, schema, {**properties, "auto.offset.reset": "none"})


def read(source: FlinkKafkaConsumer, folder: Path, type_info: Any = None) -> list[Any]:
    """Return what comes of a job that is started, or started again, until it has read what is there."""
    configuration = Configuration()
    configuration.set_string("execution.target", "local")
    configuration.set_string("execution.checkpointing.dir", str(folder))
    configuration.set_string("execution.epoch.available-now", "true")
    configuration.set_string("execution.epoch.end-of-input", "false")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    return list(env.add_source(source, "kafka", type_info).execute_and_collect())


@pytest.mark.kafka
def test_a_job_goes_on_where_it_was_and_another_where_the_group_is(
    kafka: KafkaCluster, tmp_path: Path
) -> None:
    topic = new_topic(kafka, "1", "2")

    def source() -> FlinkKafkaConsumer:
        return of(kafka, topic, SimpleStringSchema())

    with pytest.raises(KafkaOffsetNotFoundError, match="committed no offsets"):
        read(source(), tmp_path / "none")
    assert read(source().set_start_from_timestamp(1500), tmp_path / "one") == ["2"]
    write(kafka, topic, "3")
    assert read(source().set_start_from_earliest(), tmp_path / "one") == ["3"]
    silent = source().set_commit_offsets_on_checkpoints(False)
    write(kafka, topic, "4")
    assert read(silent, tmp_path / "one") == ["4"]
    assert read(silent.set_start_from_group_offsets(), tmp_path / "two") == ["4"]
    assert read(silent.set_start_from_latest(), tmp_path / "three") == []


@pytest.mark.kafka
def test_schemas_and_types_make_the_records(kafka: KafkaCluster, tmp_path: Path) -> None:
    topic, texts = new_topic(kafka, '{"id":1}'), new_topic(kafka, "7")
    row = Types.ROW_NAMED(["id"], [Types.INT()])
    json = JsonRowDeserializationSchema.builder().type_info(row).build()
    csv = CsvRowDeserializationSchema.Builder(row).build()

    def found(topic: str, schema: DeserializationSchema, type_info: Any = None) -> list[Any]:
        source = of(kafka, topic, schema).set_start_from_earliest()
        return read(source, tmp_path / uuid.uuid4().hex, type_info)

    assert found(topic, json) == found(topic, json, row) == [Row(id=1)]
    assert found(texts, csv) == [Row(id=7)]
    assert found(texts, ByteArraySchema()) == [b"7"]
    with pytest.raises(TypeMismatchError):
        found(texts, SimpleStringSchema(), Types.LONG())


class Read(EpochListener):
    """Tells when so many records were read."""

    def __init__(self, records: int) -> None:
        self._left = records
        self.all = threading.Event()

    def on_epoch_completed(self, event: EpochCompleted) -> None:
        self._left -= event.records_in
        if self._left <= 0:
            self.all.set()


@pytest.mark.kafka
@pytest.mark.parametrize("target", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_a_job_goes_on_from_a_savepoint_of_a_local_one(
    kafka: KafkaCluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
    target: str,
) -> None:
    def started(target: str, folder: Path, listener: EpochListener, **recovery: str) -> JobClient:
        configuration = Configuration().set_string("execution.target", target)
        configuration.set_string("execution.checkpointing.dir", str(folder))
        for key, value in recovery.items():
            configuration.set_string(f"execution.state-recovery.{key}", value)
        spark = request.getfixturevalue("spark") if target == "spark" else None
        env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
        env.set_parallelism(1).add_epoch_listener(listener)
        source = of(kafka, topic, AvroRowDeserializationSchema(avro_schema_string=AVRO))
        fares = env.add_source(source.set_start_from_earliest(), "kafka").uid("fares")
        fares.map(lambda row: f"{row.by} {row.id}").print()
        return env.execute_async()

    topic, path = new_topic(kafka), dict[str, str]()
    writer = AvroRowSerializationSchema(avro_schema_string=AVRO)
    for runs, rows in (("local", [(1, "ann"), (2, "bob")]), (target, [(3, "ann")])):
        write(kafka, topic, *(writer.serialize(Row(*row)) for row in rows))
        listener = Read(len(rows))
        client = started(runs, tmp_path / f"job-{len(rows)}", listener, **path)
        assert listener.all.wait(60)
        path = {
            "path": client.stop_with_savepoint(
                advance_to_end_of_event_time=False, savepoint_directory=str(tmp_path)
            ).result()
        }
        assert capsys.readouterr().out.splitlines() == [f"{name} {number}" for number, name in rows]
