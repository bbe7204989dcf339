"""The tasks' side of a sink for Kafka: stages an epoch's records, or sends them while it runs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import add
from typing import Any, Final, NamedTuple

from penstock.datastream.connectors.kafka.record_serialization import (
    KafkaRecord,
    RecordColumns,
    SerializesColumns,
    is_topic,
)
from penstock.datastream.connectors.kafka.sender import Sender
from penstock.datastream.connectors.kafka.staged_records import Fields, staged
from penstock.datastream.connectors.kafka.target import KafkaTarget
from penstock.errors import SinkRowError
from penstock.runtime.planned.kafka.cancellation import Cancellation
from penstock.runtime.sinks import SinkWriter, WriterContext
from penstock.runtime.timestamp import MAX_TIMESTAMP
from penstock.runtime.user_code import record_text

_RECORDS_PER_FILE: Final = 1 << 16
_BYTES_PER_FILE: Final = 1 << 25
_PARTITIONS: Final = 1 << 31
_TIMESTAMPS: Final = 1 << 63
_BYTES_OR_NONE: Final = (bytes, type(None))


class StagedRecords(NamedTuple):
    """Records that a writer has staged.

    Attributes:
        name: Where they are.
        records: How many they are.
        subtask: Whose they are.
        share: Which of an epoch's transactions is to send them, from 0; earlier versions had but one.
    """

    name: str
    records: int
    subtask: int
    share: int = 0


class _RecordsWriter(SinkWriter):
    def __init__(self, target: KafkaTarget, context: WriterContext) -> None:
        self._context = context
        self._serializer = target.serializer
        self._largest = target.largest_record
        self._subtask = context.runtime.subtask
        self._topics: set[str] = set()

    @abstractmethod
    def _take(self, records: Iterable[Fields], size: int) -> None:
        """Take records that Kafka may take, of so many bytes."""

    def write(self, value: Any, timestamp: int | None) -> None:
        """Take a record, unless its schema makes none of it."""
        record = self._serializer.record(value, timestamp)
        if record is not None:
            fields, size = self._checked(value, record)
            self._take([fields], size)

    def write_block(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> bool:
        """Take records that can be made at once; what is wrong with one of them, `write` says."""
        if not isinstance(self._serializer, SerializesColumns):
            return False
        try:
            columns = self._serializer.columns(values, timestamps)
        except Exception:  # noqa: BLE001 - it comes again, for the record that it is about
            return False
        size = None if columns is None else self._size_of(columns)
        if columns is None or size is None:
            return False
        topic, contents, keys, times = columns
        nothing = repeat(None)
        self._take(zip(repeat(topic), contents, keys or nothing, times, nothing, repeat(())), size)
        return True

    def _size_of(self, columns: RecordColumns) -> int | None:
        """Return the size of records, if Kafka may take each, and one file all."""
        keys = columns.keys or []
        if {*map(type, columns.values), *map(type, keys)} != {bytes}:
            return None
        sizes = list(map(len, columns.values))
        if keys:
            sizes = list(map(add, sizes, map(len, keys)))
        size = sum(sizes)
        return size if max(sizes) <= self._largest and size <= _BYTES_PER_FILE else None

    def _checked(self, value: Any, record: KafkaRecord) -> tuple[Fields, int]:
        """Return what Kafka may take of a record, and its size."""
        topic, content, key, timestamp, partition, headers = record
        if not isinstance(topic, str) or (topic not in self._topics and not is_topic(topic)):
            hint = "A topic's name has letters, digits, '.', '_' and '-', and at most 249 of them."
            raise self._refused(value, f"its topic would be {topic!r}", hint)
        self._topics.add(topic)
        if timestamp == MAX_TIMESTAMP:
            timestamp = None
        # Whoever made the headers may change them later.
        kept = [found for one in headers if (found := _header(one))] if headers else []
        if (
            len(kept) < len(headers)
            or not isinstance(content, _BYTES_OR_NONE)
            or not isinstance(key, _BYTES_OR_NONE)
            or not _is_number(timestamp, _TIMESTAMPS)
            or not _is_number(partition, _PARTITIONS)
        ):
            hint = (
                "Let key and value be bytes or None, as 'text'.encode() is, headers names with bytes, and timestamp "
                "and partition integers from 0 on."
            )
            raise self._refused(value, f"it would be {record_text(tuple(record))}", hint)
        size = len(content or b"") + len(key or b"")
        for name, header in kept:
            for length in (len(name.encode()), len(header or b"")):
                size += length + (length.bit_length() + 7) // 7  # which says it, 7 bits in a byte
        if size > self._largest:
            hint = (
                "Set max.request.size of the sink, and max.message.bytes of the topic, to a larger value, or "
                "leave such records out."
            )
            raise self._refused(value, f"it has {size} bytes, of at most {self._largest}", hint)
        return (topic, content, key, timestamp, partition, kept), size

    def _refused(self, value: Any, why: str, hint: str) -> SinkRowError:
        text = record_text(value)
        return SinkRowError(f"{self._context.name!r} cannot send {text}: {why}.", hint=hint)


def _header(header: Any) -> tuple[str, bytes | None] | None:
    """Return a header; None if Kafka does not take it."""
    try:
        name, content = header
        name.encode()
    except (TypeError, ValueError, AttributeError):
        return None
    return (name, content) if isinstance(content, _BYTES_OR_NONE) else None


def _is_number(number: Any, end: int) -> bool:
    return number is None or (isinstance(number, int) and 0 <= number < end)


class StagingWriter(_RecordsWriter):
    """Keeps the records of one subtask beside the job's checkpoints.

    Args:
        target: What they are for.
        context: Takes what is staged.
    """

    def __init__(self, target: KafkaTarget, context: WriterContext) -> None:
        super().__init__(target, context)
        self._records: list[Fields] = []
        self._size = 0
        self._staged: list[StagedRecords] = []
        self._share = self._subtask % target.transactions_per_epoch

    def _take(self, records: Iterable[Fields], size: int) -> None:
        self._records.extend(records)
        self._size += size
        if len(self._records) >= _RECORDS_PER_FILE or self._size >= _BYTES_PER_FILE:
            self._stage()

    def _stage(self) -> None:
        records, self._records, self._size = self._records, [], 0
        name = self._context.stage(staged(records))
        self._staged.append(StagedRecords(name, len(records), self._subtask, self._share))

    def prepare_commit(self) -> list[StagedRecords]:
        """Stage what is left."""
        if self._records:
            self._stage()
        found, self._staged = self._staged, []
        return found


class SendingWriter(_RecordsWriter):
    """Sends the records of one subtask while an epoch runs.

    Args:
        target: Where to.
        context: Tells the subtask.
    """

    def __init__(self, target: KafkaTarget, context: WriterContext) -> None:
        super().__init__(target, context)
        self._cancellation = Cancellation()
        self._sender = Sender(target, self._cancellation)

    def _take(self, records: Iterable[Fields], size: int) -> None:
        self._sender.send(records, self._subtask)

    def prepare_commit(self) -> list[Any]:
        """Wait until Kafka has all of them: then the epoch may be committed."""
        self._sender.flush()
        return []

    def interrupt(self) -> None:
        """Wait for Kafka no longer."""
        self._cancellation.cancel()

    def close(self) -> None:
        """Give up what is not sent."""
        self._sender.close()
