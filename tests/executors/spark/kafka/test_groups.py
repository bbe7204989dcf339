from __future__ import annotations

import logging
import sys

import pytest
from tests.runtime.planned.kafka.fake_broker import FakeBroker

from penstock.common import SimpleStringSchema
from penstock.datastream.connectors.kafka import KafkaSource, KafkaTopicPartition
from penstock.executors.spark.kafka.groups import ConsumerGroups, ReadTopics, asking_properties

HERE, THERE = KafkaTopicPartition("t", 0), KafkaTopicPartition("t", 1)


def topics(ends: dict[KafkaTopicPartition, int] | None = None, **properties: str) -> ReadTopics:
    builder = KafkaSource.builder().set_bootstrap_servers("localhost:1").set_topics("t")
    builder.set_properties({name.replace("_", "."): value for name, value in properties.items()})
    source = builder.set_value_only_deserializer(SimpleStringSchema()).build()
    return ReadTopics(source.description(), ends)


def test_a_group_hears_once_of_what_is_read() -> None:
    broker = FakeBroker({})
    groups = ConsumerGroups(
        {
            4: topics(group_id="g"),
            5: topics(),
            6: topics(ends={THERE: 5}),
            7: topics(group_id="g", ends={THERE: 9}),
        },
        lambda properties: broker,
    )
    for _ in range(2):
        groups.tell(4, '{"t": {"0": 7, "1": 3}}')
        groups.tell(5, '{"t": {"0": 9}}')
    assert broker.commits == 1
    assert broker.group == {HERE: 7, THERE: 3}
    groups.tell(4, '{"t": {"0": 8, "1": 3}}')
    assert broker.group[HERE] == 8
    groups.tell_ends([4, 6])
    assert broker.group == {HERE: 8, THERE: 3}
    groups.tell_ends([7])
    assert broker.group == {HERE: 8, THERE: 9}
    groups.close()
    assert broker.is_closed
    assert not groups


def test_what_is_asked_for_offsets_is_not_told_how_to_read() -> None:
    found = topics(group_id="g", fetch_min_bytes="1", made_up="x", sasl_mechanism="PLAIN")
    assert asking_properties(found.records) == {
        "bootstrap.servers": "localhost:1",
        "client.id": "g",
        "group.id": "g",
        "isolation.level": "read_committed",
        "sasl.mechanism": "PLAIN",
    }


def test_a_group_that_nobody_can_tell_is_in_the_log_unless_it_is_to_hear_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "penstock")
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    silent = topics(group_id="g", commit_offsets_on_checkpoint="false")
    assert not ConsumerGroups({0: topics(), 1: silent})
    assert caplog.text == ""
    groups = ConsumerGroups({0: topics(group_id="fares")})
    assert not groups
    groups.tell(0, '{"t": {"0": 7}}')
    assert "group fares does not hear" in caplog.text
    assert "commit.offsets.on.checkpoint" in caplog.text
    monkeypatch.undo()
    login = "software.amazon.msk.auth.iam.IAMLoginModule required;"
    assert not ConsumerGroups({0: topics(group_id="by-java", sasl_jaas_config=login)})
    assert "group by-java does not hear" in caplog.text
