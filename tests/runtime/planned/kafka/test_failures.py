from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from penstock.errors import (
    KafkaAccessError,
    KafkaNotReachableError,
    KafkaTopicNotFoundError,
    SourceNotReadableError,
)
from penstock.runtime.planned.kafka.failures import failure


@pytest.mark.parametrize(
    ("code", "found"),
    [
        (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaTopicNotFoundError),
        (KafkaError.UNKNOWN_TOPIC_ID, KafkaTopicNotFoundError),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaAccessError),
        (KafkaError._AUTHENTICATION, KafkaAccessError),
        (KafkaError._TRANSPORT, KafkaNotReachableError),
        (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaNotReachableError),
        (KafkaError.UNKNOWN_LEADER_EPOCH, KafkaNotReachableError),
        (KafkaError.UNSUPPORTED_VERSION, SourceNotReadableError),
    ],
)
def test_errors_are_told_apart_by_what_can_be_done(
    code: int, found: type[SourceNotReadableError]
) -> None:
    failed = failure(KafkaError(code), "topic t", "a:1")

    assert type(failed) is found
    assert "a:1" in failed.message
    assert "topic t" in failed.message


def test_a_refusal_that_was_noticed_before_explains_that_nobody_answers() -> None:
    silence, refusal = KafkaError(KafkaError._TIMED_OUT), KafkaError(KafkaError._AUTHENTICATION)

    assert isinstance(failure(silence, "topic t", "a:1", refusal), KafkaAccessError)
    other = KafkaError(KafkaError._TRANSPORT, "connection refused")
    found = failure(silence, "topic t", "a:1", other)
    assert isinstance(found, KafkaNotReachableError)
    assert "connection refused" in found.message


def test_what_the_client_says_ends_with_one_full_stop_only() -> None:
    for code in (KafkaError._TRANSPORT, KafkaError.UNKNOWN_TOPIC_ID, KafkaError._AUTHENTICATION):
        said = KafkaError(code, "It is so.")
        assert ".." not in failure(said, "topic t", "a:1", said).message
