from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.datastream.connectors.kafka.topics import Topic

from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.datastream import (
    KeyedProcessFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors import DeliveryGuarantee
from penstock.datastream.connectors.kafka import (
    DeadLetterSerializationSchema,
    KafkaRecord,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from penstock.datastream.formats import DeadLetter, DeserializeFunction
from penstock.datastream.formats.json import JsonRowDeserializationSchema
from penstock.datastream.state import ValueStateDescriptor
from penstock.errors import InvalidArgumentError, TypeMismatchError

if TYPE_CHECKING:
    from tests.servers.kafka_server import KafkaCluster

DEAD = OutputTag("dead")
FARES = Types.ROW_NAMED(["city", "fare"], [Types.STRING(), Types.INT()])
SUMS = ValueStateDescriptor("sum", Types.INT())


def test_a_record_is_the_message_with_what_is_known_of_it_in_headers() -> None:
    schema = DeadLetterSerializationSchema("dead")
    letter = DeadLetter(b"?", "ValueError: no: number", "fares", 1, 2, 30, b"k", (("h", None),))

    assert schema.record(letter, 99) == KafkaRecord(
        "dead",
        b"?",
        b"k",
        30,
        headers=(
            ("h", None),
            ("penstock.errors.topic", b"fares"),
            ("penstock.errors.partition", b"1"),
            ("penstock.errors.offset", b"2"),
            ("penstock.errors.exception.class.name", b"ValueError"),
            ("penstock.errors.exception.message", b"no: number"),
        ),
    )
    unplaced = schema.record(DeadLetter(b"?", "ValueError: "), 99)
    assert [name for name, _ in unplaced.headers] == [
        "penstock.errors.exception.class.name",
        "penstock.errors.exception.message",
    ]
    assert schema.place == "dead"


def test_what_is_no_topic_or_no_letter_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="'' is no topic"):
        DeadLetterSerializationSchema("")
    with pytest.raises(TypeMismatchError, match=r"b'\?' is no DeadLetter"):
        DeadLetterSerializationSchema("dead").record(b"?", None)


class Sums(KeyedProcessFunction):
    """Adds up each city's fares, and fails at the first `trap` that there is."""

    def __init__(self, sprung: Path) -> None:
        self._sprung = sprung

    def open(self, runtime_context: RuntimeContext) -> None:
        self._sum = runtime_context.get_state(SUMS)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        if value.city == "trap" and not self._sprung.exists():
            self._sprung.touch()
            raise OSError("the trap is sprung")
        total = (self._sum.value() or 0) + value.fare
        self._sum.update(total)
        yield Row(city=value.city, fare=total)


class Both(KafkaRecordSerializationSchema):
    """Makes records of letters, and of sums: one transaction has both."""

    def __init__(self, sums: str, dead: str) -> None:
        self._sums = sums
        self._letters = DeadLetterSerializationSchema(dead)

    def record(self, element: Any, timestamp: int | None) -> KafkaRecord:
        if isinstance(element, DeadLetter):
            return self._letters.record(element, timestamp)
        return KafkaRecord(self._sums, f"{element.city}: {element.fare}".encode())


def run(kafka: KafkaCluster, topics: list[str], folder: Path, spark: Any) -> None:
    """Read what there is of the first topic, write sums into the second, and letters into the third."""
    configuration = Configuration()
    for key, value in {
        "execution.target": "local" if spark is None else "spark",
        "execution.checkpointing.dir": str(folder / "checkpoint"),
        "execution.epoch.available-now": "true",
        "execution.epoch.end-of-input": "false",
        "state.backend.type": "rocksdb",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "1 ms",
    }.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    env.set_parallelism(2)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(kafka.bootstrap_servers)
        .set_topics(topics[0])
        .set_record_deserializer()
        .set_max_records_per_epoch(4)
        .build()
    )
    reader = JsonRowDeserializationSchema.builder().type_info(FARES).build()
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(kafka.bootstrap_servers)
        .set_record_serializer(Both(*topics[1:]))
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(topics[0])
        .build()
    )
    messages = env.from_source(source, WatermarkStrategy.no_watermarks(), "messages")
    fares = messages.process(DeserializeFunction(reader, dead_letters=DEAD), FARES)
    sums = fares.key_by(lambda row: row.city).process(Sums(folder / "sprung"))
    sums.union(fares.get_side_output(DEAD)).sink_to(sink)
    env.execute()


@pytest.mark.kafka
@pytest.mark.parametrize("executor", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_letters_arrive_once_though_the_job_fails_and_starts_again(
    kafka: KafkaCluster, tmp_path: Path, executor: str, request: pytest.FixtureRequest
) -> None:
    spark = request.getfixturevalue("spark") if executor == "spark" else None
    fares, sums, dead = Topic(kafka), Topic(kafka), Topic(kafka)
    topics = [fares.name, sums.name, dead.name]
    rome, poison = '{"city": "rome", "fare": 1}', "x" * 5000

    fares.write([rome, poison, rome, '{"city": "trap", "fare": 5}', rome], headers={"h": b"1"})
    if spark is None:  # Spark takes long to start
        run(kafka, topics, tmp_path, spark)
    fares.write(["?", rome], key="k", timestamp=77)
    run(kafka, topics, tmp_path, spark)

    assert sorted(sums.values()) == [
        *(f"rome: {total}" for total in (1, 2, 3, 4)),
        "trap: 5",
    ]
    assert (tmp_path / "sprung").exists()
    large, small = dead.read()
    assert (large.value, large.key, large.headers[0]) == (poison.encode(), None, ("h", b"1"))
    assert (small.value, small.key, small.timestamp) == (b"?", b"k", 77)
    about = dict(small.headers)
    assert about["penstock.errors.topic"] == fares.name.encode()
    assert about["penstock.errors.offset"] == b"5"
    assert about["penstock.errors.exception.class.name"] == b"MalformedMessageError"
    assert max(len(value) for _, value in large.headers) < 1100
