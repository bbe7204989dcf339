"""The driver's side of a sink for Kafka: sends an epoch's records, and its number, in transactions."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from threading import Barrier
from typing import Any, Final

from penstock.checkpoint.leftovers import NOTES
from penstock.datastream.connectors.kafka.epochs_topic import EpochsTopic, owner, share_of
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
    SinkTopicError,
)
from penstock.runtime.planned.kafka.cancellation import Cancellation
from penstock.runtime.planned.kafka.client import kafka_client
from penstock.runtime.sinks import CommitContext, Committer, Uncommitted

_LOG: Final = logging.getLogger("penstock")
_UNKNOWN: Final = "UNKNOWN"
"""What a broker answers that cannot say what went wrong, as one that has just become a transaction's coordinator."""
_ABORT_SECONDS: Final = 10.0
_CANCELLED_ABORT_SECONDS: Final = 0.3


class NothingToCommit(Committer):
    """For records that the writers have sent."""

    def commit(self, committables: list[Any], context: CommitContext) -> None:
        """Do nothing."""


class RecordsCommitter(Committer):
    """Sends the records of an epoch and its number in one transaction, or in some side by side.

    Each of these has its share of the records, which was fixed when they were staged, a transactional id and
    a place in the topic of epochs: so each share is sent once, whatever became of the others.

    No transaction is open but while an epoch is being sent, as what is sent is staged: one that a dead
    committer left is aborted by the next one, which then sends all of it again.

    Args:
        target: Where to.
    """

    def __init__(self, target: KafkaTarget) -> None:
        self._target = target
        self._cancellation = Cancellation()
        self._topic = EpochsTopic(target, self._cancellation)
        self._senders: dict[int, Sender] = {}
        self._sent: dict[str, int] = {}
        self._topic_id = ""
        self._noted = ""
        self._after: int | None = None

    def open(self) -> None:
        """Make sure that there is a topic that remembers epochs, and that a producer takes its properties.

        Raises:
            PenstockError: If not.
        """
        self._new_sender(self._target.transactional_id_prefix).close()
        self._topic.create()

    def commit(self, committables: list[StagedRecords], context: CommitContext) -> None:
        """Send an epoch's records, if they are not there yet.

        What the brokers gave up themselves is sent anew, once.
        """
        shares: dict[int, list[StagedRecords]] = {0: []}
        for one in committables:
            shares.setdefault(one.share, []).append(one)
        keys = {share: owner(context.lineage, context.sink_id, share) for share in shares}
        try:
            self._commit(shares, keys, context)
        except BaseException as error:
            known = self._sent
            self.close()
            own = dict.fromkeys(keys.values(), context.epoch)
            if not isinstance(error, SinkError) or not self._is_given_up(error, known, own):
                raise
            _LOG.warning("epoch %d is sent anew: %s", context.epoch, error.message)
            try:
                self._commit(shares, keys, context)
            except BaseException:
                self.close()
                raise

    def _commit(
        self, shares: dict[int, list[StagedRecords]], keys: dict[int, str], context: CommitContext
    ) -> None:
        if not self._senders.keys() >= shares.keys():
            self._open(context.sink_id, shares)
        if self._noted != keys[0]:
            self._note(context, keys.values())
        due = [one for one, key in keys.items() if self._sent.get(key, -1) < context.epoch]
        all_sent = Barrier(max(len(due), 1))

        def send(share: int) -> None:
            self._send(self._senders[share], shares[share], context, keys[share], all_sent)
            self._sent[keys[share]] = context.epoch

        self._side_by_side(send, due, all_sent)

    def _is_given_up(
        self, error: SinkError, known: Mapping[str, int], own: Mapping[str, int]
    ) -> bool:
        """Whether brokers have ended a transaction by themselves, as they may when its coordinator has died.

        They answer as if another producer had taken over. If one has, it has sent an epoch; one that did so and has
        sent nothing yet finds the epoch that is sent now, and ends.

        Args:
            error: What the commit has failed with.
            known: The last epochs that were sent before.
            own: What this epoch makes of them.
        """
        if isinstance(error, ProducerFencedError):
            with suppress(SinkError):
                found = self._topic.read(waits=False).sent
                return all(epoch in (known.get(key), own.get(key)) for key, epoch in found.items())
        cause: Any = error.__cause__
        is_of_client = isinstance(cause, kafka_client().KafkaException)
        return is_of_client and cause.args[0].name() == _UNKNOWN

    def _open(self, sink_id: str, shares: Iterable[int]) -> None:
        """Have senders, behind which no others with their ids can send, and know what was sent before them.

        Transactions of shares that are no more may be open as well: readers would wait for their end.
        """
        self._close_senders()
        known: set[int | None] = set()
        with suppress(SinkTopicError):  # One that is not there yet knows of none.
            known.update(share_of(key, sink_id) for key in self._topic.read(waits=False).sent)
        wanted = {*range(self._target.transactions_per_epoch), *shares}
        for share in sorted(wanted | {one for one in known if one is not None}):
            sender = self._new_sender(self._target.transactional_id(sink_id, share))
            try:
                sender.fence()
            except BaseException:
                sender.close()
                raise
            if share in wanted:
                self._senders[share] = sender
        self._topic_id, self._sent = self._topic.read()

    def _side_by_side(self, send: Callable[[int], None], due: list[int], all_sent: Barrier) -> None:
        """Send shares, each in a thread of its own if they are several; none is left when one has failed."""
        if len(due) < 2:
            for share in due:
                send(share)
            return
        with ThreadPoolExecutor(len(due), "penstock-kafka") as threads:
            try:
                for one in as_completed([threads.submit(send, share) for share in due]):
                    one.result()
            except BaseException:
                for sender in self._senders.values():
                    sender.stop()
                all_sent.abort()
                raise

    def _new_sender(self, transactional_id: str) -> Sender:
        return Sender(self._target, self._cancellation, **{"transactional.id": transactional_id})

    def _note(self, context: CommitContext, keys: Collection[str]) -> None:
        """Note beside the checkpoints which topic remembers epochs, before anything is sent.

        Raises:
            EpochsTopicLostError: If it was another one, and this one knows nothing of the job.
        """
        key = owner(context.lineage, context.sink_id)
        if context.storage is not None:
            name, now = f"{NOTES}/{context.sink_id}", f"{key} {self._topic_id}".encode()
            with suppress(FileNotFoundError):
                noted = context.storage.read(name)
                unknown = [one for one in keys if one not in self._sent]
                # What this driver was the first to commit, none before it has sent.
                is_new = self._after is not None and context.epoch > self._after
                is_other = noted != now and noted.startswith(f"{key} ".encode())
                if is_other and unknown and not is_new:
                    raise self._forgotten(context, " and another with the key ".join(unknown))
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
        all_sent: Barrier,
    ) -> None:
        began = time.monotonic()
        timeout = self._target.transaction_timeout
        try:
            with sender.errors():
                sender.producer.begin_transaction()
                for records, subtask in self._parts(committables, context):
                    sender.send(records, subtask)
                    sender.producer.poll(0)
                    sender.check()
                marker = KafkaRecord(
                    self._topic.name, b"%d" % context.epoch, key.encode(), partition=0
                )
                sender.send([marker], 0)
                if all_sent.parties > 1:
                    # What a record is refused for shows now, when nothing of the epoch is visible yet.
                    sender.flush()
                    all_sent.wait()
                what = f"the commit of epoch {context.epoch}"
                waited(sender.commit, timeout, what, self._target.place, self._cancellation)
        except Exception as error:
            # What could not be delivered says more than that the transaction has failed of it.
            with suppress(Exception):  # A producer that was fenced raises that again.
                sender.producer.poll(0)
            try:
                if not isinstance(error, ProducerFencedError):
                    sender.check()
                elif time.monotonic() - began >= timeout:
                    raise self._too_slow(context) from error
            finally:
                # Left open, it would keep readers of its topics waiting until its time is up.
                is_hurried = self._cancellation.is_cancelled
                with suppress(Exception):
                    sender.producer.abort_transaction(
                        _CANCELLED_ABORT_SECONDS if is_hurried else _ABORT_SECONDS
                    )
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
        for name, count, subtask, _ in committables:
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
        self._after = uncommitted.after
        # What is wrong with Kafka is told when the committer is opened, which may come later.
        sent = None
        try:
            found = self._topic.read(waits=False)
            sent = found.last(uncommitted.lineage, uncommitted.sink_id)
        except SinkNotReachableError:
            raise
        except SinkError:
            pass
        if sent is not None and sent > uncommitted.after:
            raise LostEpochError.after(
                uncommitted.after,
                sent,
                self._target.place,
                f"the topic {self._topic.name} of its sink says",
            )

    def cancel(self) -> None:
        """Wait for Kafka no longer: what is not sent is when the job starts again."""
        self._cancellation.cancel()

    def close(self) -> None:
        """Give up what is not sent, forget what was, and end the clients."""
        self._close_senders()
        self._topic.close()

    def _close_senders(self) -> None:
        senders, self._senders, self._sent, self._noted = self._senders, {}, {}, ""
        for sender in senders.values():
            sender.close()
