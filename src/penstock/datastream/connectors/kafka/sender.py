"""Sends records to Kafka, and says what Kafka's errors mean."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Final

from penstock.datastream.connectors.kafka.record_serialization import KafkaRecord
from penstock.datastream.connectors.kafka.staged_records import Fields
from penstock.datastream.connectors.kafka.target import KafkaTarget
from penstock.datastream.connectors.kafka.waiting import Waiting, waited
from penstock.errors import (
    ProducerFencedError,
    SinkError,
    SinkNotReachableError,
    SinkNotWritableError,
    SinkRowError,
    SinkTopicError,
)
from penstock.runtime.planned.kafka.client import LOGGER, is_away, kafka_client, new_client
from penstock.runtime.user_code import record_text

_SHORT: Final = 0.1
_REFRESH: Final = 300.0
"""For how many seconds the number of a topic's partitions is taken as known, as Kafka's clients do it."""
_FENCED: Final = frozenset({"_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"})
_TOO_LARGE: Final = frozenset({"MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"})
_TAKEN_BACK: Final = frozenset({"_PURGE_QUEUE", "_PURGE_INFLIGHT"})
"""What becomes of records whose transaction has failed: they say less of it than the transaction does."""
_ABOUT_TOPIC: Final = frozenset(
    {
        "UNKNOWN_TOPIC_OR_PART",
        "_UNKNOWN_TOPIC",
        "_UNKNOWN_PARTITION",
        "TOPIC_AUTHORIZATION_FAILED",
        "TOPIC_EXCEPTION",
    }
)


class Sender:
    """A producer, and what became of what it was given.

    Args:
        target: Where to.
        settings: More settings of the producer.

    Attributes:
        producer: The producer.

    Raises:
        InvalidArgumentError: If a setting cannot be.
    """

    def __init__(self, target: KafkaTarget, **settings: str) -> None:
        self._client = kafka_client()
        self._target = target
        self._failed: list[tuple[Any, Any]] = []
        self._ignored = _TAKEN_BACK if "transactional.id" in settings else frozenset[str]()
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

        def connect(seconds: float) -> None:
            self.producer.list_topics(timeout=seconds)

        patience, place = self._target.patience, self._target.place
        with self.errors():
            # A producer that has no connection yet would look for a coordinator half a second later.
            waited(connect, patience, "brokers", place)
            waited(self.producer.init_transactions, patience, "a transactional id", place)

    def send(self, records: Iterable[Fields], subtask: int) -> None:
        """Send records; whether they arrive shows later.

        Args:
            records: What `KafkaRecord`s have, in their order.
            subtask: Whose they are.
        """
        produce, keeps = self.producer.produce, self._target.keeps_to_one_partition
        if time.monotonic() >= self._known_until:
            self._partitions.clear()
            self._known_until = time.monotonic() + _REFRESH
        for topic, value, key, timestamp, partition, headers in records:
            place = partition
            if place is None:
                place = self._fixed(topic, subtask) if keeps else -1
            pairs = list(headers) if headers else None  # The client takes no tuple of them.
            # To the client 0 is no timestamp.
            time_of = 0 if timestamp is None else timestamp or 1
            waiting = None
            while True:
                try:
                    # The client takes twice as long for names of arguments. Two that are about callbacks are None.
                    produce(topic, value, key, place, None, None, time_of, pairs)
                except BufferError:
                    self.producer.poll(_SHORT)
                    self.check()
                    waiting = waiting or Waiting("room in the queue", self._target.place)
                    waiting.tell(f"{len(self.producer)} records are not confirmed")
                except self._client.KafkaException as error:
                    record = KafkaRecord(topic, value, key)
                    raise described(error.args[0], self._target, record) from error
                else:
                    break

    def _fixed(self, topic: str, subtask: int) -> int:
        """Return the partition of a subtask."""
        count = self._partitions.get(topic)
        if count is None:
            with self.errors():
                known = self.producer.list_topics(topic, self._target.patience).topics[topic]
            if known.error is not None:
                raise described(known.error, self._target)
            count = self._partitions[topic] = len(known.partitions)
        return subtask % count

    def flush(self) -> None:
        """Wait until all is sent.

        Raises:
            SinkError: If something could not be sent.
        """
        waiting = Waiting("an epoch's records", self._target.place)
        while (left := self.producer.flush(1)) > 0:
            self.check()
            waiting.tell(f"{left} of them are not confirmed")
        self.check()

    def check(self) -> None:
        """Raise an error if something could not be sent."""
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
        error = described(reason, self._target, record)
        if not self._target.logs_failures_only:
            raise error
        LOGGER.error("%d records could not be sent. %s", len(failed), error)

    def commit(self, seconds: float) -> None:
        """Commit the transaction, within some seconds."""
        self.check()
        self.producer.commit_transaction(seconds)

    def stop(self) -> None:
        """Have a thread that sends, or waits for Kafka, end with an error."""
        self._is_stopped = True

    def errors(self) -> _Errors:
        """Turn errors of the client into errors of penstock's."""
        return _Errors(self._target)

    def close(self) -> None:
        """Give up what is not sent."""
        with suppress(Exception):
            self.producer.purge()


