"""Topics of Kafka that Spark's own connector reads, in the place of Python."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.common.configuration.configuration import Configuration
from penstock.common.configuration.options import KAFKA_READER
from penstock.errors import (
    KafkaClientNotFoundError,
    KafkaConnectorNotFoundError,
    KafkaPropertyError,
    PenstockError,
    UnsupportedOperationError,
)
from penstock.executors.spark.kafka.groups import ReadTopics, asking_properties
from penstock.executors.spark.kafka.package import connector_package
from penstock.runtime.planned.kafka.broker import KafkaBroker
from penstock.runtime.planned.kafka.client import (
    CONSUMER_DEFAULTS,
    connection_properties,
    new_client,
)
from penstock.runtime.planned.kafka.java_client import java_properties
from penstock.runtime.planned.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
    Offsets,
)
from penstock.runtime.planned.kafka.reading import Reading
from penstock.runtime.planned.kafka.row_messages import COLUMNS, HEADERS, SPLIT
from penstock.runtime.planned.kafka.source import KafkaRecords

_FORMAT: Final = "kafka"
_MISSING: Final = re.compile(r"DATA_SOURCE_NOT_FOUND|Failed to find (the )?data source")
_OF_LOGIN: Final = re.compile(r"sasl|ssl|jaas", re.IGNORECASE)
_MISTYPED: Final = re.compile(
    r'No such configuration property: "'
    r"(?!sasl\.(jaas|kerberos|login|oauthbearer)\.|ssl\.(engine|keystore|truststore)\.)"
)
"""What is said of names that are not Java's either."""
_GROUP: Final = "group.id"
_TRIES: Final = 3
_REQUEST_MS: Final = 30_000


@dataclass(frozen=True)
class ConnectorTopics:
    """Topics that Spark's connector reads.

    Attributes:
        records: What is read of them.
        reason: Why Python does not; None if the program says so.
    """

    records: KafkaRecords
    reason: PenstockError | None = None


def read_by_connector(
    records: KafkaRecords, configuration: Configuration
) -> ConnectorTopics | None:
    """Return how Spark's connector is to read topics; None if Python is to.

    Args:
        records: What is read of them.
        configuration: The job's.
    """
    reader = configuration.get(KAFKA_READER)
    if reader == "spark":
        return ConnectorTopics(records)
    if reader == "auto" and (reason := _why_not_python(records)) is not None:
        return ConnectorTopics(records, reason)
    return None


def _why_not_python(records: KafkaRecords) -> PenstockError | None:
    """Return why librdkafka cannot read topics, if it is not there or cannot log in."""
    try:
        properties = connection_properties(records.client_properties)
        new_client("Consumer", {**CONSUMER_DEFAULTS, **properties}).close()
    except KafkaClientNotFoundError as error:
        return error
    except KafkaPropertyError as error:
        # A name that is mistyped is the user's to correct: Java's client would pass over it.
        is_mistyped = _MISTYPED.search(error.message)
        return error if _OF_LOGIN.search(error.message) and not is_mistyped else None
    return None


def connector_reading(
    topics: ConnectorTopics, spark: SparkSession, name: str
) -> tuple[DataFrame, ReadTopics]:
    """Return the messages of topics as a DataFrame, bounded or streaming, and what is to be known of them.

    Args:
        topics: The topics.
        spark: The session.
        name: What users call the source.

    Raises:
        KafkaConnectorNotFoundError: If the connector is not in the session, and Python was not asked to read.
        KafkaPropertyError: If a property has no counterpart in Java's client.
        UnsupportedOperationError: If the connector cannot read so.
    """
    records, reading = topics.records, topics.records.reading
    if reading.stopping is not None and not records.is_bounded:
        raise UnsupportedOperationError(
            f"{name!r} is read by Spark's connector for Kafka, which ends no stream at an offset.",
            hint="Have Python read: kafka.reader: python. Or leave the end out and set execution.trigger: "
            "available-now, which ends a run when what is there is read. Or use set_bounded().",
        )
    read = ReadTopics(records, _ends_for_group(records))
    options = _options(read, name)
    reader = spark.read if records.is_bounded else spark.readStream
    try:
        frame = reader.format(_FORMAT).options(**options).load()
        frame.isStreaming  # noqa: B018 - under Spark Connect nobody has looked for the connector yet
    except PySparkException as error:
        if not _MISSING.search(str(error)):
            raise
        raise _not_found(topics, name) from error
    columns = {one: sf.col(one) for one in COLUMNS if one != HEADERS or reading.headers}
    columns["timestamp"] = sf.unix_millis("timestamp")
    columns[SPLIT] = sf.concat_ws("-", "topic", "partition")
    return frame.select(*(column.alias(one) for one, column in columns.items())), read


