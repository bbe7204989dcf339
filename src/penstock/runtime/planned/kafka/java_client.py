"""What properties of librdkafka are called by Kafka's client in Java, which Spark's connector has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from penstock.errors import KafkaPropertyError
from penstock.runtime.planned.kafka.client import HOST_CHECK, NO_HOST_CHECK, RENAMED

_NAMES: Final = {
    **{theirs: of_java for of_java, theirs in RENAMED.items() if not theirs.endswith(".pem")},
    "metadata.broker.list": "bootstrap.servers",
    "sasl.mechanisms": "sasl.mechanism",
}
_UNLIKE: Final = re.compile(
    r"sasl\.(username|password|kerberos\.(keytab|principal|kinit\.cmd)|oauthbearer\.(method|config))"
    r"|ssl\.(ca|certificate|key|crl)\.(location|pem)|enable\..*\.verification"
)
"""Properties of librdkafka about security whose place others have in Java."""
_REFUSED: Final = {"interceptor.classes"} | frozenset(
    f"{what}.{how}" for what in ("key", "value") for how in ("serializer", "deserializer")
)
"""What Spark sets itself, and lets nobody say."""
_CA_LOCATION: Final = "ssl.ca.location"
_USER: Final = "sasl.username"
_PASSWORD: Final = "sasl.password"  # noqa: S105 - the name of a property


def java_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties with the names that Kafka's client in Java has for them.

    Args:
        properties: The properties, with names of Kafka's client in Java or of librdkafka.

    Raises:
        KafkaPropertyError: If one says in librdkafka's way how to log in, which Java's client would not heed.

    Example:
        >>> java_properties({"fetch.wait.max.ms": "100", "group.id": "counts"})
        {'fetch.max.wait.ms': '100', 'group.id': 'counts'}
    """
    left = {key: value for key, value in properties.items() if key not in _REFUSED}
    found: dict[str, str] = {}
    if _USER in left or _PASSWORD in left:
        mechanism = left.get("sasl.mechanism", left.get("sasl.mechanisms", ""))
        found["sasl.jaas.config"] = _login(mechanism, left.pop(_USER, ""), left.pop(_PASSWORD, ""))
    if _CA_LOCATION in left:
        found |= {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": left.pop(_CA_LOCATION),
        }
    for key, value in left.items():
        name = _NAMES.get(key, key)
        if name == key and _UNLIKE.fullmatch(key):
            raise KafkaPropertyError(
                f"{key} is librdkafka's, and Spark's connector for Kafka reads by Kafka's client in Java.",
                hint="Say it as Java's client has it: sasl.jaas.config, ssl.keystore.location, "
                "ssl.endpoint.identification.algorithm. Or have Python read: kafka.reader: python.",
            )
        found[name] = "" if (name, value) == (HOST_CHECK, NO_HOST_CHECK) else value
    return found


def _login(mechanism: str, user: str, password: str) -> str:
    kind = "scram.Scram" if mechanism.upper().startswith("SCRAM") else "plain.Plain"
    return (
        f"org.apache.kafka.common.security.{kind}LoginModule required "
        f"username={_quoted(user)} password={_quoted(password)};"
    )


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
