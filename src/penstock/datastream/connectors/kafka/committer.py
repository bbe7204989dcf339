"""The driver's side of a sink for Kafka: sends an epoch's records, and its number, in one transaction."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

from penstock.checkpoint.leftovers import NOTES
from penstock.datastream.connectors.kafka.epochs_topic import EpochsTopic, owner
from penstock.datastream.connectors.kafka.record_serialization import KafkaRecord
from penstock.datastream.connectors.kafka.sender import Sender
from penstock.datastream.connectors.kafka.staged_records import Fields, unstaged
from penstock.datastream.connectors.kafka.target import KafkaTarget
from penstock.datastream.connectors.kafka.waiting import waited
from penstock.datastream.connectors.kafka.writers import StagedRecords
from penstock.errors import (
    EpochsTopicLostError,
    LostEpochError,
    LostOutputError,
    ProducerFencedError,
    SinkError,
    SinkNotReachableError,
    SinkNotWritableError,
)
from penstock.runtime.sinks import CommitContext, Committer, Uncommitted

_PATIENCE: Final = 10.0


class NothingToCommit(Committer):
    """For records that the writers have sent."""

    def commit(self, committables: list[Any], context: CommitContext) -> None:
        """Do nothing."""


class RecordsCommitter(Committer):
    """Sends the records of an epoch and its number in one transaction.

    No transaction is open but while an epoch is being sent, as what is sent is staged: one that a dead
    committer left is aborted by the next one, which then sends all of it again.

    Args:
        target: Where to.
    """

    def __init__(self, target: KafkaTarget) -> None:
        self._target = target
        self._topic = EpochsTopic(target)
        self._sender: Sender | None = None
        self._sent: dict[str, int] = {}
        self._topic_id = ""
        self._noted = ""

    def open(self) -> None:
        """Make sure that there is a topic that remembers epochs, and that a producer takes its properties.

        Raises:
            PenstockError: If not.
        """
        self._new_sender(self._target.transactional_id_prefix).close()
        self._topic.create()

    def commit(self, committables: list[StagedRecords], context: CommitContext) -> None:
        """Send an epoch's records, if they are not there yet."""
        try:
            sender = self._opened(context.sink_id)
            key = owner(context.lineage, context.sink_id)
            if self._noted != key:
                self._note(context, key)
            if self._sent.get(key, -1) < context.epoch:
                self._send(sender, committables, context, key)
                self._sent[key] = context.epoch
        except BaseException:
            self.close()
            raise

    def _opened(self, sink_id: str) -> Sender:
        """Return a sender, behind which no other one with its id can send, and know what was sent before it."""
        if self._sender is None:
            target = self._target
            sender = self._new_sender(target.transactional_id(sink_id))
            sender.fence()
            self._topic_id, self._sent = self._topic.read()
            self._sender = sender
        return self._sender

    def _new_sender(self, transactional_id: str) -> Sender:
        return Sender(self._target, **{"transactional.id": transactional_id})

    def _note(self, context: CommitContext, key: str) -> None:
        """Note beside the checkpoints which topic remembers epochs, before anything is sent.

        Raises:
            EpochsTopicLostError: If it was another one, and this one knows nothing of the job.
        """
        if context.storage is not None:
            name, now = f"{NOTES}/{context.sink_id}", f"{key} {self._topic_id}".encode()
            with suppress(FileNotFoundError):
                noted = context.storage.read(name)
                if noted != now and noted.startswith(f"{key} ".encode()) and key not in self._sent:
                    raise self._forgotten(context, key)
            context.storage.write(name, [now])
        self._noted = key

    def _forgotten(self, context: CommitContext, key: str) -> SinkError:
        epoch, topic = context.epoch, self._topic.name
        return EpochsTopicLostError(
            f"Epoch {epoch} may have been sent to {self._target.place}, or not: the topic {topic!r} would say so, "
            "but since the job last ran it was deleted and made anew, or it is in another cluster.",
            hint=f"Look whether records of epoch {epoch} are in Kafka. Then write a message into {topic!r} with the "
            f"key {key} and the value {epoch} if they are, {epoch - 1} if not, as with kafka-console-producer.sh "
            "--property parse.key=true, and start the job again.",
        )

    def _send(
        self,
        sender: Sender,
        committables: list[StagedRecords],
        context: CommitContext,
        key: str,
    ) -> None:
        producer, began = sender.producer, time.monotonic()
        timeout = self._target.transaction_timeout
        try:
            with sender.errors():
                producer.begin_transaction()
                for records, subtask in self._parts(committables, context):
                    sender.send(records, subtask)
                    producer.poll(0)
                    sender.check()
                marker = KafkaRecord(
                    self._topic.name, b"%d" % context.epoch, key.encode(), partition=0
                )
                sender.send([marker], 0)
                what = f"the commit of epoch {context.epoch}"
                waited(producer.commit_transaction, timeout, what, self._target.place)
        except Exception as error:
            # What could not be delivered says more than that the transaction has failed of it.
            with suppress(Exception):  # A producer that was fenced raises that again.
                producer.poll(0)
            try:
                if not isinstance(error, ProducerFencedError):
                    sender.check()
                elif time.monotonic() - began >= timeout:
                    raise self._too_slow(context) from error
            finally:
                # Left open, it would keep readers of its topics waiting until its time is up.
                with suppress(Exception):
                    producer.abort_transaction(_PATIENCE)
            raise

    def _too_slow(self, context: CommitContext) -> SinkError:
        return SinkNotWritableError(
            f"Epoch {context.epoch} could not be sent to {self._target.place} within the "
            f"{self._target.transaction_timeout:.0f} s that Kafka lets a transaction take.",
            hint="Set transaction.timeout.ms of the sink to a larger value, at most to "
            "transaction.max.timeout.ms of the brokers, or make epochs smaller.",
        )

    def _parts(
        self, committables: list[StagedRecords], context: CommitContext
    ) -> Iterator[tuple[Iterable[Fields], int]]:
        for name, count, subtask in committables:
            try:
                yield unstaged(context.read(name)), subtask
            except FileNotFoundError:
                raise LostOutputError(
                    f"{count} records of epoch {context.epoch} for {self._target.place} are not "
                    f"there: {name} is missing from the job's checkpoint location.",
                    hint="Start the job from an earlier epoch: see `penstock checkpoint list`.",
                ) from None

    def drop(self, uncommitted: Uncommitted) -> None:
        """Make sure that no epoch was sent that the job does not know; what was staged is not in Kafka."""
        if uncommitted.is_over:
            return
        sent = uncommitted.after
        # What is wrong with Kafka is told when the committer is opened, which may come later.
        try:
            found = self._topic.read(waits=False).sent
            sent = found.get(owner(uncommitted.lineage, uncommitted.sink_id), sent)
        except SinkNotReachableError:
            raise
        except SinkError:
            pass
        if sent > uncommitted.after:
            raise LostEpochError.after(
                uncommitted.after,
                sent,
                self._target.place,
                f"the topic {self._topic.name} of its sink says",
            )

    def close(self) -> None:
        """Give up what is not sent, and forget what was."""
        sender, self._sender, self._sent, self._noted = self._sender, None, {}, ""
        if sender is not None:
            sender.close()
