"""A source of topics of Kafka, whose records tasks read from offset to offset."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Final

from penstock.errors import (
    KafkaNotReachableError,
    KafkaOffsetNotFoundError,
    KafkaTopicNotFoundError,
)
from penstock.runtime.exchange.elements import BLOCK_SIZE, Block
from penstock.runtime.planned.kafka.broker import KafkaBroker
from penstock.runtime.planned.kafka.cancellation import Cancellation
from penstock.runtime.planned.kafka.client import client_properties, kafka_client
from penstock.runtime.planned.kafka.consumers import CONSUMERS, Lent
from penstock.runtime.planned.kafka.failures import failure, is_refusal
from penstock.runtime.planned.kafka.offsets import KafkaOffsetResetStrategy
from penstock.runtime.planned.kafka.planner import KafkaPlanner, Range
from penstock.runtime.planned.kafka.reading import Reading
from penstock.runtime.planned.planned_source import PlannedSource, Planner

_LOG: Final = logging.getLogger("penstock")
_WAIT_SECONDS: Final = 0.5
_SUSPICIOUS_SECONDS: Final = 2.0
"""How long a partition may be silent, of which there is more to read, before somebody asks why."""
_GONE: Final = frozenset({"_AUTO_OFFSET_RESET", "_LOG_TRUNCATION", "OFFSET_OUT_OF_RANGE"})
_NONE: Final = KafkaOffsetResetStrategy.NONE

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
        self._servers = self.properties.get("bootstrap.servers")
        self._is_of_pattern = reading.subscription.pattern is not None
        self._owner = uuid.uuid4().hex
        self._cancellation = Cancellation()
        self.is_bounded = is_bounded
        stopping = reading.stopping
        ends_at_once = stopping is not None and stopping.is_known_at_start and reading.most is None
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
        cancellation = Cancellation()
        return KafkaPlanner(
            self.reading,
            lambda: KafkaBroker(properties, cancellation),
            lambda: CONSUMERS.close(self._owner),
            cancellation=cancellation,
        )

    def interrupt(self) -> None:
        self._cancellation.cancel()

    def read(self, content: Any) -> Iterator[Block]:
        piece = Range(*content)
        if piece.begin >= piece.end:
            return
        with CONSUMERS.borrowed(self._owner, self.client_properties) as lent:
            for messages in self._messages(lent, piece):
                yield self.as_block(messages)

    def _messages(self, lent: Lent, piece: Range) -> Iterator[list[Any]]:
        """Yield the messages of a piece.

        Not every offset has one: those of transactions' ends have none, nor those of what a transaction took back,
        or a compacted topic has dropped. So the end is reached when a message is behind it, or the client
        says that it is.
        """
        consumer = lent.consumer
        self._seek(consumer, piece, piece.begin)
        position = piece.begin
        heard = time.monotonic()
        while position < piece.end:
            self._cancellation.check()
            before = position
            found = []
            first = consumer.poll(_WAIT_SECONDS)
            for message in () if first is None else (first, *consumer.consume(BLOCK_SIZE - 1, 0)):
                error = message.error()
                if error is None:
                    position = message.offset() + 1
                    if position > piece.end:
                        break
                    found.append(message)
                elif error.name() == "_PARTITION_EOF":
                    position = max(position, message.offset())
                elif error.name() in _GONE:
                    position = self._past_what_is_gone(consumer, piece, position)
                else:
                    position = self._after(error, piece, position)
            if position >= piece.end:
                # While the messages are worked on, the client would ask for more again and again.
                consumer.unassign()
            if found:
                yield found
            if position > before:
                # What was done with the messages may have taken its time.
                heard = time.monotonic()
            elif time.monotonic() - heard > self.reading.patience:
                raise self._too_silent(lent, piece, position)
            elif time.monotonic() - heard > _SUSPICIOUS_SECONDS:
                position = self._after(self._why_silent(lent, piece), piece, position)

    @staticmethod
    def _seek(consumer: Any, piece: Range, offset: int) -> None:
        consumer.assign([kafka_client().TopicPartition(piece.topic, piece.partition, offset)])

    def _why_silent(self, lent: Lent, piece: Range) -> Any:
        """Return the error that explains why nothing comes, or None: that a topic is gone, the client waits out."""
        if lent.trouble and is_refusal(lent.trouble[0]):
            return lent.trouble[0]
        with suppress(kafka_client().KafkaException):
            found = self._cancellation.asked(
                lambda share: lent.consumer.list_topics(piece.topic, share), _WAIT_SECONDS
            )
            return found.topics[piece.topic].error
        return None

    def _after(self, error: Any, piece: Range, position: int) -> int:
        """Return where to go on after an error.

        Args:
            error: The client's; None for none.
            piece: What is read.
            position: Where the next message is read.

        Raises:
            SourceNotReadableError: If reading cannot go on.
        """
        # To read partitions that it names itself a consumer needs no right on its group.
        if error is None or error.name() == "GROUP_AUTHORIZATION_FAILED":
            return position
        failed = failure(error, f"topic {piece.topic}", self._servers)
        if isinstance(failed, KafkaNotReachableError):
            return position
        if isinstance(failed, KafkaTopicNotFoundError) and self._is_of_pattern:
            _LOG.warning(
                "%s, offsets %d to %d: %s", piece.topic, position, piece.end - 1, failed.message
            )
            return piece.end
        raise failed

    def _past_what_is_gone(self, consumer: Any, piece: Range, position: int) -> int:
        """Go on where the client has found no message to read, and return where.

        Its records were deleted after this reading was planned; or there are less than there were, as the topic was made
        anew or its leader did not have them all, and by now there may be as many again. A topic that was made anew, the
        planner tells.
        """
        partition = kafka_client().TopicPartition(piece.topic, piece.partition)
        try:
            first, end = self._cancellation.asked(
                lambda share: consumer.get_watermark_offsets(partition, share), _SUSPICIOUS_SECONDS
            )
        except kafka_client().KafkaException as error:
            goes_on = self._after(error.args[0], piece, position)
        else:
            goes_on = self._where_to_go_on(piece, position, first, end)
        # Until then the client asks for nothing more.
        self._seek(consumer, piece, goes_on)
        return goes_on

    def _where_to_go_on(self, piece: Range, position: int, first: int, end: int) -> int:
        """Return the next offset to read, where a partition has some from `first` to `end`.

        Raises:
            KafkaOffsetNotFoundError: If that is not for the source to say.
        """
        name = f"{piece.topic}-{piece.partition}"
        if first <= position < end:
            _LOG.warning("%s: offset %d was not there, and is there now", name, position)
            time.sleep(_WAIT_SECONDS)
            return position
        is_deleted = position < first
        reset = self.reading.starting.reset
        if (is_deleted and reset is _NONE) or not (is_deleted or self._is_of_pattern):
            raise KafkaOffsetNotFoundError(
                f"{name} was to be read from offset {position} to {piece.end}, and has nothing there any more: it has "
                f"{first} to {end}.",
                hint="Let the topic keep records for as long as the job may stand still, or let the starting offsets "
                "have KafkaOffsetResetStrategy.EARLIEST. If the topic was made anew, give the source another uid().",
            )
        is_left = is_deleted and reset is KafkaOffsetResetStrategy.EARLIEST
        goes_on = min(first, piece.end) if is_left else piece.end
        _LOG.warning(
            "%s: offsets %d to %d are lost, as Kafka has deleted them before they were read: it has %d to %d",
            name,
            position,
            goes_on - 1,
            first,
            end,
        )
        return goes_on

    def _too_silent(self, lent: Lent, piece: Range, position: int) -> KafkaNotReachableError:
        more = f" Before that: {lent.trouble[0].str().rstrip('.')}." if lent.trouble else ""
        return KafkaNotReachableError(
            f"Kafka at {self._servers} has given nothing of "
            f"{piece.topic}-{piece.partition} for {self.reading.patience:.0f} s; the next offset is {position}, and "
            f"{piece.end} the end of what is read in this epoch.{more}",
            hint="See that the brokers run, and that the names they advertise lead there from the workers too. The "
            "property default.api.timeout.ms says how long to wait.",
        )