def _note(failed: list[tuple[Any, Any]], error: Any, message: Any) -> None:
    if error is not None:
        failed.append((error, message))


class _Errors:
    def __init__(self, target: KafkaTarget) -> None:
        self._target = target

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, kafka_client().KafkaException):
            raise described(error.args[0], self._target) from error


def described(error: Any, target: KafkaTarget, record: KafkaRecord | None = None) -> SinkError:
    """Return what an error of Kafka's means.

    Args:
        error: A `KafkaError`.
        target: Where something was sent.
        record: What was sent; None if it was not about one.
    """
    code, why = error.name(), error.str()
    what = "what the sink sends" if record is None else _text(record)
    if code in _FENCED:
        return ProducerFencedError(
            f"Another producer has taken over the transactional id that begins with "
            f"{target.transactional_id_prefix!r} in {target.place}: {why}",
            hint="Nothing is lost. Does the job run twice, or another one with the same prefix? Give each job "
            "a prefix of its own (a FlinkKafkaProducer: the property transactional.id), and let it run once.",
        )
    if code in _TOO_LARGE:
        return SinkRowError(
            f"Kafka ({target.place}) does not take {what}, which is too large: {why}",
            hint="Set max.message.bytes of the topic, and max.request.size of the sink, to a larger value, or "
            "batch.size of the sink to a smaller one; with exactly once the job then goes on when it is started "
            "again.",
        )
    if code in _ABOUT_TOPIC:
        return SinkTopicError(
            f"The topic of {what} cannot be written to in {target.place}: {why}",
            hint="Create the topic, or grant the sink's user the operations Write and Describe on it.",
        )
    hint = (
        "What is not visible is sent when the job is started again. See that the brokers can be "
        "reached, and that the sink's user may write."
    )
    if code == "INVALID_TRANSACTION_TIMEOUT":
        hint = "Set transaction.timeout.ms of the sink to at most transaction.max.timeout.ms of the brokers."
    elif code == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED":
        hint = (
            "Grant the sink's user the operations Write and Describe on transactional ids that begin with "
            f"{target.transactional_id_prefix!r}."
        )
    if record is not None:
        return SinkNotWritableError(f"Kafka ({target.place}) did not take {what}: {why}", hint=hint)
    if is_away(error):
        return SinkNotReachableError(
            f"Kafka ({target.place}) does not answer: {why}",
            hint="Nothing is lost: a committed epoch is sent when the job is started again. See that the brokers "
            "run, that bootstrap.servers and the names they advertise lead there from the driver and from the "
            "workers, and that security.protocol is theirs. max.block.ms says how long an answer is waited for.",
        )
    return SinkNotWritableError(f"Kafka ({target.place}) refuses the sink: {why}", hint=hint)


def _text(record: KafkaRecord) -> str:
    size = len(record.value or b"") + len(record.key or b"")
    shown = record_text(record.value if record.key is None else (record.key, record.value))
    return f"a record of {size} bytes for the topic {record.topic!r}, {shown}"
