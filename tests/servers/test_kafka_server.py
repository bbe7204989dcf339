from __future__ import annotations

from contextlib import closing

import pytest
from confluent_kafka import Consumer, Producer
from tests.servers.kafka_server import KafkaCluster


@pytest.mark.kafka
def test_a_cluster_keeps_what_was_written_while_one_broker_is_dead() -> None:
    with closing(KafkaCluster(3)) as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
        cluster.kill(1)
        producer.produce("words", b"to be")
        assert producer.flush(60) == 0
        cluster.start(1)
        cluster.kill(2)
        settings = {"group.id": "readers", "auto.offset.reset": "earliest"}
        with closing(
            Consumer({"bootstrap.servers": cluster.bootstrap_servers, **settings})
        ) as consumer:
            consumer.subscribe(["words"])
            (message,) = consumer.consume(1, timeout=60)
    assert message.value() == b"to be"
