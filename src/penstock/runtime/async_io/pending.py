"""What is under way when an epoch ends, in the form in which the next one takes it up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from penstock.runtime.async_io.queue.entries import (
    EntryId,
    StatusQueueEntry,
    StreamElementQueueEntry,
    StreamRecordQueueEntry,
    WatermarkQueueEntry,
)
from penstock.runtime.exchange.buffer import not_serializable
from penstock.runtime.exchange.elements import Block, Watermark, WatermarkStatus
from penstock.runtime.job_pickle import dumps, loads


class PendingRecord(NamedTuple):
    """A record under way, as it came in."""

    entry_id: EntryId
    value: Any
    timestamp: int | None


Pending = list[PendingRecord | Watermark | WatermarkStatus]
"""Records and what stood between them, in order."""


def snapshot_of(entries: Iterable[StreamElementQueueEntry], operator: str) -> bytes | None:
    """Return the input that is under way; None if there is none.

    Args:
        entries: The entries of the queue.
        operator: The name of the operator, for messages.

    Raises:
        ValueNotSerializableError: If a record cannot be pickled.
    """
    pending: Pending = []
    for entry in entries:
        if isinstance(entry, StreamRecordQueueEntry):
            pending.append(PendingRecord(entry.entry_id, entry.value, entry.timestamp))
        elif isinstance(entry, WatermarkQueueEntry):
            pending.append(Watermark(entry.timestamp))
        elif isinstance(entry, StatusQueueEntry):
            pending.append(entry.status)
    if not pending:
        return None
    try:
        return dumps(pending)
    except Exception as error:
        values = [found.value for found in pending if isinstance(found, PendingRecord)]
        raise not_serializable(error, [Block(values)], operator) from error


def restored_entries(snapshot: bytes | None) -> Iterator[StreamElementQueueEntry]:
    """Yield new entries for what was under way."""
    pending: Pending = [] if snapshot is None else loads(snapshot)
    for found in pending:
        if isinstance(found, Watermark):
            yield WatermarkQueueEntry(found.timestamp)
        elif isinstance(found, WatermarkStatus):
            yield StatusQueueEntry(found)
        else:
            yield StreamRecordQueueEntry(found.value, found.timestamp, found.entry_id)


def dealt_out(
    parts: Sequence[tuple[bytes | None, int]],
    subtask: int,
    parallelism: int,
    subtask_of: Callable[[Any], int] | None,
) -> bytes | None:
    """Return what one subtask takes up of the input that was under way in others.

    The watermarks between the records are left out. In their place the least of those that the others had
    been given comes at the end, when all records are done that were before it.

    Args:
        parts: Of each subtask there was, its snapshot and its input watermark (milliseconds).
        subtask: The index of the new subtask.
        parallelism: How many there are now.
        subtask_of: Tells the subtask that a record belongs to; None to deal them out in turn.
    """
    pending: Pending = [
        found for snapshot, _ in parts if snapshot is not None for found in loads(snapshot)
    ]
    records = [found for found in pending if isinstance(found, PendingRecord)]
    own: Pending = [
        record
        for place, record in enumerate(records)
        if subtask == (place % parallelism if subtask_of is None else subtask_of(record.value))
    ]
    if any(isinstance(found, Watermark) for found in pending):
        own.append(Watermark(min(watermark for _, watermark in parts)))
    if any(isinstance(found, WatermarkStatus) for found in pending):
        # Whoever is taken to be active is waited for.
        own.append(WatermarkStatus.ACTIVE)
    return dumps(own) if own else None
