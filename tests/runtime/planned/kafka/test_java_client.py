from __future__ import annotations

import pytest

from penstock.errors import KafkaPropertyError
from penstock.runtime.planned.kafka.client import client_properties
from penstock.runtime.planned.kafka.java_client import java_properties


def test_names_of_librdkafka_become_those_of_java_and_others_stay() -> None:
    given = {
        "bootstrap.servers": "a:1",
        "fetch.wait.max.ms": "5",
        "sasl.mechanisms": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "key.deserializer": "x",
        "ssl.ca.location": "/ca.pem",
    }
    assert java_properties(given) == {
        "bootstrap.servers": "a:1",
        "fetch.max.wait.ms": "5",
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
    }


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_login_means_the_same_to_both(mechanism: str) -> None:
    login = {"sasl.username": 'a"b', "sasl.password": "c\\d", "sasl.mechanism": mechanism}
    of_java = java_properties(login)
    kind = "ScramLoginModule" if "SCRAM" in mechanism else "PlainLoginModule"
    assert kind in of_java["sasl.jaas.config"]
    assert client_properties(of_java) == login


def test_names_of_hosts_may_be_unchecked_in_both() -> None:
    name = "ssl.endpoint.identification.algorithm"
    assert client_properties({name: ""}) == {name: "none"}
    assert java_properties({name: "none"}) == {name: ""}
    assert java_properties({name: "https"}) == client_properties({name: "https"})


@pytest.mark.parametrize("name", ["sasl.kerberos.keytab", "ssl.key.location", "ssl.ca.pem"])
def test_what_java_would_not_heed_is_refused(name: str) -> None:
    with pytest.raises(KafkaPropertyError, match=name):
        java_properties({name: "x"})
