from __future__ import annotations

from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError

from penstock.runtime.planned.kafka.broker import KafkaBroker


def test_an_offset_that_one_partition_does_not_take_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker = KafkaBroker({"bootstrap.servers": "127.0.0.1:1", "group.id": "counts"})
    refused = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    answers = [SimpleNamespace(error=None), SimpleNamespace(error=refused)]
    for _ in range(2):
        broker._on_commit(None, answers)
    assert caplog.text.count("the consumer group counts cannot be told how far it has read") == 1
    broker.close()
