from __future__ import annotations

import logging

import pytest

from penstock.datastream.connectors.kafka.client_properties import client_properties
from penstock.errors import KafkaPropertyError

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"group.id": "g", "made.up": "x"}, {"group.id": "g", "made.up": "x"}),
        ({"fetch.max.wait.ms": "5"}, {"fetch.wait.max.ms": "5"}),
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
    given: dict[str, str], found: dict[str, str]
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
    ],
)
def test_what_only_java_can_read_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(KafkaPropertyError):
        client_properties(given)
