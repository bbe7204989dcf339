"""Sends records to Kafka."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final

from penstock.datastream.connectors.kafka.failures import failure, missing, no_room
from penstock.datastream.connectors.kafka.record_serialization import KafkaRecord
from penstock.datastream.connectors.kafka.staged_records import Fields
from penstock.datastream.connectors.kafka.target import KafkaTarget
from penstock.datastream.connectors.kafka.waiting import Waiting, waited
from penstock.errors import SinkError, SinkNotReachableError, SinkNotWritableError
from penstock.runtime.planned.kafka.cancellation import Cancellation
from penstock.runtime.planned.kafka.client import LOGGER, kafka_client, new_client

_ROOM_SECONDS: Final = 0.1
_FLUSH_SECONDS: Final = 0.1
_ANSWER_SECONDS: Final = 1.0
_ANY: Final = -1
"""The partition that the client chooses."""
_KNOWN_SECONDS: Final = 300.0
"""How long the number of a topic's partitions is taken as known, as Kafka's clients do it."""
_OF_NO_TOPIC: Final = frozenset({"_TIMED_OUT", "_MSG_TIMED_OUT", "UNKNOWN_TOPIC_OR_PART"})
"""What may come of a topic that is gone."""
_TAKEN_BACK: Final = frozenset({"_PURGE_QUEUE", "_PURGE_INFLIGHT"})
"""What becomes of records whose transaction has failed: they say less of it than the transaction does."""


class Sender:
    """A producer, and what became of what it was given.

    Args:
        target: Where to.
        cancellation: Ends what waits for Kafka. Default: nothing does.
        **settings: More settings of the producer.

    Attributes:
        producer: The producer.

    Raises:
        KafkaClientNotFoundError: If confluent-kafka is not installed.
        KafkaPropertyError: If the client does not know a setting, or does not take its value.
    """

    def __init__(
        self, target: KafkaTarget, cancellation: Cancellation | None = None, **settings: str
    ) -> None:
        self._cancellation = cancellation or Cancellation()
        self._client = kafka_client()
        self._target = target
        self._failed: list[tuple[Any, Any]] = []
        self._ignored = _TAKEN_BACK if "transactional.id" in settings else frozenset[str]()
        self._topics: set[str] = set()
        self._partitions: dict[str, int] = {}
        self._known_until = 0.0
        self._is_stopped = False
        reports = {
            "on_delivery": partial(_note, self._failed),
            "delivery.report.only.error": True,
        }
        self.producer = new_client("Producer", {**target.settings, **settings, **reports})

    def fence(self) -> None:
        """Take over the transactional id: what others have left open is aborted, and they cannot send any more.

        Raises:
            SinkError: If Kafka does not let it, or does not answer.
        """
        asked = self._cancellation.asked

        def connect(seconds: float) -> None:
            asked(lambda share: self.producer.list_topics(timeout=share), seconds)

        def init(seconds: float) -> None:
            self.producer.init_transactions(seconds)

        def take_over(seconds: float) -> None:
            asked(init, seconds, goes_on=True)

        patience, place = self._target.patience, self._target.place
        with self.errors():
            # A producer that has no connection yet would look for a coordinator half a second later.
            waited(connect, patience, "brokers", place, self._cancellation)
            waited(take_over, patience, "a transactional id", place, self._cancellation)

    def send(self, records: Iterable[Fields], subtask: int) -> None:
        """Send records; whether they arrive shows later.

        Args:
            records: What `KafkaRecord`s have, in their order.
            subtask: Whose they are.
        """
        produce, keeps = self.producer.produce, self._target.keeps_to_one_partition
        if time.monotonic() >= self._known_until:
            self._partitions.clear()
            self._known_until = time.monotonic() + _KNOWN_SECONDS
        last = None
        for topic, value, key, timestamp, partition, headers in records:
            if topic is not last:
                self._topics.add(topic)
                last = topic
            number = partition
            if number is None:
                number = self._partition_of(subtask, topic) if keeps else _ANY
            pairs = list(headers) if headers else None  # The client takes no tuple of them.
            # To the client 0 is no timestamp.
            time_of = 0 if timestamp is None else timestamp or 1
            waiting, has_room = None, False
            while True:
                try:
                    # The client takes twice as long for names of arguments. Two that are about callbacks are None.
                    produce(topic, value, key, number, None, None, time_of, pairs)
                except BufferError:
                    if has_room:
                        raise no_room(self._target, KafkaRecord(topic, value, key)) from None
                    self.producer.poll(_ROOM_SECONDS)
                    self.check()
                    left = len(self.producer)
                    has_room = left == 0
                    waiting = waiting or Waiting("room in the queue", self._target.place)
                    self._tell(waiting, left)
                except self._client.KafkaException as error:
                    record = KafkaRecord(topic, value, key)
                    raise failure(error.args[0], self._target, record) from error
                else:
                    break

    def _partition_of(self, subtask: int, topic: str) -> int:
        count = self._partitions.get(topic)
        if count is None:
            with self.errors():
                found = self._cancellation.asked(
                    lambda share: self.producer.list_topics(topic, share), self._target.patience
                )
                known = found.topics[topic]
            if known.error is not None:
                raise failure(known.error, self._target)
            count = self._partitions[topic] = len(known.partitions)
        return subtask % count

    def flush(self) -> None:
        """Wait until all is sent.

        Raises:
            SinkError: If something could not be sent.
        """
        waiting = Waiting("an epoch's records", self._target.place)
        while (left := self.producer.flush(_FLUSH_SECONDS)) > 0:
            self.check()
            self._tell(waiting, left)
        self.check()
        self._topics.clear()

    def _tell(self, waiting: Waiting, left: int) -> None:
        told = waiting.tell(f"{left} records are not confirmed")
        if told and not self._target.logs_failures_only:
            with suppress(SinkNotReachableError):
                self._look_for_topics()

    def _look_for_topics(self) -> None:
        """Make sure that the topics are there: the client would wait for one that is gone as for one that is new.

        Raises:
            SinkError: If one is not, or Kafka does not answer.
        """
        with self.errors():  # A topic that is asked for by its name may be made.
            found = self._cancellation.asked(
                lambda share: self.producer.list_topics(timeout=share), _ANSWER_SECONDS
            )
        known = found.topics
        for topic in sorted(self._topics - known.keys()):
            raise missing(topic, self._target)

    def check(self) -> None:
        """Raise an error if something could not be sent, or the job is cancelled."""
        self._cancellation.check()
        if self._is_stopped:
            raise SinkNotWritableError(
                f"What else is sent to {self._target.place} has failed.",
                hint="Look for the error before this one.",
            )
        if not self._failed:
            return
        failed = [one for one in self._failed if one[0].name() not in self._ignored]
        self._failed.clear()
        if not failed:
            return
        # Of records that were too large together, the largest one.
        reason, message = max(failed, key=lambda one: len(one[1].value() or b""))
        record = KafkaRecord(message.topic(), message.value(), message.key())
        error = self._why(reason, record)
        if not self._target.logs_failures_only:
            raise error
        LOGGER.error("%d records could not be sent. %s", len(failed), error)

    def _why(self, reason: Any, record: KafkaRecord) -> SinkError:
        """Return what has become of a record."""
        if reason.name() in _OF_NO_TOPIC:
            try:
                self._look_for_topics()
            except SinkError as error:
                return error
        return failure(reason, self._target, record)

    def commit(self, seconds: float) -> None:
        """Commit the transaction, within some seconds."""

        def commit(share: float) -> None:
            self.producer.commit_transaction(share)

        self.check()
        try:
            self._cancellation.asked(commit, seconds, goes_on=True)
        except self._client.KafkaException as error:
            if error.args[0].name() in _OF_NO_TOPIC:
                with suppress(SinkNotReachableError):
                    self._look_for_topics()
            raise
        self._topics.clear()

    def stop(self) -> None:
        """Have a thread that sends, or waits for Kafka, end with an error."""
        self._is_stopped = True

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of the client into errors of penstock's."""
        try:
            yield
        except self._client.KafkaException as error:
            raise failure(error.args[0], self._target) from error

    def close(self) -> None:
        """Give up what is not sent, and end the client, which nobody else has: no frame of an error's traceback."""
        producer, self.producer = self.producer, None
        with suppress(Exception):
            producer.purge()


def _note(failed: list[tuple[Any, Any]], error: Any, message: Any) -> None:
    if error is not None:
        failed.append((error, message))
