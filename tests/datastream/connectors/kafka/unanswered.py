"""Programs whose Kafka does not answer.

python -m tests.datastream.connectors.kafka.unanswered KIND SERVERS MARKER FOLDER

runs one, and makes the file MARKER once it waits.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Final

from tests.datastream.connectors.kafka.sinks import sink_into

from penstock.common import Configuration, SimpleStringSchema, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import KafkaSink, KafkaSource
from penstock.testing import TestingSource

KINDS: Final = ("source", "sink", "writer")
"""What waits: a source's planner, the committer of a sink, or the writer of one that sends at least once."""
KEPT: Final = "sink with checkpoints"
"""It asks Kafka before there is a job."""


def program(kind: str, servers: str, folder: Path) -> StreamExecutionEnvironment:
    """Return a program, all but started, that reads from a Kafka or writes there."""
    configuration = Configuration().set_string("execution.target", "local")
    if kind == KEPT:
        configuration.set_string("execution.checkpointing.dir", str(folder))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    none = WatermarkStrategy.no_watermarks()
    if kind == "source":
        env.from_source(source_of(servers, "fares"), none, "fares").add_sink(print)
        return env
    texts = env.from_source(TestingSource([["a"] for _ in range(1000)]), none, "texts")
    texts.sink_to(writing(servers, "fares") if kind == "writer" else sink_into(servers, "fares"))
    return env


def source_of(servers: str, topic: str) -> KafkaSource:
    """Return a source of texts, which reads a topic from its beginning."""
    builder = KafkaSource.builder().set_bootstrap_servers(servers).set_topics(topic)
    return builder.set_group_id("counts").set_value_only_deserializer(SimpleStringSchema()).build()


def writing(servers: str, topic: str) -> KafkaSink:
    """Return a sink that sends texts at least once."""
    serializer = sink_into(servers, topic).target.serializer
    return (
        KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(serializer).build()
    )


def clients() -> set[str]:
    """Return the clients of Kafka that this process has: each has a thread of its own."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        try:
            if (task / "comm").read_text().startswith("rdk:main"):
                found.add(task.name)
        except OSError:
            continue
    return found


def main(kind: str, servers: str, marker: str, folder: str) -> None:
    def mark() -> None:
        while not clients():
            os.sched_yield()
        Path(marker).touch()

    threading.Thread(target=mark, daemon=True).start()
    client = program(kind, servers, Path(folder)).execute_async("job")
    client.get_job_execution_result().result()


if __name__ == "__main__":
    main(*sys.argv[1:])
