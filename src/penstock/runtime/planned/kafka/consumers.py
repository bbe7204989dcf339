"""Consumers of this process, which are kept open from epoch to epoch."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from penstock.runtime.planned.kafka.client import CONSUMER_DEFAULTS, new_client

_KEPT_SECONDS: Final = 300.0
"""How long a consumer is kept that nobody uses."""

_FAST: Final = {
    # A request that waits at the broker for records of one partition keeps those for the next one waiting.
    "fetch.wait.max.ms": 2,
    "fetch.queue.backoff.ms": 10,
    "fetch.error.backoff.ms": 50,
}


class Lent(NamedTuple):
    """A consumer, and what it has noticed.

    Attributes:
        consumer: The consumer.
        trouble: Its last error that was none of a partition, such as why it has no connection.
    """

    consumer: Any
    trouble: deque[Any]


class Consumers:
    """Has a consumer for whoever reads: one that was given back, or else a new one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, list[tuple[float, Lent]]] = defaultdict(list)

    @contextmanager
    def borrowed(self, owner: str, properties: Mapping[str, Any]) -> Iterator[Lent]:
        """Lend a consumer, which is given back with nothing assigned to it.

        Args:
            owner: Whose consumers have the same properties.
            properties: The properties, as librdkafka has them.

        Raises:
            KafkaPropertyError: If the client does not take them.
        """
        self._close_unused(time.monotonic() - _KEPT_SECONDS)
        with self._lock:
            found = self._waiting[owner].pop()[1] if self._waiting[owner] else None
        lent = found or _connected(properties)
        try:
            yield lent
            lent.consumer.unassign()
        except BaseException:
            lent.consumer.close()
            raise
        lent.trouble.clear()
        with self._lock:
            self._waiting[owner].append((time.monotonic(), lent))

    def close(self, owner: str) -> None:
        """Close those of an owner that nobody uses."""
        with self._lock:
            found = self._waiting.pop(owner, [])
        for _, lent in found:
            lent.consumer.close()

    def _close_unused(self, before: float) -> None:
        with self._lock:
            old = [one for found in self._waiting.values() for one in found if one[0] < before]
            for owner, found in list(self._waiting.items()):
                self._waiting[owner] = [one for one in found if one[0] >= before]
                if not self._waiting[owner]:
                    del self._waiting[owner]
        for _, lent in old:
            lent.consumer.close()


CONSUMERS: Final = Consumers()


def _connected(properties: Mapping[str, Any]) -> Lent:
    own = {
        **CONSUMER_DEFAULTS,
        **_FAST,
        **properties,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
    }
    trouble: deque[Any] = deque(maxlen=1)
    return Lent(new_client("Consumer", own, error_cb=trouble.append), trouble)