def _ends_for_group(records: KafkaRecords) -> Offsets | None:
    """Return where a bounded stream ends, if a consumer group is to hear of it: Spark does not tell."""
    stopping = records.reading.stopping
    if stopping is None or not records.reading.commits:
        return None
    try:
        return _known_to_kafka(records, stopping)
    except PenstockError:
        # The group depends on it, and nothing else does.
        return None


def _options(topics: ReadTopics, name: str) -> dict[str, str]:
    records, reading = topics.records, topics.records.reading
    found = {
        f"kafka.{key}": value for key, value in java_properties(records.properties).items()
    } | {
        **_subscription(reading),
        **_offsets(records, "starting", reading.starting, name),
        "includeHeaders": str(reading.headers).lower(),
        "failOnDataLoss": str(reading.starting.reset is KafkaOffsetResetStrategy.NONE).lower(),
        "kafkaConsumer.pollTimeoutMs": str(round(reading.patience * 1000)),
    }
    # Spark asks three times before it gives up.
    answer = round(reading.patience * 1000 / _TRIES)
    request = found.setdefault("kafka.request.timeout.ms", str(min(answer, _REQUEST_MS)))
    found["kafka.default.api.timeout.ms"] = str(max(answer, int(request)))
    if _GROUP not in records.properties:
        found["groupIdPrefix"] = CONSUMER_DEFAULTS[_GROUP]
    if topics.ends is not None:
        found["endingOffsets"] = _json(topics.ends)
    elif reading.stopping is not None:
        found |= _offsets(records, "ending", reading.stopping, name)
    elif reading.most is not None:
        found["maxOffsetsPerTrigger"] = str(reading.most)
    return found


def _subscription(reading: Reading) -> dict[str, str]:
    subscription = reading.subscription
    if subscription.pattern is not None:
        return {"subscribePattern": subscription.pattern}
    if subscription.topics:
        return {"subscribe": ",".join(subscription.topics)}
    found: dict[str, list[int]] = defaultdict(list)
    for one in sorted(subscription.partitions):
        found[one.topic].append(one.partition)
    return {"assign": json.dumps(found)}


def _offsets(
    records: KafkaRecords, end: str, offsets: KafkaOffsetsInitializer, name: str
) -> dict[str, str]:
    """Return the options that say where reading begins, or ends: `end` is "starting" or "ending"."""
    match offsets.kind:
        case "earliest" | "latest":
            return {f"{end}Offsets": offsets.kind}
        case "timestamp" if end == "starting":
            none = "startingOffsetsByTimestampStrategy"
            return {"startingTimestamp": str(offsets.time), none: "latest"}
        case "timestamp":
            return {"endingTimestamp": str(offsets.time)}
        case _:
            return {f"{end}Offsets": _json(_resolved(records, offsets, name))}


def _resolved(
    records: KafkaRecords, offsets: KafkaOffsetsInitializer, name: str
) -> Mapping[KafkaTopicPartition, int]:
    """Return the offsets of all partitions, which librdkafka knows; Spark wants each to be named."""
    try:
        return _known_to_kafka(records, offsets)
    except (KafkaClientNotFoundError, KafkaPropertyError) as error:
        if not offsets.needs_group:
            return offsets.given
        raise UnsupportedOperationError(
            f"{name!r} is to be read from committed offsets by Spark's connector for Kafka, which does not know them, "
            f"and librdkafka cannot ask: {error.message}",
            hint="Start with KafkaOffsetsInitializer.earliest(), timestamp(...) or offsets(...).",
        ) from error


def _known_to_kafka(records: KafkaRecords, offsets: KafkaOffsetsInitializer) -> Offsets:
    with closing(KafkaBroker(asking_properties(records))) as broker:
        partitions = records.reading.subscription.among(broker.partitions())
        return offsets.resolved(partitions, broker)


def _json(offsets: Mapping[KafkaTopicPartition, int]) -> str:
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for one, offset in sorted(offsets.items()):
        found[one.topic][str(one.partition)] = offset
    return json.dumps(found)


def _not_found(topics: ConnectorTopics, name: str) -> PenstockError:
    """Return the error that says why nobody reads topics, and both ways to have them read."""
    package = connector_package()
    hint = (
        f"Build the SparkSession, or start the server of Spark Connect, with spark.jars.packages={package}, or the version "
        "that is nearest to it; where penstock builds the session, it asks for the package itself."
    )
    if topics.reason is None:
        return KafkaConnectorNotFoundError(
            f"{name!r} is to be read by Spark's connector for Kafka, which is not in the SparkSession.",
            hint=f'{hint} Or have Python read: `pip install "penstock[kafka]"`, kafka.reader: python.',
        )
    reason = topics.reason
    return type(reason)(
        reason.message, hint=f"{reason.hint} Or let Spark's connector for Kafka read. {hint}"
    )
