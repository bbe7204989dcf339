"""A source of topics of Kafka, whose records tasks read from offset to offset."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from penstock.errors import KafkaNotReachableError, KafkaOffsetNotFoundError
from penstock.runtime.exchange.elements import BLOCK_SIZE, Block
from penstock.runtime.planned.kafka.broker import KafkaBroker, failure
from penstock.runtime.planned.kafka.client import client_properties, kafka_client
from penstock.runtime.planned.kafka.consumers import CONSUMERS
from penstock.runtime.planned.kafka.offsets import KafkaOffsetResetStrategy
from penstock.runtime.planned.kafka.planner import KafkaPlanner, Range, Reading
from penstock.runtime.planned.planned_source import PlannedSource, Planner

_LOG: Final = logging.getLogger("penstock")
_WAIT_SECONDS: Final = 0.5

AsBlock = Callable[[list[Any]], Block]
"""Makes records of messages."""


class KafkaRecords(PlannedSource):
    """The records of topics. A partition is a split, and is read by one subtask in an epoch.

    Args:
        properties: The consumer's properties, with names of Kafka's client in Java or of librdkafka.
        reading: What is read.
        as_block: Makes records of the client's messages.
        is_bounded: Whether it is a bounded stream; one that only stops somewhere is not.

    Attributes:
        properties: The properties, as they were given.
        reading: What is read.
        as_block: Makes records of messages.
    """

    kind = "topics of Kafka"
    has_splits = True

    def __init__(
        self,
        properties: Mapping[str, str],
        reading: Reading,
        as_block: AsBlock,
        *,
        is_bounded: bool,
    ) -> None:
        self.properties = dict(properties)
        self.reading = reading
        self.as_block = as_block
        self._owner = uuid.uuid4().hex
        self.is_bounded = is_bounded
        stopping = reading.stopping
        ends_at_once = stopping is not None and stopping.is_there and reading.most is None
        self.has_epochs = not (is_bounded and ends_at_once)

    @cached_property
    def client_properties(self) -> Mapping[str, Any]:
        """The properties, as librdkafka has them.

        Raises:
            KafkaPropertyError: If one means something that librdkafka cannot do.
        """
        return client_properties(self.properties)

    def planner(self) -> Planner:
        properties = self.client_properties
        return KafkaPlanner(
            self.reading,
            lambda: KafkaBroker(properties),
            lambda: CONSUMERS.close(self._owner),
        )

    def read(self, content: Any) -> Iterator[Block]:
        piece = Range(*content)
        if piece.begin >= piece.end:
            return
        with CONSUMERS.borrowed(self._owner, self.client_properties) as consumer:
            for messages in self._messages(consumer, piece):
                yield self.as_block(messages)

    def _messages(self, consumer: Any, piece: Range) -> Iterator[list[Any]]:
        """Yield the messages of a piece.

        Not every offset has one: those of transactions' ends have none, nor those of what a transaction took back,
        or a compacted topic has dropped. So the end is reached when a message is behind it, or the client
        says that it is.
        """
        client = kafka_client()
        self._seek(consumer, piece, piece.begin)
        position = piece.begin
        heard = time.monotonic()
        while position < piece.end:
            first = consumer.poll(_WAIT_SECONDS)
            if first is None:
                if time.monotonic() - heard > self.reading.patience:
                    raise self._silence(piece, position)
                continue
            messages = [first, *consumer.consume(BLOCK_SIZE - 1, 0)]
            found = []
            for message in messages:
                error = message.error()
                if error is None:
                    position = message.offset() + 1
                    if position > piece.end:
                        break
                    found.append(message)
                elif error.code() == client.KafkaError._PARTITION_EOF:  # noqa: SLF001 - so it is called
                    position = max(position, message.offset())
                elif error.code() == client.KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001
                    position = self._past_what_is_gone(consumer, piece, position)
                elif not error.retriable():
                    about = f"{piece.topic}-{piece.partition}"
                    raise failure(error, about, self.properties.get("bootstrap.servers"))
            if found:
                yield found
            # What was done with the messages may have taken its time.
            heard = time.monotonic()

    @staticmethod
    def _seek(consumer: Any, piece: Range, offset: int) -> None:
        place = kafka_client().TopicPartition(piece.topic, piece.partition, offset)
        consumer.assign([place])

    def _past_what_is_gone(self, consumer: Any, piece: Range, position: int) -> int:
        """Go on behind records that were deleted after this reading was planned, and return where."""
        place = kafka_client().TopicPartition(piece.topic, piece.partition)
        first, _ = consumer.get_watermark_offsets(place, timeout=self.reading.patience)
        name = f"{piece.topic}-{piece.partition}"
        reset = self.reading.starting.reset
        if reset is KafkaOffsetResetStrategy.NONE or first <= position:
            raise KafkaOffsetNotFoundError(
                f"{name} was to be read from offset {position} to {piece.end}, and has nothing there any more: it "
                f"begins at {first}.",
                hint="Let the topic keep records for as long as the job may stand still, or let the starting offsets "
                "have KafkaOffsetResetStrategy.EARLIEST.",
            )
        goes_on = min(int(first), piece.end)
        _LOG.warning(
            "%s: offsets %d to %d are lost, as Kafka has deleted them before they were read",
            name,
            position,
            goes_on - 1,
        )
        self._seek(consumer, piece, goes_on)
        return goes_on

    def _silence(self, piece: Range, position: int) -> KafkaNotReachableError:
        return KafkaNotReachableError(
            f"Kafka at {self.properties.get('bootstrap.servers')} has given nothing of "
            f"{piece.topic}-{piece.partition} for {self.reading.patience:.0f} s; the next offset is {position}, and "
            f"{piece.end} the end of what is read in this epoch.",
            hint="See that the brokers run, and that the names they advertise lead there from the workers too. The "
            "property default.api.timeout.ms says how long to wait.",
        )
