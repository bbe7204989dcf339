"""Counts each merchant's card payments by the minute, and the risky ones, from topic to topic, exactly once.

    docker run -d --name kafka -p 9092:9092 apache/kafka:4.1.0     a broker; docs/kafka.md has another way
    pip install 'penstock[spark,java,kafka]' aiohttp
    python examples/bank.py topics                   makes the topics
    python examples/bank.py score                    the service that knows how risky a card is: in a second terminal
    python examples/kafka_payments.py /tmp/payments  the job, with its checkpoint location: in a third one
    python examples/bank.py pay 0 10                 the payments of ten minutes
    python examples/bank.py check 0 10               shows the counts, and says whether each is there once

Kill the job whenever you like, even with `kill -9`; `pay 10 20`, start it again, and `check 0 20`.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import aiohttp

from penstock.common import (
    Configuration,
    Duration,
    Row,
    SerializationSchema,
    Time,
    Types,
    WatermarkStrategy,
)
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncOptions,
    AsyncRetryStrategy,
    DataStream,
    OutputTag,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors import DeliveryGuarantee
from penstock.datastream.connectors.kafka import (
    DeadLetterSerializationSchema,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from penstock.datastream.formats import DeserializeFunction
from penstock.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from penstock.datastream.window import TimeWindow, TumblingEventTimeWindows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PAYMENT = Types.ROW_NAMED(
    ["card", "merchant", "cents"], [Types.STRING(), Types.STRING(), Types.LONG()]
)
COUNT = Types.ROW_NAMED(
    ["merchant", "minute", "payments", "risky"],
    [Types.STRING(), Types.STRING(), Types.LONG(), Types.LONG()],
)
UNREADABLE = OutputTag("unreadable")
RISKY = 0.9

Tally = tuple[str, int, int]
"""A merchant, how many payments, and how many of them are risky."""


class Score(AsyncFunction[Row, Tally]):
    """Asks the service how risky the card of a payment is."""

    def __init__(self, service: str) -> None:
        self.service = service

    async def open(self, runtime_context: RuntimeContext) -> None:
        self.session = aiohttp.ClientSession(self.service, raise_for_status=True)

    async def close(self) -> None:
        await self.session.close()

    async def async_invoke(self, value: Row) -> list[Tally]:
        async with self.session.get(f"/cards/{value.card}") as response:
            risk = (await response.json())["risk"]
        return [(value.merchant, 1, int(risk >= RISKY))]


def may_pass(error: Exception) -> bool:
    """Whether another attempt may help: the service is away or busy; it has not refused the request."""
    if isinstance(error, aiohttp.ClientResponseError):
        return error.status >= 500
    return isinstance(error, aiohttp.ClientConnectionError | TimeoutError)


class AddMinute(ProcessWindowFunction[Tally, Row, str, TimeWindow]):
    """Makes the row of a window of what was counted in it."""

    def process(
        self,
        key: str,
        context: ProcessWindowFunction.Context[TimeWindow],
        elements: Iterable[Tally],
    ) -> Iterator[Row]:
        begin = datetime.fromtimestamp(context.window().start / 1000, UTC)
        for merchant, payments, risky in elements:
            yield Row(merchant, begin.isoformat(timespec="minutes"), payments, risky)


class Merchant(SerializationSchema):
    """Makes Kafka's key of a count: the counts of a merchant stay in order."""

    def serialize(self, element: Row) -> bytes:
        return str(element[0]).encode()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("location", help="where checkpoints go")
    parser.add_argument("--servers", default="localhost:9092", help="of Kafka")
    parser.add_argument("--service", default="http://localhost:8080", help="that scores cards")
    parser.add_argument("--local", action="store_true", help="run in this process, without Spark")
    arguments = parser.parse_args()
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", arguments.location)
    configuration.set_string("execution.checkpointing.interval", "1 min")
    if arguments.local:
        configuration.set_string("execution.target", "local")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    build(env, arguments.servers, arguments.service)
    env.execute("payments")


def build(env: StreamExecutionEnvironment, servers: str, service: str) -> None:
    """From the topic of payments to those of counts and of messages that hold no payment."""
    payments = read(env, servers)
    scored = AsyncDataStream.unordered_wait_with_retry(
        payments,
        Score(service),
        Time.minutes(2),
        AsyncRetryStrategy.exponential_backoff(10, 100, 10_000, 2, None, may_pass, jitter=0.5),
        options=AsyncOptions(attempt_timeout="5 s"),
    )
    counts = (
        scored.key_by(lambda tally: tally[0])
        .window(TumblingEventTimeWindows.of(Time.minutes(1)))
        .reduce(lambda one, two: (one[0], one[1] + two[1], one[2] + two[2]), AddMinute(), COUNT)
    )
    as_json = (
        KafkaRecordSerializationSchema.builder()
        .set_topic("payment-counts")
        .set_key_serialization_schema(Merchant())
        .set_value_serialization_schema(
            JsonRowSerializationSchema.builder().with_type_info(COUNT).build()
        )
        .build()
    )
    counts.sink_to(sink(servers, as_json, "payment-counts"))
    as_they_came = DeadLetterSerializationSchema("unreadable-payments")
    unreadable = payments.get_side_output(UNREADABLE)
    unreadable.sink_to(sink(servers, as_they_came, "unreadable-payments"))


def read(env: StreamExecutionEnvironment, servers: str) -> DataStream:
    """The payments, each at its message's time in Kafka; messages that hold none are in a side output."""
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics("payments")
        .set_group_id("payment-counts")  # for whoever watches how far behind the job is
        .set_record_deserializer()
        .build()
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
    strategy = strategy.with_idleness(Duration.of_minutes(1))
    messages = env.from_source(source, strategy, "payments")
    schema = JsonRowDeserializationSchema.builder().type_info(PAYMENT).build()
    return messages.process(DeserializeFunction(schema, dead_letters=UNREADABLE), PAYMENT)


def sink(servers: str, records: KafkaRecordSerializationSchema, prefix: str) -> KafkaSink:
    """Writes records, each once."""
    return (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(records)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(prefix)
        .build()
    )


if __name__ == "__main__":
    main()
