"""The client of Kafka, librdkafka, and what properties of Kafka's client in Java are called there."""

from __future__ import annotations

import logging
import platform
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from penstock.errors import InvalidArgumentError, KafkaClientNotFoundError, KafkaPropertyError
from penstock.interruptible import postponed

LOGGER: Final = logging.getLogger("penstock.kafka")
"""Takes what the client has to say."""

_LOG: Final = logging.getLogger("penstock")
_LOG_LEVEL: Final = 2
"""What is worse than a broker that does not answer, which the client would say several times a second."""

CONSUMER_DEFAULTS: Final = {"group.id": "penstock", "isolation.level": "read_committed"}
"""What a consumer is given where nobody says otherwise. librdkafka wants a group even of one that takes part in none."""

RENAMED: Final = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "request.timeout.ms": "socket.timeout.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.truststore.certificates": "ssl.ca.pem",
}
"""What Java's client calls otherwise."""
HOST_CHECK: Final = "ssl.endpoint.identification.algorithm"
NO_HOST_CHECK: Final = "none"
"""What Java's client says by nothing at all."""
_OF_JAVA: Final = frozenset(
    [
        "auto.include.jmx.reporter",
        "exclude.internal.topics",
        "interceptor.classes",
        "key.deserializer",
        "key.serializer",
        "max.block.ms",
        "max.poll.records",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "sasl.client.callback.handler.class",
        "security.providers",
        "ssl.enabled.protocols",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "value.deserializer",
        "value.serializer",
    ]
)
"""What says how the client in Java is made, and nothing about what is read or written."""
_OF_SPARK: Final = "kafka."
"""What Spark's connector has in front of properties of the client."""
_LOGIN: Final = re.compile(r"""\b(username|password)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)')""")
_PEM: Final = "PEM"
_MEMORY: Final = "buffer.memory"
_AWAY: Final = frozenset(
    {"_TRANSPORT", "_TIMED_OUT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_WAIT_COORD"}
)
_CONNECTION: Final = (
    "api.",
    "bootstrap.",
    "broker.",
    "client.",
    "connections.",
    "debug",
    "enable.sasl.",
    "enable.ssl.",
    "https.",
    "log_level",
    "metadata.",
    "reconnect.",
    "sasl.",
    "security.",
    "socket.",
    "ssl.",
)
"""What those properties begin with that say where Kafka is, and how it is reached."""


def kafka_client() -> Any:
    """Return the module confluent_kafka.

    Raises:
        KafkaClientNotFoundError: If it is not installed.
    """
    try:
        import confluent_kafka
        import confluent_kafka.admin
    except ImportError as error:
        raise KafkaClientNotFoundError(
            "A topic of Kafka is read or written, but confluent-kafka is not installed: it is not known to "
            f"{sys.executable} on {platform.node()}.",
            hint='Install "penstock[kafka]" for the driver and where the workers run; for workers '
            "env.set_python_requirements() does it, too.",
        ) from error
    return confluent_kafka


def new_client(
    kind: Literal["Consumer", "Producer", "AdminClient"],
    properties: Mapping[str, Any],
    **others: Any,
) -> Any:
    """Return a "Consumer", a "Producer" or an "AdminClient".

    Args:
        kind: Which.
        properties: Its properties, as librdkafka has them.
        **others: Callbacks, and what else is no text.

    Raises:
        KafkaClientNotFoundError: If confluent-kafka is not installed.
        KafkaPropertyError: If the client does not know a property, or does not take its value.
    """
    client = kafka_client()
    make = getattr(client.admin if kind == "AdminClient" else client, kind)
    try:
        made = make({"log_level": _LOG_LEVEL, **properties, **others}, logger=LOGGER)
    except (client.KafkaException, ValueError, TypeError) as error:
        reason = error.args[0].str() if hasattr(error.args[0], "str") else error
        raise KafkaPropertyError(
            f"The client of Kafka does not take its properties: {reason}.",
            hint="Give names of librdkafka, or those of the Java client that it has too: "
            "https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md.",
        ) from error
    return _WholeCalls(made) if kind == "AdminClient" else made


