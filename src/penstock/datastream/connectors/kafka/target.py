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
from penstock.errors import KafkaPropertyError
from penstock.runtime.planned.kafka.client import client_properties, connection_properties

_NOT_IN_NAMES: Final = re.compile(r"[^\w.-]", re.ASCII)
_LONGEST: Final = 200
_ALWAYS_IDEMPOTENT: Final = frozenset({"acks", "retries", "max.in.flight.requests.per.connection"})
_TRANSACTION_TIMEOUT: Final = 300_000
_LARGEST_RECORD: Final = 1_000_000
_PATIENCE: Final = "max.block.ms"
_DEFAULT_PATIENCE: Final = 60_000


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

    @property
    def place(self) -> str:
        """Where it is, in words."""
        servers = str(self.properties.get("bootstrap.servers", ""))
        return f"{servers} {self.serializer.place}".strip()

    @cached_property
    def settings(self) -> dict[str, str]:
        """What a producer is given, as the C client calls it.

        Where the C client's defaults are not those of Java's, they are Java's: records with equal keys go
        to the same partition, and what is sent again is not there twice.
        """
        _ = self.patience
        given = client_properties(
            {key: value for key, value in self.properties.items() if key != _PATIENCE}
        )
        defaults = {"partitioner": "murmur2_random"}
        if not _ALWAYS_IDEMPOTENT & given.keys():
            defaults["enable.idempotence"] = "true"
        if self.is_exactly_once:
            defaults["transaction.timeout.ms"] = str(_TRANSACTION_TIMEOUT)
        return defaults | given

    @property
    def connection(self) -> dict[str, str]:
        """What any client is given to reach the cluster."""
        return connection_properties(self.settings)

    @property
    def patience(self) -> float:
        """How long an answer of Kafka is waited for, in seconds, when nothing is being sent.

        Raises:
            KafkaPropertyError: If it is no number.
        """
        given = self.properties.get(_PATIENCE, _DEFAULT_PATIENCE)
        try:
            return int(given) / 1000
        except ValueError as error:
            raise KafkaPropertyError(
                f"{_PATIENCE} is {given!r}, which is no number.",
                hint="Give milliseconds, such as '60000'.",
            ) from error

    @property
    def transaction_timeout(self) -> float:
        """How long Kafka lets a transaction take, in seconds."""
        return int(self.settings.get("transaction.timeout.ms", _TRANSACTION_TIMEOUT)) / 1000

    @property
    def largest_record(self) -> int:
        """How large a record may be, in bytes, as far as this is said here."""
        return int(self.settings.get("message.max.bytes", _LARGEST_RECORD))

    @property
    def topic_of_epochs(self) -> str:
        """The topic of the epochs that were sent."""
        if self.epochs_topic:
            return self.epochs_topic
        prefix = self.transactional_id_prefix
        plain = _NOT_IN_NAMES.sub("_", prefix)[:_LONGEST]
        if plain != prefix:
            plain += f"-{zlib.crc32(prefix.encode()):08x}"
        return f"penstock-epochs-{plain}"

    def transactional_id(self, sink_id: str, share: int = 0) -> str:
        """Return the transactional id of a share of a sink's records; that of the first has no number."""
        plain = f"{self.transactional_id_prefix}-{sink_id}"
        return f"{plain}-{share}" if share else plain
