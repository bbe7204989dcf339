"""What an error of Kafka's client means for who reads."""

from __future__ import annotations

from typing import Any, Final

from penstock.errors import (
    KafkaAccessError,
    KafkaNotReachableError,
    KafkaTopicNotFoundError,
    SourceNotReadableError,
)
from penstock.runtime.planned.kafka.client import is_away

_UNKNOWN: Final = frozenset(
    ["UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"]
)
_REFUSED: Final = frozenset(
    [
        "_AUTHENTICATION",
        "CLUSTER_AUTHORIZATION_FAILED",
        "GROUP_AUTHORIZATION_FAILED",
        "ILLEGAL_SASL_STATE",
        "SASL_AUTHENTICATION_FAILED",
        "TOPIC_AUTHORIZATION_FAILED",
        "UNSUPPORTED_SASL_MECHANISM",
    ]
)
_PASSING: Final = frozenset(
    [
        "_DESTROY_BROKER",
        "_NOENT",
        "_RETRY",
        "_SSL",
        "_TIMED_OUT_QUEUE",
        "_WAIT_CACHE",
        "BROKER_NOT_AVAILABLE",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "ELIGIBLE_LEADERS_NOT_AVAILABLE",
        "FENCED_LEADER_EPOCH",
        "KAFKA_STORAGE_ERROR",
        "LEADER_NOT_AVAILABLE",
        "LISTENER_NOT_FOUND",
        "NETWORK_EXCEPTION",
        "NOT_CONTROLLER",
        "NOT_COORDINATOR",
        "NOT_LEADER_FOR_PARTITION",
        "OFFSET_NOT_AVAILABLE",
        "PREFERRED_LEADER_NOT_AVAILABLE",
        "REBOOTSTRAP_REQUIRED",
        "REPLICA_NOT_AVAILABLE",
        "REQUEST_TIMED_OUT",
        "THROTTLING_QUOTA_EXCEEDED",
        "UNKNOWN_LEADER_EPOCH",
        "UNSTABLE_OFFSET_COMMIT",
    ]
)
"""What else passes, when brokers come up or leaders have moved. The client says of no such error that it does."""


def is_refusal(error: Any) -> bool:
    """Return whether an error of the client says that the user is not let in, or may not do it."""
    return error.name() in _REFUSED


def is_passing(error: Any) -> bool:
    """Return whether an error of the client is one that passes, as nobody answers just now."""
    return is_away(error) or error.name() in _PASSING


def failure(error: Any, about: str, servers: object, trouble: Any = None) -> SourceNotReadableError:
    """Return the error that says what a Kafka refused.

    Args:
        error: The client's.
        about: What it was asked for.
        servers: Where it is.
        trouble: An error that the client has noticed before, such as why there is no connection; None for none.
    """
    if trouble is not None and is_refusal(trouble):
        error = trouble
    name, said = error.name(), error.str().rstrip(".")
    if name in _UNKNOWN:
        return KafkaTopicNotFoundError(
            f"Kafka at {servers} has no {about} any more: {said}.",
            hint="Was the topic deleted? Make it, or take it out of the source. What was not read of it is lost.",
        )
    if name in _REFUSED:
        return KafkaAccessError(
            f"Kafka at {servers} does not let the job have {about}: {said}.",
            hint="Check security.protocol, sasl.mechanism, user and password. With ACLs the user needs Describe and "
            "Read on the topics, and with set_group_id() Read on the group.",
        )
    if is_passing(error):
        more = "" if trouble is None else f" Before that: {trouble.str().rstrip('.')}."
        return KafkaNotReachableError(
            f"Kafka at {servers} does not answer about {about}: {said}.{more}",
            hint="See that the brokers run, that bootstrap.servers and the names they advertise lead there from the "
            "driver and from the workers, and that security.protocol is theirs.",
        )
    return SourceNotReadableError(
        f"Kafka at {servers} refuses {about}: {said} ({name}).",
        hint="What the error means is said at https://kafka.apache.org/protocol#protocol_error_codes; is the broker "
        "older than Kafka 2.1?",
    )