class _WholeCalls:
    """An AdminClient whose calls Ctrl-C does not come into: its code in C would go on in spite of it and fail later.

    The calls that wait are short, see `Cancellation.asked`.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = getattr(self._client, name)

        def whole(*args: Any, **options: Any) -> Any:
            with postponed():
                return call(*args, **options)

        return whole


def is_away(error: Any) -> bool:
    """Whether an error says that a Kafka does not answer now, and may do so later.

    Args:
        error: A `KafkaError`.
    """
    return error.name() in _AWAY or bool(error.retriable())


def checked_property(key: Any, value: Any) -> str:
    """Return the value of a property.

    Args:
        key: Its name.
        value: Its value.

    Raises:
        InvalidArgumentError: If one of them is no string.
        KafkaPropertyError: If it has the name that Spark's connector has for it.
    """
    if not isinstance(key, str) or not key or not isinstance(value, str):
        raise InvalidArgumentError(
            f"Kafka's client was given the property {key!r} with a value that is {type(value).__name__}.",
            hint="Both are strings: 'linger.ms' and '5', or 'enable.idempotence' and 'true'.",
        )
    if key.startswith(_OF_SPARK):
        raise KafkaPropertyError(
            f"Kafka's client was given the property {key!r}: so Spark's connector calls it.",
            hint=f"Leave out what is in front: {key.removeprefix(_OF_SPARK)!r}.",
        )
    return value


def checked_number(key: str, value: Any, example: str) -> int:
    """Return the whole number that a property has.

    Args:
        key: Its name.
        value: Its value.
        example: Says what to give instead: a unit, and a value.

    Raises:
        KafkaPropertyError: If it is no number.
    """
    try:
        return int(value)
    except ValueError as error:
        raise KafkaPropertyError(
            f"{key} is {value!r}, which is no number.", hint=f"Give {example}."
        ) from error


def connection_properties(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return those properties that say where Kafka is and how it is reached, for clients of any kind.

    Args:
        properties: Properties as librdkafka has them.
    """
    return {key: value for key, value in properties.items() if key.startswith(_CONNECTION)}


def client_properties(properties: Mapping[str, Any]) -> dict[str, str]:
    """Return properties with the names that librdkafka has for them.

    What only says how Java does something is left out; the log says so. What neither knows goes through, for the
    client to refuse.

    Args:
        properties: The properties, with names of Kafka's client in Java or of librdkafka.

    Raises:
        KafkaPropertyError: If one means something that librdkafka cannot do.

    Example:
        >>> client_properties({"fetch.max.wait.ms": "100", "group.id": "counts"})
        {'fetch.wait.max.ms': '100', 'group.id': 'counts'}
    """
    left = {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in properties.items()
    }
    unused = sorted(_OF_JAVA & left.keys())
    if unused:
        _LOG.info("properties of Kafka's client in Java have no effect: %s", ", ".join(unused))
    found = _security(left)
    if _MEMORY in left:
        size = checked_number(_MEMORY, left.pop(_MEMORY), "bytes, such as '33554432'")
        found["queue.buffering.max.kbytes"] = str(max(size // 1024, 1))
    for key, value in left.items():
        if key not in _OF_JAVA:
            found[RENAMED.get(key, key)] = value
    if found.get(HOST_CHECK) == "":
        found[HOST_CHECK] = NO_HOST_CHECK
    return found


def _security(left: dict[str, str]) -> dict[str, str]:
    """Take what says how to log in and whom to trust, and return what librdkafka has for it."""
    found: dict[str, str] = {}
    login = left.pop("sasl.jaas.config", None)
    if login is not None:
        found |= _login(login)
    for store, key in (("truststore", "ssl.ca.location"), ("keystore", "ssl.keystore.location")):
        kind = left.pop(f"ssl.{store}.type", "").upper()
        place = left.pop(f"ssl.{store}.location", None)
        if store == "truststore":
            left.pop("ssl.truststore.password", None)
        if place is None:
            continue
        if not _is_readable(store, kind, place):
            raise KafkaPropertyError(
                f"ssl.{store}.location is {place!r}, a keystore of Java, which librdkafka cannot read.",
                hint="Export certificates as PEM and set ssl.ca.location, or keys as PKCS12 and set "
                "ssl.keystore.location and ssl.keystore.type=PKCS12. keytool -importkeystore writes PKCS12.",
            )
        if store == "keystore" and kind == _PEM:
            found |= {"ssl.certificate.location": place, "ssl.key.location": place}
        else:
            found[key] = place
    return found


def _is_readable(store: str, kind: str, place: str) -> bool:
    if kind == _PEM or place.endswith((".pem", ".crt")):
        return True
    return store == "keystore" and (kind == "PKCS12" or place.endswith((".p12", ".pfx")))


def _login(config: str) -> dict[str, str]:
    """Return user and password of a JAAS configuration.

    Raises:
        KafkaPropertyError: If it has none.
    """
    module = config.split(maxsplit=1)[0] if config.split() else ""
    found = {
        f"sasl.{match[1]}": re.sub(r"\\(.)", r"\1", match[2]) if match[3] is None else match[3]
        for match in _LOGIN.finditer(config)
    }
    if len(found) != len(("username", "password")):
        raise KafkaPropertyError(
            f"sasl.jaas.config names {module or 'nothing'}, and no username and password.",
            hint="For PLAIN and SCRAM give both, or set sasl.username and sasl.password. Kerberos is set by "
            "sasl.kerberos.principal and sasl.kerberos.keytab, OAuth by sasl.oauthbearer.method and its likes.",
        )
    return found
