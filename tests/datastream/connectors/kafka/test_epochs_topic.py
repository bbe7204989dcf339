from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from confluent_kafka import KafkaError

from penstock.common import SimpleStringSchema
from penstock.datastream.connectors.kafka import (
    KafkaRecordSerializationSchema,
    epochs_topic,
)
from penstock.datastream.connectors.kafka.epochs_topic import EpochsTopic
from penstock.datastream.connectors.kafka.target import KafkaTarget
from penstock.errors import SinkTopicError

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
    epoch: int = 0
    code: int | None = None

    def error(self) -> KafkaError | None:
        return None if self.code is None else KafkaError(self.code)

    def key(self) -> bytes:
        return self.sender.encode()

    def value(self) -> bytes:
        return b"%d" % self.epoch

    def offset(self) -> int:
        return 2


class FakeClient:
    """Knows the topic, and gives messages."""

    def __init__(self, messages: list[Message]) -> None:
        self._messages = messages
        self.topics = {NAME: None}

    def list_topics(self, timeout: float) -> FakeClient:
        return self

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

    assert connect(FakeClient(messages)).read(waits=False) == {"first/sink": 4}


def test_any_other_error_ends_the_reading(connect: Callable[[FakeClient], EpochsTopic]) -> None:
    topic = connect(FakeClient([Message(code=KafkaError.TOPIC_AUTHORIZATION_FAILED)]))

    with pytest.raises(SinkTopicError):
        topic.read(waits=False)
