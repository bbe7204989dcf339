"""Kafka's client, and what Java's names of its settings are called there."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any, Final

from penstock.errors import InvalidArgumentError, KafkaClientNotFoundError

LOGGER: Final = logging.getLogger("penstock.kafka")
"""Takes what the client has to say."""

_OTHER_NAMES: Final = {"max.request.size": "message.max.bytes"}
_OF_JAVA_ALONE: Final = frozenset(
    {"key.serializer", "value.serializer", "key.deserializer", "value.deserializer", "max.block.ms"}
)
_CONNECTION: Final = re.compile(
    r"(bootstrap|security|sasl|ssl|enable\.ssl|client|socket|reconnect|metadata\.broker)\W.*"
)
_LOGIN: Final = re.compile(r'(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"')
_ESCAPED: Final = re.compile(r"\\(.)")


def kafka_client() -> Any:
    """Return the module confluent_kafka.

    Raises:
        KafkaClientNotFoundError: If it is not installed.
    """
    try:
        import confluent_kafka
    except ImportError as error:
        raise KafkaClientNotFoundError(
            "A program reads or writes Kafka, but confluent-kafka is not installed.",
            hint='Install "penstock[kafka]" for the driver and where the workers run.',
        ) from error
    return confluent_kafka


def kafka_admin() -> Any:
    """Return the module confluent_kafka.admin; see `kafka_client`."""
    kafka_client()
    from confluent_kafka import admin

    return admin


def client_settings(properties: Mapping[str, Any]) -> dict[str, str]:
    """Return properties of Kafka's Java client as the C client calls them; most have the same names.

    Raises:
        InvalidArgumentError: If one of them means something that only Java has.
    """
    settings: dict[str, str] = {}
    for key, value in properties.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if key == "sasl.jaas.config":
            settings |= {
                f"sasl.{name}": _ESCAPED.sub(r"\1", found) for name, found in _LOGIN.findall(text)
            }
        elif key == "buffer.memory":
            settings["queue.buffering.max.kbytes"] = str(max(int(text) // 1024, 1))
        elif key.startswith("ssl.truststore."):
            raise InvalidArgumentError(
                f"{key} names a trust store of Java, which Kafka's C client does not read.",
                hint="Set ssl.ca.location to a file with the certificates in PEM.",
            )
        elif key not in _OF_JAVA_ALONE:
            settings[_OTHER_NAMES.get(key, key)] = text
    return settings


def connection_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Return those settings that say where Kafka is and how it is reached, for clients of any kind."""
    return {key: value for key, value in settings.items() if _CONNECTION.fullmatch(key)}


def new_client(kind: str, settings: Mapping[str, Any]) -> Any:
    """Return a `Producer` or a `Consumer`.

    Raises:
        InvalidArgumentError: If a setting is unknown, or cannot have its value.
        KafkaClientNotFoundError: If confluent-kafka is not installed.
    """
    client = kafka_client()
    try:
        return getattr(client, kind)(dict(settings), logger=LOGGER)
    except (client.KafkaException, TypeError, ValueError) as error:
        reason = error.args[0]
        raise InvalidArgumentError(
            f"Kafka's client does not take its properties: {getattr(reason, 'str', lambda: reason)()}.",
            hint="librdkafka's CONFIGURATION.md lists what it knows; most names are those of Kafka's Java client.",
        ) from error
