"""Properties of Kafka's client in Java, as the client has them that penstock uses, librdkafka."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Final

from penstock.errors import KafkaPropertyError

_LOG: Final = logging.getLogger("penstock")

_RENAMED: Final = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "request.timeout.ms": "socket.timeout.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.truststore.certificates": "ssl.ca.pem",
}
_OF_JAVA: Final = frozenset(
    [
        "auto.include.jmx.reporter",
        "exclude.internal.topics",
        "interceptor.classes",
        "key.deserializer",
        "key.serializer",
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
_LOGIN: Final = re.compile(r"""\b(username|password)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)')""")
_PEM: Final = "PEM"


def client_properties(properties: Mapping[str, str]) -> dict[str, str]:
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
    left = dict(properties)
    unused = sorted(_OF_JAVA & left.keys())
    if unused:
        _LOG.info("properties of Kafka's client in Java have no effect: %s", ", ".join(unused))
    found = _security(left)
    for key, value in left.items():
        if key not in _OF_JAVA:
            found[_RENAMED.get(key, key)] = value
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
        if place is None:
            continue
        if store == "truststore":
            left.pop("ssl.truststore.password", None)
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
