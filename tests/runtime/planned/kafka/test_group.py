from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException

from penstock.runtime.planned.kafka.group import ConsumerGroup
from penstock.runtime.planned.kafka.offsets import KafkaTopicPartition

A0, A1 = (KafkaTopicPartition("a", number) for number in range(2))
REFUSED = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
AWAY = KafkaError(KafkaError.NOT_COORDINATOR)
CANNOT = "the consumer group counts cannot be told how far it has read"


class Admin:
    """Says what it was asked to commit; a test answers."""

    def __init__(self) -> None:
        self.asked: list[dict[int, int]] = []
        self.answer: Future[Any] = Future()

    def alter_consumer_group_offsets(
        self, requests: list[ConsumerGroupTopicPartitions], request_timeout: float
    ) -> dict[str, Future[Any]]:
        (request,) = requests
        places = request.topic_partitions or []
        self.asked.append({one.partition: one.offset for one in places})
        self.answer = Future()
        return {request.group_id: self.answer}

    def list_consumer_group_offsets(
        self,
        requests: list[ConsumerGroupTopicPartitions],
        require_stable: bool,
        request_timeout: float,
    ) -> dict[str, Future[Any]]:
        assert require_stable
        return {"counts": self.answer}

    def answers(self, *errors: KafkaError | None) -> None:
        """Answer for each partition."""
        told = [
            SimpleNamespace(topic="a", partition=number, offset=-1001 if error else 7, error=error)
            for number, error in enumerate(errors)
        ]
        self.answer.set_result(SimpleNamespace(topic_partitions=told))


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.runtime.planned.kafka.group._RETRY_SECONDS", 0)


@pytest.fixture
def admin() -> Admin:
    return Admin()


@pytest.fixture
def group(admin: Admin) -> ConsumerGroup:
    return ConsumerGroup(lambda: admin, "counts", 1)


@pytest.mark.parametrize("is_one_partition", [False, True])
def test_what_the_group_did_not_take_is_sent_again_until_there_is_something_newer(
    group: ConsumerGroup, admin: Admin, is_one_partition: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        if is_one_partition:
            admin.answers(REFUSED, AWAY)
        else:
            admin.answer.set_exception(KafkaException(AWAY))

    group.commit({A0: 1})
    fail()
    group.look()
    assert admin.asked == [{0: 1}, {0: 1}]
    assert CANNOT not in caplog.text
    group.commit({A0: 2, A1: 5})
    assert len(admin.asked) == 2
    fail()
    group.look()
    assert admin.asked[2:] == [{0: 2, 1: 5}]
    assert caplog.text.count(CANNOT) == 1
    admin.answers(None, None)
    group.look()
    group.close()
    assert len(admin.asked) == 3


def test_what_the_group_refuses_is_told_once_and_not_sent_again(
    group: ConsumerGroup, admin: Admin, caplog: pytest.LogCaptureFixture
) -> None:
    for offset in (1, 2):
        group.commit({A0: offset})
        admin.answers(None, REFUSED)
        group.look()
    assert admin.asked == [{0: 1}, {0: 2}]
    assert caplog.text.count(CANNOT) == 1


def test_what_is_under_way_is_waited_for_at_the_end_but_not_for_ever(
    group: ConsumerGroup, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    group.commit({A0: 1})
    group.commit({A0: 2})
    admin.answers(None)
    monkeypatch.setattr("penstock.runtime.planned.kafka.group._LAST_COMMIT_SECONDS", 0.01)
    group.close()
    assert admin.asked == [{0: 1}, {0: 2}]


def test_an_offset_that_is_not_settled_is_not_taken_for_none(
    group: ConsumerGroup, admin: Admin
) -> None:
    admin.answers(None, KafkaError(KafkaError.UNSTABLE_OFFSET_COMMIT))
    with pytest.raises(KafkaException, match="UNSTABLE"):
        group.committed([A0, A1])
    admin.answer = Future()
    admin.answers(None)
    assert group.committed([A0]) == {A0: 7}
