"""A producer of Kafka's that keeps what it is given."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class FakeProducer:
    """Keeps records, and gives up what a transaction has not committed.

    Args:
        room: How many records it takes until it is asked what became of them; 0 for any number.

    Attributes:
        sent: What `KafkaRecord`s have, of records that are sent.
        committed: The same, of records whose transaction is committed.
    """

    def __init__(self, room: int = 0) -> None:
        self.sent: list[tuple[Any, ...]] = []
        self.committed: list[tuple[Any, ...]] = []
        self._room = room
        self._waiting: list[tuple[Any, ...]] = []

    def produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int,
        callback: None,
        on_delivery: None,
        timestamp: int,
        headers: Any,
    ) -> None:
        if self._room and len(self._waiting) >= self._room:
            raise BufferError
        self._waiting.append((topic, value, key, timestamp, partition, headers))

    def poll(self, timeout: float) -> int:
        self.sent += self._waiting
        self._waiting.clear()
        return 0

    def flush(self, timeout: float) -> int:
        return self.poll(timeout)

    def __len__(self) -> int:
        return len(self._waiting)

    def list_topics(self, timeout: float) -> SimpleNamespace:
        return SimpleNamespace(topics={one[0]: None for one in [*self.sent, *self._waiting]})

    def init_transactions(self, timeout: float) -> None: ...

    def begin_transaction(self) -> None: ...

    def commit_transaction(self, timeout: float) -> None:
        self.poll(timeout)
        self.committed = self.sent[:]

    def purge(self) -> None:
        self._waiting.clear()
