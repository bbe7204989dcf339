"""Topics of Kafka that streaming jobs on a server of Spark Connect read: by Python there, and by Spark's connector."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scripts.kafka_jars import JarsNotFetched, connector
from tests.executors.spark.clusters.test_connect_streaming import Programs
from tests.servers.connect_server import NEEDS_CONNECT, ConnectServer

if TYPE_CHECKING:
    from tests.servers.kafka_server import KafkaCluster

pytestmark = [NEEDS_CONNECT, pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(300)]

COUNTED = """
from confluent_kafka import Producer

least = settings.pop("least")
producer = Producer({"bootstrap.servers": os.environ["KAFKA"]})
for word in ("to", "be"):
    producer.produce(os.path.basename(root), word, key=word)
producer.flush()
job = started(read_topic)
found = results(least)
if "execution.trigger" in settings:
    job.result()
else:
    job.stop().result()
print(json.dumps([found, job.get_job_status().result().name]))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    try:
        jars = ",".join(map(str, connector()))
    except JarsNotFetched as error:
        if os.environ.get("PENSTOCK_TESTS") == "all":
            raise
        pytest.skip(f"There is no connector for Kafka. {error}")
    folder = tmp_path_factory.mktemp("server")
    with closing(ConnectServer(folder, settings={"spark.jars": jars})) as found:
        yield found


@pytest.mark.parametrize("reader", ["python", "spark"])
def test_a_topic_is_read_on_and_on_and_then_to_its_end(
    tmp_path: Path,
    server: ConnectServer,
    kafka: KafkaCluster,
    reader: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KAFKA", kafka.bootstrap_servers)
    programs = Programs(tmp_path, server)
    settings = {"kafka.reader": reader, "least": 2}
    found, _, _ = programs.run(COUNTED, settings=settings)
    assert found == [["be 1", "to 1"], "FINISHED"]

    settings |= {"execution.trigger": "available-now", "least": 4}
    found, _, _ = programs.run(COUNTED, settings=settings)
    assert found == [["be 1", "be 2", "to 1", "to 2"], "FINISHED"]
