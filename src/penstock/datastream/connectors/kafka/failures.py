"""What an error of Kafka's client means for a sink."""

from __future__ import annotations

from typing import Any, Final

from penstock.datastream.connectors.kafka.record_serialization import KafkaRecord
from penstock.datastream.connectors.kafka.target import KafkaTarget
from penstock.errors import (
    ProducerFencedError,
    SinkError,
    SinkNotReachableError,
    SinkNotWritableError,
    SinkRowError,
    SinkTopicError,
)
from penstock.runtime.planned.kafka.client import is_away
from penstock.runtime.user_code import record_text

_FENCED: Final = frozenset({"_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"})
_TOO_LARGE: Final = frozenset({"MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"})
_ABOUT_TOPIC: Final = frozenset(
    {
        "UNKNOWN_TOPIC_OR_PART",
        "_UNKNOWN_TOPIC",
        "_UNKNOWN_PARTITION",
        "TOPIC_AUTHORIZATION_FAILED",
        "TOPIC_EXCEPTION",
    }
)


def failure(error: Any, target: KafkaTarget, record: KafkaRecord | None = None) -> SinkError:
    """Return the error that says what a Kafka did not take.

    Args:
        error: The client's.
        target: Where something was sent.
        record: What was sent; None if it was not about one.
    """
    code, why = error.name(), error.str()
    what = "what the sink sends" if record is None else _text(record)
    if code in _FENCED:
        return ProducerFencedError(
            f"Another producer has taken over the transactional id that begins with "
            f"{target.transactional_id_prefix!r} in {target.place}: {why}",
            hint="Nothing is lost. Does the job run twice, or another one with the same prefix? Give each job "
            "a prefix of its own (a FlinkKafkaProducer: the property transactional.id), and let it run once.",
        )
    if code in _TOO_LARGE:
        return SinkRowError(
            f"{target.place} does not take {what}, which is too large: {why}",
            hint="Set max.message.bytes of the topic, and max.request.size of the sink, to a larger value, or "
            "batch.size of the sink to a smaller one; with exactly once the job then goes on when it is started "
            "again.",
        )
    if code in _ABOUT_TOPIC:
        which = "A topic of the sink" if record is None else f"The topic {record.topic!r}"
        if record is None and target.is_exactly_once:
            which += f", or that of its epochs, {target.topic_of_epochs!r},"
        return SinkTopicError(
            f"{which} cannot be written to in {target.place}: {why}",
            hint="Create the topic, with as many partitions as the sink's partitioner chooses of, or grant the sink's "
            "user the operations Write and Describe on it.",
        )
    if record is None and is_away(error):
        return SinkNotReachableError(
            f"{target.place} does not answer: {why}",
            hint="Nothing is lost: an epoch that is not there is sent when the job is started again. See that the "
            "brokers run and have the replicas in sync that min.insync.replicas asks for, that bootstrap.servers and "
            "the names they advertise lead there from the driver and from the workers, and that security.protocol is "
            "theirs. max.block.ms, and delivery.timeout.ms for what is being sent, say how long an answer is waited "
            "for.",
        )
    refused = "refuses the sink" if record is None else f"did not take {what}"
    return SinkNotWritableError(f"{target.place} {refused}: {why}", hint=_hint(code, target))


def no_room(target: KafkaTarget, record: KafkaRecord) -> SinkError:
    """Return the error that says that a record does not fit into a producer's queue, though nothing else is in it."""
    return SinkRowError(
        f"{_text(record)} cannot be sent to {target.place}: it is larger than the producer's queue.",
        hint="Set buffer.memory of the sink, or queue.buffering.max.kbytes, to a larger value; with exactly once the "
        "job then goes on when it is started again.",
    )


def missing(topic: str, target: KafkaTarget) -> SinkError:
    """Return the error that says that a topic is not there to which something was to be sent."""
    about, hint = "", "Create it, or grant the sink's user the operations Write and Describe on it."
    if topic == target.topic_of_epochs:
        about = ", in which the sink remembers the epochs that it has sent"
        hint = "Start the job again: it makes it."
    return SinkTopicError(
        f"{target.place} has no topic {topic!r}{about}, or none that the sink's user may see.",
        hint=f"Was it deleted? {hint}",
    )


def _hint(code: str, target: KafkaTarget) -> str:
    if code == "INVALID_RECORD":
        return (
            "A compacted topic (cleanup.policy=compact) takes no record without a key: set a key's schema, or another "
            "cleanup.policy, and start the job again."
        )
    if code == "INVALID_TIMESTAMP":
        return (
            "It, or another record that was sent with it, has a timestamp that is further from the broker's clock than "
            "message.timestamp.before.max.ms or message.timestamp.after.max.ms of the topic lets it be. Set these, or "
            "message.timestamp.type=LogAppendTime, and start the job again."
        )
    if code == "INVALID_TRANSACTION_TIMEOUT":
        return "Set transaction.timeout.ms of the sink to at most transaction.max.timeout.ms of the brokers."
    if code == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED":
        return (
            "Grant the sink's user the operations Write and Describe on transactional ids that begin with "
            f"{target.transactional_id_prefix!r}."
        )
    again = (
        "What is not visible is sent when the job is started again."
        if target.is_exactly_once
        else "What was sent before is there, and comes once more when the epoch is run again."
    )
    if code == "_MSG_TIMED_OUT":
        return (
            f"{again} See that the brokers run and have the replicas in sync that min.insync.replicas asks for. "
            "delivery.timeout.ms says how long it is tried; of a transaction it is transaction.timeout.ms."
        )
    return f"{again} See that the brokers can be reached, and that the sink's user may write."


def _text(record: KafkaRecord) -> str:
    size = len(record.value or b"") + len(record.key or b"")
    shown = record_text(record.value if record.key is None else (record.key, record.value))
    return f"a record of {size} bytes for the topic {record.topic!r}, {shown}"
