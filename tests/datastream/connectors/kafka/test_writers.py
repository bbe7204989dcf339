from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from hypothesis import given
from hypothesis import strategies as st
from tests.datastream.connectors.kafka.fake_producer import FakeProducer
from tests.datastream.connectors.kafka.test_staged_records import RECORDS

from penstock.common import SerializationSchema, SimpleStringSchema
from penstock.datastream.connectors.kafka import (
    KafkaRecord,
    KafkaRecordSerializationSchema,
)
from penstock.datastream.connectors.kafka.committer import RecordsCommitter
from penstock.datastream.connectors.kafka.epochs_topic import Epochs, EpochsTopic
from penstock.datastream.connectors.kafka.target import KafkaTarget
from penstock.datastream.connectors.kafka.writers import SendingWriter, StagingWriter
from penstock.errors import SinkRowError, SinkTopicError, TypeMismatchError
from penstock.runtime.sinks import CommitContext


class Same(KafkaRecordSerializationSchema):
    """Makes nothing of Kafka's records."""

    def record(self, element: KafkaRecord, timestamp: int | None) -> KafkaRecord:
        return element


class Staging:
    """Where writers stage, and the committer reads."""

    name = "Sink"

    def __init__(self) -> None:
        self.files: list[bytes] = []
        self.runtime = SimpleNamespace(subtask=0)

    def stage(self, data: bytes) -> str:
        self.files.append(data)
        return str(len(self.files) - 1)

    def read(self, name: str) -> bytes:
        if not name.isdecimal():
            raise FileNotFoundError
        return self.files[int(name)]

    def write(self, name: str, chunks: list[bytes]) -> None:
        assert name == "sinks/id", "the committer notes nothing else"

    def url(self, name: str) -> str:
        return name


class Decimal(SerializationSchema):
    def serialize(self, element: Any) -> bytes:
        return b"%d" % element


BLOCKS = st.lists(
    st.tuples(st.text(max_size=4), st.none() | st.integers(-1, 2)), min_size=1, max_size=5
)
NEW_CLIENT = "penstock.datastream.connectors.kafka.sender.new_client"


def words(
    key: SerializationSchema | None = None, *, headers: bool = False
) -> KafkaRecordSerializationSchema:
    builder = KafkaRecordSerializationSchema.builder().set_topic("words")
    builder.set_value_serialization_schema(SimpleStringSchema())
    if key is not None:
        builder.set_key_serialization_schema(key)
    if headers:
        builder.set_header_provider(lambda text: {})
    return builder.build()


def target_of(schema: KafkaRecordSerializationSchema) -> KafkaTarget:
    return KafkaTarget({"message.max.bytes": 50}, schema, transactional_id_prefix="job")


def staged_by(target: KafkaTarget) -> tuple[StagingWriter, Staging]:
    staging = Staging()
    return StagingWriter(target, staging), staging  # type: ignore[arg-type]


def sent_of(writer: StagingWriter, staging: Staging, room: int = 0) -> list[tuple[Any, ...]]:
    """Return what the committer sends, the epoch's number left out."""
    producer = FakeProducer(room)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NEW_CLIENT, lambda *_: producer)
        patch.setattr(EpochsTopic, "read", lambda self: Epochs("", {}))
        context = CommitContext("Sink", "id", 7, "l", storage=staging)  # type: ignore[arg-type]
        RecordsCommitter(target_of(Same())).commit(writer.prepare_commit(), context)
    *records, marker = producer.sent
    assert marker[:3] == ("penstock-epochs-job", b"7", b"l/id")
    return records


@given(st.lists(RECORDS, min_size=1, max_size=8), st.integers(0, 3))
def test_what_is_sent_is_what_was_written(records: list[KafkaRecord], room: int) -> None:
    expected = [as_sent(record) for record in records]
    writer, staging = staged_by(target_of(Same()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("penstock.datastream.connectors.kafka.writers._RECORDS_PER_FILE", 3)
        for record in records:
            writer.write(record, None)
            if isinstance(record.headers, list):
                record.headers.clear()
    assert sent_of(writer, staging, room) == expected


def as_sent(record: KafkaRecord) -> tuple[Any, ...]:
    topic, value, key, timestamp, partition, headers = record
    place = -1 if partition is None else partition
    time_of = 0 if timestamp is None else timestamp or 1
    return topic, value, key, time_of, place, list(headers) or None


@given(st.lists(BLOCKS, min_size=1, max_size=3), st.booleans())
def test_blocks_are_written_as_their_records_are(
    blocks: list[list[tuple[str, int | None]]], has_keys: bool
) -> None:
    schema = words(SimpleStringSchema("utf-16")) if has_keys else words()
    writer, staging = staged_by(target_of(schema))
    expected = []
    for block in blocks:
        texts, timestamps = zip(*block, strict=True)
        has_times = any(timestamp is not None for timestamp in timestamps)
        assert writer.write_block(texts, timestamps if has_times else None)
        expected += [as_sent(schema.record(*one)) for one in block]
    assert sent_of(writer, staging) == expected


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (5, TypeMismatchError),
        ("\ud800", TypeMismatchError),
        ("b" * 51, SinkRowError),
    ],
)
def test_of_a_block_with_a_wrong_record_nothing_is_taken(wrong: Any, why: type[Exception]) -> None:
    writer, staging = staged_by(target_of(words()))
    assert not writer.write_block(["fits", wrong], None)
    writer.write("fits", None)
    with pytest.raises(why):
        writer.write(wrong, None)
    assert [one[1] for one in sent_of(writer, staging)] == [b"fits"]


def test_what_users_have_written_is_called_for_each_record() -> None:
    for schema in (Same(), words(Decimal()), words(headers=True)):
        writer, _ = staged_by(target_of(schema))
        assert not writer.write_block(["a"], None)


def test_blocks_are_sent_while_the_epoch_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    producer = FakeProducer()
    monkeypatch.setattr(NEW_CLIENT, lambda *_: producer)
    writer = SendingWriter(target_of(words()), Staging())  # type: ignore[arg-type]
    assert writer.write_block(["a", "b"], [1, 2])
    writer.write("c", 3)
    writer.prepare_commit()
    assert [(one[1], one[3]) for one in producer.sent] == [(b"a", 1), (b"b", 2), (b"c", 3)]


def test_why_a_transaction_fails_is_told_and_not_that_its_records_are_taken_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Failing(FakeProducer):
        def __init__(self, kind: str, settings: dict[str, Any]) -> None:
            super().__init__()
            self._tell = settings["on_delivery"]

        def commit_transaction(self, timeout: float) -> None:
            for record in self._waiting:
                topic, value, key = (lambda part=part: part for part in record[:3])
                message = SimpleNamespace(topic=topic, value=value, key=key)
                self._tell(KafkaError(KafkaError._PURGE_QUEUE), message)
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))

    writer, staging = staged_by(target_of(words()))
    writer.write("a", None)
    monkeypatch.setattr(NEW_CLIENT, Failing)
    monkeypatch.setattr(EpochsTopic, "read", lambda self: Epochs("", {}))
    context = CommitContext("Sink", "id", 7, "l", storage=staging)  # type: ignore[arg-type]
    with pytest.raises(SinkTopicError, match="cannot be written to"):
        RecordsCommitter(target_of(words())).commit(writer.prepare_commit(), context)
