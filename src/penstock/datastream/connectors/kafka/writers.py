"""The tasks' side of a sink for Kafka: stages an epoch's records, or sends them while it runs."""

from __future__ import annotations

import pickle
from typing import Any, Final, NamedTuple

from penstock.datastream.connectors.kafka.record_serialization import KafkaRecord
from penstock.datastream.connectors.kafka.sender import Sender
from penstock.datastream.connectors.kafka.target import KafkaTarget
from penstock.errors import SinkRowError
from penstock.runtime.sinks import SinkWriter, WriterContext
from penstock.runtime.user_code import record_text

_RECORDS_PER_FILE: Final = 1 << 16
_BYTES_PER_FILE: Final = 1 << 25


class StagedRecords(NamedTuple):
    """Records that a writer has staged.

    Attributes:
        name: Where they are.
        records: How many they are.
        subtask: Whose they are.
    """

    name: str
    records: int
    subtask: int


class _RecordsWriter(SinkWriter):
    def __init__(self, target: KafkaTarget, context: WriterContext) -> None:
        self._target = target
        self._context = context
        self._record = target.serializer.record
        self._largest = target.largest_record
        self._subtask = context.runtime.subtask

    def _checked(self, value: Any, record: KafkaRecord) -> int:
        """Return the size of a record that Kafka may take."""
        topic, content, key = record[:3]
        if not isinstance(topic, str) or not topic:
            raise self._refused(
                value, f"its topic would be {topic!r}", "Let the selector return a name."
            )
        try:
            size = len(content or b"") + len(key or b"")
            for name, header in record.headers:
                size += len(name) + len(header or b"")
            timestamp = record.timestamp or 0
            is_right = isinstance(content, bytes | None) and isinstance(key, bytes | None)
        except TypeError:
            is_right = False
        if not is_right or not isinstance(timestamp, int):
            hint = "Let the schemas return bytes, and headers be names with bytes."
            raise self._refused(value, f"it would be {record_text(tuple(record))}", hint)
        if size > self._largest:
            hint = (
                "Set max.request.size of the sink, and max.message.bytes of the topic, to a larger value, or "
                "leave such records out."
            )
            raise self._refused(value, f"it has {size} bytes, of at most {self._largest}", hint)
        return size

    def _refused(self, value: Any, why: str, hint: str) -> SinkRowError:
        text = record_text(value)
        return SinkRowError(f"{self._context.name!r} cannot send {text}: {why}.", hint=hint)


class StagingWriter(_RecordsWriter):
    """Keeps the records of one subtask beside the job's checkpoints.

    Args:
        target: What they are for.
        context: Takes what is staged.
    """

    def __init__(self, target: KafkaTarget, context: WriterContext) -> None:
        super().__init__(target, context)
        self._records: list[tuple[Any, ...]] = []
        self._size = 0
        self._staged: list[StagedRecords] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        """Take a record."""
        record = self._record(value, timestamp)
        self._size += self._checked(value, record)
        self._records.append(tuple(record))
        if len(self._records) >= _RECORDS_PER_FILE or self._size >= _BYTES_PER_FILE:
            self._stage()

    def _stage(self) -> None:
        records, self._records, self._size = self._records, [], 0
        name = self._context.stage(pickle.dumps(records, pickle.HIGHEST_PROTOCOL))
        self._staged.append(StagedRecords(name, len(records), self._subtask))

    def prepare_commit(self) -> list[StagedRecords]:
        """Stage what is left."""
        if self._records:
            self._stage()
        staged, self._staged = self._staged, []
        return staged


class SendingWriter(_RecordsWriter):
    """Sends the records of one subtask while an epoch runs.

    Args:
        target: Where to.
        context: Tells the subtask.
    """

    def __init__(self, target: KafkaTarget, context: WriterContext) -> None:
        super().__init__(target, context)
        self._sender = Sender(target)

    def write(self, value: Any, timestamp: int | None) -> None:
        """Send a record."""
        record = self._record(value, timestamp)
        self._checked(value, record)
        self._sender.send(record, self._subtask)

    def prepare_commit(self) -> list[Any]:
        """Wait until Kafka has all of them: then the epoch may be committed."""
        self._sender.flush()
        return []

    def close(self) -> None:
        """Give up what is not sent."""
        self._sender.close()
