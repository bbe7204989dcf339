from __future__ import annotations

import pickle
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
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
from penstock.datastream.connectors.kafka.epochs_topic import Epochs, EpochsTopic, owner
from penstock.datastream.connectors.kafka.staged_records import staged
from penstock.datastream.connectors.kafka.target import KafkaTarget
from penstock.datastream.connectors.kafka.writers import SendingWriter, StagedRecords, StagingWriter
from penstock.errors import (
    EpochsTopicLostError,
    LostOutputError,
    SinkRowError,
    SinkTopicError,
    TypeMismatchError,
)
from penstock.runtime.sinks import CommitContext
from penstock.runtime.timestamp import MAX_TIMESTAMP


class Same(KafkaRecordSerializationSchema):
    """Makes nothing of Kafka's records."""

    def record(self, element: KafkaRecord | None, timestamp: int | None) -> KafkaRecord | None:
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
    st.tuples(st.text(max_size=4), st.none() | st.integers(-1, 2) | st.just(MAX_TIMESTAMP)),
    min_size=1,
    max_size=5,
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
    return KafkaTarget({"message.max.bytes": 100}, schema, transactional_id_prefix="job")


def staged_by(target: KafkaTarget) -> tuple[StagingWriter, Staging]:
    staging = Staging()
    return StagingWriter(target, staging), staging  # type: ignore[arg-type]


def sent_of(writer: StagingWriter, staging: Staging, room: int = 0) -> list[tuple[Any, ...]]:
    """Return what the committer sends, the epoch's number left out."""
    producer = FakeProducer(room)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NEW_CLIENT, lambda *_: producer)
        patch.setattr(EpochsTopic, "read", lambda *_, **__: Epochs("", {}))
        context = CommitContext("Sink", "id", 7, "l", storage=staging)  # type: ignore[arg-type]
        RecordsCommitter(target_of(Same())).commit(writer.prepare_commit(), context)
    *records, marker = producer.sent
    assert marker[:3] == ("penstock-epochs-job", b"7", b"l/id")
    return records


@given(st.lists(st.none() | RECORDS, min_size=1, max_size=8), st.integers(0, 3))
def test_what_is_sent_is_what_was_written(records: list[KafkaRecord | None], room: int) -> None:
    expected = [as_sent(record) for record in records if record is not None]
    writer, staging = staged_by(target_of(Same()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("penstock.datastream.connectors.kafka.writers._RECORDS_PER_FILE", 3)
        for record in records:
            writer.write(record, None)
            if record is not None and isinstance(record.headers, list):
                record.headers.clear()
    assert sent_of(writer, staging, room) == expected


def as_sent(record: KafkaRecord) -> tuple[Any, ...]:
    topic, value, key, timestamp, partition, headers = record
    place = -1 if partition is None else partition
    time_of = 0 if timestamp in {None, MAX_TIMESTAMP} else timestamp or 1
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
        records = [schema.record(*one) for one in block]
        expected += [as_sent(record) for record in records if record is not None]
    assert sent_of(writer, staging) == expected


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (5, TypeMismatchError),
        ("\ud800", TypeMismatchError),
        ("b" * 65, SinkRowError),
    ],
)
def test_of_a_block_with_a_wrong_record_nothing_is_taken(wrong: Any, why: type[Exception]) -> None:
    writer, staging = staged_by(target_of(words()))
    assert not writer.write_block(["fits", wrong], None)
    writer.write("fits", None)
    with pytest.raises(why):
        writer.write(wrong, None)
    assert [one[1] for one in sent_of(writer, staging)] == [b"fits"]


def test_a_record_from_the_end_of_time_is_sent_without_a_timestamp() -> None:
    at_the_end = KafkaRecord("words", b"a", timestamp=MAX_TIMESTAMP)
    for schema, value in ((Same(), at_the_end), (words(), "a")):
        writer, staging = staged_by(target_of(schema))
        writer.write(value, MAX_TIMESTAMP)
        assert [(one[1], one[3]) for one in sent_of(writer, staging)] == [(b"a", 0)]


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


def test_what_is_let_through_is_what_the_client_takes() -> None:
    client = Producer(
        {"bootstrap.servers": "127.0.0.1:1", "message.max.bytes": 1000, "log_level": 0}
    )
    target = KafkaTarget({"message.max.bytes": 1000}, Same())
    headers: list[list[Any]] = [[], [("h", None)] * 3, [("ü" * 40, b"v" * 70)], [("", b"v" * 300)]]

    def is_taken(size: int, key: bytes | None, pairs: list[Any]) -> bool:
        try:
            client.produce("t", b"v" * size, key, headers=pairs)
        except KafkaException:
            return False
        return True

    for key, pairs in product((None, b"key"), headers):
        writer, _ = staged_by(target)
        most = max(size for size in range(500, 1000) if is_taken(size, key, pairs))
        writer.write(KafkaRecord("t", b"v" * most, key, headers=pairs), None)
        with pytest.raises(SinkRowError):
            writer.write(KafkaRecord("t", b"v" * (most + 1), key, headers=pairs), None)
    client.purge()


