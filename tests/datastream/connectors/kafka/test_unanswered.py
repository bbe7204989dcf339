"""A job whose Kafka does not answer is cancelled at once, and its clients end."""

from __future__ import annotations

import itertools
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.datastream.connectors.kafka.sinks import sink_of
from tests.datastream.connectors.kafka.topics import Topic
from tests.datastream.connectors.kafka.unanswered import (
    KEPT,
    KINDS,
    clients,
    program,
    source_of,
    writing,
)
from tests.servers.kafka_server import KafkaCluster

from penstock.common import Configuration, JobClient, JobStatus, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import KafkaSink
from penstock.datastream.connectors.kafka.epochs_topic import EpochsTopic
from penstock.datastream.connectors.kafka.sender import Sender
from penstock.datastream.connectors.kafka.writers import SendingWriter
from penstock.executors.driver.observation.running_jobs import JOBS
from penstock.runtime.planned.kafka.cancellation import Cancellation
from penstock.runtime.planned.kafka.planner import KafkaPlanner
from penstock.runtime.planned.kafka.source import KafkaRecords

SECONDS = 2.0
_BUSY = 4.0
"""How much longer on a machine that does other things too."""
_ENOUGH = 60.0


@pytest.fixture(params=["silent", "closed"])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where nobody is, or somebody who lets everyone in and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=50) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        if request.param == "silent":
            yield address
            return
    yield address


def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so, and fail if that takes too long."""
    end = time.monotonic() + _ENOUGH
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def cancel(job: JobClient, others: set[str]) -> None:
    """Cancel a job, and make sure that it ends soon and leaves no client."""
    begun = time.monotonic()
    job.cancel().result()
    assert time.monotonic() - begun < SECONDS + _BUSY
    view = next(one.view() for one in JOBS.jobs() if one.job_id == str(job.get_job_id()))
    assert not view.is_left_behind
    assert job.get_job_status().result() is JobStatus.CANCELED
    until(lambda: clients() <= others)


@pytest.mark.parametrize("kind", KINDS)
def test_cancel(kind: str, servers: str, tmp_path: Path) -> None:
    others = clients()
    job = program(kind, servers, tmp_path).execute_async("job")
    until(lambda: bool(clients() - others))
    cancel(job, others)


@pytest.mark.parametrize("kind", [*KINDS, KEPT])
def test_interrupt(kind: str, servers: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    command = [sys.executable, "-m", "tests.datastream.connectors.kafka.unanswered"]
    command += [kind, servers, str(marker), str(tmp_path / "job")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as run:
        try:
            until(lambda: marker.exists() or run.poll() is not None)
            begun = time.monotonic()
            run.send_signal(signal.SIGINT)
            _, errors = run.communicate(timeout=_ENOUGH)
        finally:
            run.kill()
    assert run.returncode == -signal.SIGINT, errors
    assert time.monotonic() - begun < SECONDS + _BUSY
    lines = [line for line in errors.splitlines() if line.strip()]
    ending = "job: cancelled after [0-9.]+ s · 0 records · 0 epochs$"
    assert re.search(ending, lines[-1]), errors
    assert not any("Traceback" in line for line in lines)


def started(sink: KafkaSink, lines: Topic, folder: Path, **more: str) -> JobClient:
    """Start a job that copies lines."""
    configuration = Configuration().set_string("execution.target", "local")
    configuration.set_string("execution.checkpointing.dir", str(folder))
    for key, value in more.items():
        configuration.set_string(f"execution.epoch.{key.replace('_', '-')}", value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    source = source_of(lines.servers, lines.name)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").sink_to(sink)
    return env.execute_async("copies")


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("kind", "step", "skipped"),
    [
        (KafkaPlanner, "plan", 5),
        (KafkaRecords, "read", 0),
        (SendingWriter, "prepare_commit", 0),
        (EpochsTopic, "read", 1),
        (Sender, "fence", 0),
        (Sender, "commit", 0),
    ],
)
def test_cancel_when_a_broker_stands_still(
    kind: type,
    step: str,
    skipped: int,
    kafka: KafkaCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_exact = kind is not SendingWriter
    lines, topic = Topic(kafka), Topic(kafka)
    lines.write(["a", "b"])
    sink = sink_of(topic) if is_exact else writing(topic.servers, topic.name)
    calls, stands = itertools.count(), threading.Event()
    looks: list[None] = []
    plain, look = getattr(kind, step), Cancellation.check

    def looking(self: Cancellation) -> None:
        looks.append(None)
        look(self)

    def paused(*arguments: Any, **options: Any) -> Any:
        if next(calls) == skipped:
            kafka.pause(0)
            stands.set()
        return plain(*arguments, **options)

    others = clients()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(kind, step, paused)
            patch.setattr(Cancellation, "check", looking)
            job = started(sink, lines, tmp_path)
            assert stands.wait(_ENOUGH)
            seen = len(looks)
            until(lambda: len(looks) > seen + 2)
            cancel(job, others)
    finally:
        kafka.resume(0)

    again = started(sink, lines, tmp_path, available_now="true", end_of_input="false")
    again.get_job_execution_result().result()
    found = topic.values()
    assert found == ["a", "b"] if is_exact else set(found) == {"a", "b"}
