from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import wait
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.errors import KafkaNotReachableError
from penstock.runtime.planned.kafka.broker import KafkaBroker

AWAY = KafkaError(KafkaError._TRANSPORT)


class Admin:
    """Answers nobody until a test lets it, and then what the test wants."""

    def __init__(self) -> None:
        self.answers: SimpleQueue[KafkaError | None] = SimpleQueue()
        self.kept_waiting: list[bool] = []

    def list_topics(self, timeout: float) -> Any:
        self.kept_waiting.append(threading.current_thread() is threading.main_thread())
        error = self.answers.get(timeout=10)
        if error is not None:
            raise KafkaException(error)
        return SimpleNamespace(topics={})

    def poll(self, seconds: float) -> None:
        """Nothing is told."""


def test_brokers_that_are_away_keep_nobody_waiting_but_a_thread_of_their_own() -> None:
    broker = KafkaBroker({"bootstrap.servers": "127.0.0.1:1"})
    admin = broker._admin = Admin()

    def is_away() -> None:
        with pytest.raises(KafkaNotReachableError, match="transport failure"):
            broker.partitions()

    def listed() -> None:
        assert broker._listing is not None
        wait([broker._listing])

    admin.answers.put(AWAY)
    for _ in range(3):
        is_away()
    admin.answers.put(AWAY)
    listed()
    for _ in range(3):
        is_away()
    for _ in range(2):
        admin.answers.put(None)
    listed()
    assert broker.partitions() == {}
    assert admin.kept_waiting == [True, False, False, True]
    broker.close()


def test_clients_end_with_the_broker() -> None:
    broker = KafkaBroker({"bootstrap.servers": "127.0.0.1:1", "group.id": "counts"})
    admin = weakref.ref(broker._admin)
    gc.disable()
    try:
        broker.close()
        assert admin() is None
    finally:
        gc.enable()
