"""A broker of Kafka for a benchmark, on this machine: topics are filled and counted, and messages come at a pace."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Event, Thread
from typing import Any

from benchmarks.kit.pace import count_due, due
from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tests.servers.kafka_server import KafkaCluster

PARTITIONS = 4
PATIENCE = 60.0
BATCH = 10_000
FLINK_CONNECTOR = "5.0.0-2.2"
"""The newest version of Flink's connector; Flink 2.3 has none of its own yet."""
TICK = 0.002
"""Seconds between two looks at which messages are due."""


class Broker:
    """A broker, and what a benchmark does with it.

    Args:
        cluster: The broker, which is closed with this; one is started if it is not given.

    Attributes:
        servers: Where clients find it.
    """

    def __init__(self, cluster: KafkaCluster | None = None) -> None:
        self._cluster = cluster or KafkaCluster()
        self.servers = self._cluster.bootstrap_servers
        self._client: dict[str, str | int] = {"bootstrap.servers": self.servers, "log_level": 3}
        self._admin = AdminClient({**self._client})

    def close(self) -> None:
        """Ends it."""
        self._cluster.close()

    @contextmanager
    def topic(self) -> Iterator[str]:
        """A topic that is empty, and gone afterwards."""
        name = f"topic-{uuid.uuid4().hex[:8]}"
        self._admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result()
        yield name
        self._admin.delete_topics([name])[name].result()

    def fill(self, topic: str, messages: Iterable[str]) -> None:
        """Writes messages, in turn to each partition."""
        producer = Producer({**self._client, "linger.ms": 50, "batch.size": 1_000_000})
        for number, message in enumerate(messages):
            while True:
                try:
                    producer.produce(topic, message, partition=number % PARTITIONS)
                    break
                except BufferError:
                    producer.poll(0.1)
        if producer.flush(PATIENCE):
            raise TimeoutError(f"Kafka did not take {topic} within {PATIENCE:.0f} s.")

    def values(self, topic: str) -> list[str]:
        """The values of all that transactions have committed to a topic."""
        return list(map(_text, self.messages(topic)))

    def messages(self, topic: str) -> list[Message]:
        """All that transactions have committed to a topic."""
        consumer = self._reader(topic)
        found: list[Message] = []
        ended: set[int] = set()
        end = time.monotonic() + PATIENCE
        while len(ended) < PARTITIONS:
            if time.monotonic() > end:
                raise TimeoutError(f"Kafka did not give all of {topic} within {PATIENCE:.0f} s.")
            for message in consumer.consume(BATCH, 0.1):
                if message.error() is None:
                    found.append(message)
                else:
                    ended.add(message.partition() or 0)
        consumer.close()
        return found

    def arrivals(self, topic: str, end: float) -> Generator[tuple[float, str]]:
        """What is committed to a topic, as it comes, with the time in milliseconds since 1970.

        Args:
            topic: The topic.
            end: When nobody waits any longer, by `time.monotonic`.
        """
        consumer = self._reader(topic, **{"fetch.wait.max.ms": 10})
        try:
            while time.monotonic() < end:
                messages = consumer.consume(BATCH, 0.005)
                now = time.time() * 1_000
                yield from ((now, _text(it)) for it in messages if it.error() is None)
        finally:
            consumer.close()

    @contextmanager
    def paced(self, topic: str, rate: int, message: Callable[[int, int], str]) -> Iterator[None]:
        """Writes messages as they become due, meanwhile.

        Args:
            topic: Where to.
            rate: How many become due in a second, evenly spread.
            message: Makes one of its number and of when it is due, in milliseconds since 1970.
        """
        stop = Event()
        writer = Thread(target=partial(self._write_paced, topic, rate, message, stop), daemon=True)
        writer.start()
        try:
            yield
        finally:
            stop.set()
            writer.join()

    def _write_paced(
        self, topic: str, rate: int, message: Callable[[int, int], str], stop: Event
    ) -> None:
        producer = Producer({**self._client, "linger.ms": 0})
        start, written = _now(), 0
        while not stop.wait(TICK):
            numbers = range(written, count_due(start, _now(), rate))
            for number in numbers:
                text = message(number, due(start, number, rate))
                producer.produce(topic, text, partition=number % PARTITIONS)
            written = numbers.stop
            producer.poll(0)
        producer.flush(PATIENCE)

    def _reader(self, topic: str, **settings: Any) -> Consumer:
        consumer = Consumer(
            {
                **self._client,
                "group.id": "benchmark",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                **settings,
            }
        )
        places = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(PARTITIONS)]
        consumer.assign(places)
        return consumer


def check_counts(results: Iterable[tuple[int, int]]) -> None:
    """Checks that each key's counts go up from 1 by one, wherever they end.

    Args:
        results: Keys with counts, in any order.

    Raises:
        ValueError: If a count is missing or is there twice.
    """
    known = Counter(results)
    highest: dict[int, int] = {}
    for key, count in known:
        highest[key] = max(count, highest.get(key, 0))
    lacking = [
        (key, count)
        for key, most in highest.items()
        for count in range(1, most + 1)
        if known[key, count] != 1
    ]
    if lacking or not known:
        raise ValueError(f"Of {len(known)} counts these are missing or doubled: {lacking[:10]}")


def _text(message: Message) -> str:
    return (message.value() or b"").decode()


def _now() -> int:
    return time.time_ns() // 1_000_000
