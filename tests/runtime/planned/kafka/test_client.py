from __future__ import annotations

import logging
import signal
from typing import Any

import pytest

from penstock.errors import KafkaPropertyError
from penstock.runtime.planned.kafka.client import (
    checked_property,
    client_properties,
    connection_properties,
    kafka_client,
    new_client,
)

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"group.id": "g", "made.up": "x"}, {"group.id": "g", "made.up": "x"}),
        ({"fetch.max.wait.ms": "5"}, {"fetch.wait.max.ms": "5"}),
        (
            {"max.request.size": 5, "enable.idempotence": True},
            {"message.max.bytes": "5", "enable.idempotence": "true"},
        ),
        ({"buffer.memory": "33554432"}, {"queue.buffering.max.kbytes": "32768"}),
        (
            {"sasl.jaas.config": f'{SCRAM} username="a b" password="c\\"d;";'},
            {"sasl.username": "a b", "sasl.password": 'c"d;'},
        ),
        (
            {"sasl.jaas.config": f"{SCRAM} username='a' password='b';"},
            {"sasl.username": "a", "sasl.password": "b"},
        ),
        (
            {"ssl.truststore.location": "/ca.pem", "ssl.truststore.password": "no"},
            {"ssl.ca.location": "/ca.pem"},
        ),
        (
            {"ssl.keystore.location": "/k.p12", "ssl.keystore.password": "p"},
            {"ssl.keystore.location": "/k.p12", "ssl.keystore.password": "p"},
        ),
        (
            {"ssl.keystore.location": "/k", "ssl.keystore.type": "PEM"},
            {"ssl.certificate.location": "/k", "ssl.key.location": "/k"},
        ),
    ],
)
def test_names_of_java_become_those_of_librdkafka(
    given: dict[str, Any], found: dict[str, str]
) -> None:
    assert client_properties(given) == found


def test_what_is_about_java_alone_is_left_out_and_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert client_properties({"key.deserializer": "x", "max.poll.records": "9"}) == {}
    assert caplog.messages == [
        "properties of Kafka's client in Java have no effect: key.deserializer, max.poll.records"
    ]


@pytest.mark.parametrize(
    "given",
    [
        {"ssl.truststore.location": "/trust.jks"},
        {"ssl.keystore.location": "/key.jks"},
        {"sasl.jaas.config": "com.sun.security.auth.module.Krb5LoginModule required;"},
        {"sasl.jaas.config": ""},
        {"buffer.memory": "32 MB"},
    ],
)
def test_what_only_java_can_read_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(KafkaPropertyError):
        client_properties(given)


def test_names_of_sparks_options_are_refused_with_those_to_give() -> None:
    with pytest.raises(
        KafkaPropertyError, match=r"Leave out what is in front: 'security\.protocol'"
    ):
        checked_property("kafka.security.protocol", "SSL")


def test_any_client_takes_what_says_how_to_reach_kafka(caplog: pytest.LogCaptureFixture) -> None:
    given = {
        "bootstrap.servers": "localhost:1",
        "broker.address.family": "v4",
        "client.id": "me",
        "security.protocol": "plaintext",
        "socket.timeout.ms": "9000",
    }
    only = {"group.id": "g", "linger.ms": "5", "partitioner": "random"}
    found = connection_properties(given | only)
    assert found == given
    loud = {**found, "log_level": 4}
    for client in (
        new_client("AdminClient", loud),
        new_client("Consumer", {**loud, "group.id": "g"}),
        new_client("Producer", loud),
    ):
        client.poll(0)
    assert "will be ignored" not in caplog.text
    new_client("Producer", {**loud, "group.id": "g"}).poll(0)
    assert "group.id is a consumer property" in caplog.text
    with pytest.raises(KafkaPropertyError, match=r'property: "made\.up"'):
        new_client("AdminClient", {"made.up": "x"})


def test_ctrl_c_does_not_come_into_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Client:
        def __init__(self, *_: Any, **__: Any) -> None:
            pass

        def describe_topics(self, topics: str, *, request_timeout: float) -> None:
            signal.raise_signal(signal.SIGINT)
            asked.append((topics, request_timeout))

    monkeypatch.setattr(kafka_client().admin, "AdminClient", Client)
    with pytest.raises(KeyboardInterrupt):
        new_client("AdminClient", {}).describe_topics("fares", request_timeout=1.0)
    assert asked == [("fares", 1.0)]