def test_a_record_that_no_queue_has_room_for_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Small(FakeProducer):
        def produce(self, topic: str, value: bytes | None, *others: Any) -> None:
            if len(value or b"") > 3:
                raise BufferError
            super().produce(topic, value, *others)

    monkeypatch.setattr(NEW_CLIENT, lambda *_: Small(room=1))
    writer = SendingWriter(target_of(words()), Staging())  # type: ignore[arg-type]
    for word in ("a", "b"):
        writer.write(word, None)
    with pytest.raises(SinkRowError, match=r"'large' cannot be sent .* larger than the producer's"):
        writer.write("large", None)


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
    monkeypatch.setattr(EpochsTopic, "read", lambda *_, **__: Epochs("", {}))
    context = CommitContext("Sink", "id", 7, "l", storage=staging)  # type: ignore[arg-type]
    with pytest.raises(SinkTopicError, match="cannot be written to"):
        RecordsCommitter(target_of(words())).commit(writer.prepare_commit(), context)


def test_records_are_staged_for_the_share_of_their_subtask() -> None:
    target = replace(target_of(words()), transactions_per_epoch=3)
    for subtask, share in [(0, 0), (2, 2), (4, 1)]:
        staging = Staging()
        staging.runtime.subtask = subtask
        writer = StagingWriter(target, staging)  # type: ignore[arg-type]
        writer.write("a", None)
        assert writer.prepare_commit() == [StagedRecords("0", 1, subtask, share)]


def test_what_earlier_versions_have_staged_is_of_the_first_share() -> None:
    staged = b"cpenstock.datastream.connectors.kafka.writers\nStagedRecords\n(Va\nI5\nI1\nt\x81."
    assert pickle.loads(staged) == StagedRecords("a", 5, 1, share=0)


# The shares' numbers of records, the shares that were sent before, and the one that fails, if any does.
SENDINGS = st.tuples(
    st.lists(st.integers(0, 3), min_size=1, max_size=4),
    st.sets(st.integers(0, 3)),
    st.none() | st.integers(0, 3),
)


@given(SENDINGS)
def test_each_share_is_sent_once_or_none_that_is_left(
    sending: tuple[list[int], set[int], int | None],
) -> None:
    counts, sent_before, failing = sending
    staging = Staging()
    producers: dict[str, FakeProducer] = {}
    staged_records = [
        StagedRecords(
            staging.stage(staged([KafkaRecord("t", b"%d" % share)] * count)), count, 0, share
        )
        for share, count in enumerate(counts)
        if count
    ]

    def new_client(kind: str, settings: Any) -> FakeProducer:
        return producers.setdefault(settings["transactional.id"], FakeProducer())

    due = {0, *(one.share for one in staged_records)} - sent_before
    lost = [one._replace(name="lost") if one.share == failing else one for one in staged_records]
    fails = failing in due and lost != staged_records
    sent = {owner("l", "id", share): 7 for share in sent_before}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NEW_CLIENT, new_client)
        patch.setattr(EpochsTopic, "read", lambda *_, **__: Epochs("", sent))
        context = CommitContext("Sink", "id", 7, "l", storage=staging)  # type: ignore[arg-type]
        committer = RecordsCommitter(target_of(Same()))
        with pytest.raises(LostOutputError) if fails else nullcontext():
            committer.commit(lost, context)
    committed = Counter(one[1] for producer in producers.values() for one in producer.committed)
    expected = {b"%d" % one.share: one.records for one in staged_records if one.share in due}
    markers = {b"7": len(due)} if due else {}
    assert committed == ({} if fails else expected | markers)


def test_each_share_has_to_be_known_to_a_topic_that_is_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Noted(Staging):
        def read(self, name: str) -> bytes:
            return b"l/id earlier" if name == "sinks/id" else super().read(name)

    sent = {"l/id": 7, "l/id/2": 7, "other/id/5": 3, "l/other/6": 3}
    producers = []

    def new_client(kind: str, settings: Any) -> FakeProducer:
        producers.append(settings["transactional.id"])
        return FakeProducer()

    monkeypatch.setattr(NEW_CLIENT, new_client)
    monkeypatch.setattr(EpochsTopic, "read", lambda *_, **__: Epochs("later", sent))
    committer = RecordsCommitter(replace(target_of(Same()), transactions_per_epoch=2))
    staged_records = [StagedRecords("lost", 1, share, share) for share in range(3)]
    context = CommitContext("Sink", "id", 7, "l", storage=Noted())  # type: ignore[arg-type]
    with pytest.raises(EpochsTopicLostError, match="with the key l/id/1 and the value 7"):
        committer.commit(staged_records, context)
    sent["l/id/1"] = 7
    committer.commit(staged_records, context)

    assert sorted(producers[:4]) == ["job-id", "job-id-1", "job-id-2", "job-id-5"]
