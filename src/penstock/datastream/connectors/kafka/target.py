"""Where a sink for Kafka writes to, and how: all that its writers and its committer know of it."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from penstock.datastream.connectors.kafka.record_serialization import (
    KafkaRecordSerializationSchema,
)
from penstock.runtime.planned.kafka.client import (
    checked_number,
    client_properties,
    connection_properties,
)

_NOT_IN_NAMES: Final = re.compile(r"[^\w.-]", re.ASCII)
_LONGEST_NAME: Final = 200
_ALWAYS_IDEMPOTENT: Final = frozenset({"acks", "retries", "max.in.flight.requests.per.connection"})
_TRANSACTION_TIMEOUT: Final = "transaction.timeout.ms"
_TRANSACTION_TIMEOUT_MS: Final = 300_000
_LARGEST: Final = "message.max.bytes"
_LARGEST_RECORD: Final = 1_000_000
_OF_KAFKA: Final = 36
"""How many bytes of a record Kafka's client reckons for what else is in it."""
_MAX_BLOCK: Final = "max.block.ms"
_MAX_BLOCK_MS: Final = 60_000
_MILLISECONDS: Final = "milliseconds, such as '60000'"


@dataclass(frozen=True)
class KafkaTarget:
    """A cluster, what is written there, and how.

    Attributes:
        properties: What Kafka's client is given.
        serializer: Makes Kafka's records of those of the stream.
        is_exactly_once: Whether records are sent in transactions.
        transactional_id_prefix: What transactional ids begin with.
        epochs_topic: The topic of the epochs that were sent; empty for one of the prefix's own.
        keeps_to_one_partition: Whether a subtask without a partitioner writes to one partition of a topic.
        logs_failures_only: Whether records that could not be sent are logged and left out.
        transactions_per_epoch: How many transactions share the records of an epoch.
    """

    properties: Mapping[str, Any] = field(repr=False)
    serializer: KafkaRecordSerializationSchema
    is_exactly_once: bool = False
    transactional_id_prefix: str = ""
    epochs_topic: str = ""
    keeps_to_one_partition: bool = False
    logs_failures_only: bool = False
    transactions_per_epoch: int = 1

    def check(self) -> None:
        """Make sure that the properties can be, as far as Kafka's client is not needed for it.

        Raises:
            KafkaPropertyError: If one cannot.
        """
        _ = self.patience, self.transaction_timeout, self.largest_record

    @property
    def place(self) -> str:
        """Where it is, in words."""
        topic = self.serializer.place
        return f"Kafka at {self.servers}" + (f" (topic {topic!r})" if topic else "")

    @property
    def servers(self) -> str:
        """Some of its brokers."""
        return str(self.properties.get("bootstrap.servers", ""))

    @cached_property
    def settings(self) -> dict[str, str]:
        """What a producer is given, as librdkafka calls it.

        Where librdkafka's defaults are not those of Kafka's client in Java, they are Java's: records with equal keys go
        to the same partition, and what is sent again is not there twice.
        """
        given = client_properties(
            {key: value for key, value in self.properties.items() if key != _MAX_BLOCK}
        )
        defaults = {"partitioner": "murmur2_random"}
        if not _ALWAYS_IDEMPOTENT & given.keys():
            defaults["enable.idempotence"] = "true"
        if self.is_exactly_once:
            defaults[_TRANSACTION_TIMEOUT] = str(_TRANSACTION_TIMEOUT_MS)
        return defaults | given

    @property
    def connection(self) -> dict[str, str]:
        """What any client is given to reach the cluster."""
        return connection_properties(self.settings)

    @property
    def patience(self) -> float:
        """How long an answer of Kafka is waited for, in seconds, when nothing is being sent."""
        value = self.properties.get(_MAX_BLOCK, _MAX_BLOCK_MS)
        return checked_number(_MAX_BLOCK, value, _MILLISECONDS) / 1000

    @property
    def transaction_timeout(self) -> float:
        """How long Kafka lets a transaction take, in seconds."""
        value = self.settings.get(_TRANSACTION_TIMEOUT, _TRANSACTION_TIMEOUT_MS)
        return checked_number(_TRANSACTION_TIMEOUT, value, _MILLISECONDS) / 1000

    @property
    def largest_record(self) -> int:
        """How large key, value and headers of a record may be, in bytes, as far as this is said here."""
        value = self.settings.get(_LARGEST, _LARGEST_RECORD)
        return checked_number(_LARGEST, value, "bytes, such as '1000000'") - _OF_KAFKA

    @property
    def topic_of_epochs(self) -> str:
        """The topic of the epochs that were sent."""
        if self.epochs_topic:
            return self.epochs_topic
        prefix = self.transactional_id_prefix
        plain = _NOT_IN_NAMES.sub("_", prefix)[:_LONGEST_NAME]
        if plain != prefix:
            plain += f"-{zlib.crc32(prefix.encode()):08x}"
        return f"penstock-epochs-{plain}"

    def transactional_id(self, sink_id: str, share: int = 0) -> str:
        """Return the transactional id of a share of a sink's records; that of the first has no number."""
        plain = f"{self.transactional_id_prefix}-{sink_id}"
        return f"{plain}-{share}" if share else plain
