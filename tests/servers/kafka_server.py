"""Kafka brokers on the loopback interface, each its own controller (KRaft: there is no ZooKeeper)."""

from __future__ import annotations

import base64
import contextlib
import re
import shutil
import signal
import socket
import subprocess
import time
import uuid
from pathlib import Path
from tempfile import TemporaryDirectory

from scripts.kafka_jars import fetch
from tests.servers.processes import Session, kill

from penstock.executors.spark.java import ensure_java

PATIENCE = 90.0
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
MEMORY = ("-Xms64m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Tests write little, and a compiler that thinks longer would take the processors from them."""
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
"""Whatever has no rule is for everybody, so that a test may forbid something.

Several brokers would wait for their rules before they let each other in.
"""
SESSIONS = {"broker.session.timeout.ms": 4_000, "broker.heartbeat.interval.ms": 500}
"""How long a broker that was killed still leads its partitions."""


class KafkaCluster:
    """Brokers that listen on free ports until they are closed, or their process is gone.

    Args:
        brokers: How many. Topics of a cluster of three are on all of them unless they say otherwise.
        makes_topics: Whether topics are made when somebody writes to them.

    Attributes:
        bootstrap_servers: Where clients find them.

    Raises:
        JarsNotFetched: If Kafka's jars are not there, and cannot be fetched.
        RuntimeError: If they do not start; the message has a log.
    """

    def __init__(self, brokers: int = 1, *, makes_topics: bool = True) -> None:
        self._jars = fetch()
        self._java = ensure_java().path / "bin" / "java"
        self._folder = TemporaryDirectory(prefix="kafka-", ignore_cleanup_errors=True)
        self._ports = _free_ports(2 * brokers)
        self._brokers = range(brokers)
        self._makes_topics = makes_topics
        self._running: dict[int, Session] = {}
        self.bootstrap_servers = ",".join(f"127.0.0.1:{self._ports[n]}" for n in self._brokers)
        try:
            self._format()
            for broker in self._brokers:
                self.start(broker, waits=False)
            for broker in self._brokers:
                self._wait_for(broker)
        except BaseException:
            self.close()
            raise

    def start(self, broker: int, *, waits: bool = True) -> None:
        """Start a broker that does not run."""
        command = [str(part) for part in self._command("kafka.Kafka", self._settings(broker))]
        with self._log(broker).open("ab") as log:
            self._running[broker] = Session(command, stdout=log, stderr=log)
        if waits:
            self._wait_for(broker)

    def kill(self, broker: int) -> None:
        """Kill a broker as a power cut would."""
        self._running.pop(broker).end()

    def pause(self, broker: int) -> None:
        """Let a broker stand still: it answers nobody, and does not know it."""
        self._signal(broker, signal.SIGSTOP)

    def resume(self, broker: int) -> None:
        self._signal(broker, signal.SIGCONT)

    def _signal(self, broker: int, number: int) -> None:
        kill((process.pid for process in self._running[broker].processes()), number)

    def close(self) -> None:
        for broker in list(self._running):
            self.kill(broker)
        self._folder.cleanup()

    def _command(self, program: str, *arguments: str | Path) -> list[str | Path]:
        return [self._java, *MEMORY, "-cp", f"{self._jars}/*", program, *arguments]

    def _settings(self, broker: int) -> Path:
        return Path(self._folder.name, f"{broker}.properties")

    def _log(self, broker: int) -> Path:
        return Path(self._folder.name, f"{broker}.log")

    def _format(self) -> None:
        voters = ",".join(f"{n}@127.0.0.1:{self._ports[-1 - n]}" for n in self._brokers)
        copies = len(self._brokers)
        for broker in self._brokers:
            settings = {
                "process.roles": "broker,controller",
                "node.id": broker,
                "controller.quorum.voters": voters,
                "listeners": f"PLAINTEXT://127.0.0.1:{self._ports[broker]},"
                f"CONTROLLER://127.0.0.1:{self._ports[-1 - broker]}",
                "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self._ports[broker]}",
                "controller.listener.names": "CONTROLLER",
                "log.dirs": f"{self._folder.name}/{broker}",
                # Records may have timestamps of long ago.
                "log.retention.ms": -1,
                "default.replication.factor": copies,
                "min.insync.replicas": min(2, copies),
                "offsets.topic.replication.factor": copies,
                "offsets.topic.num.partitions": 3,
                "transaction.state.log.replication.factor": copies,
                "transaction.state.log.min.isr": min(2, copies),
                "transaction.state.log.num.partitions": 3,
                "auto.create.topics.enable": str(self._makes_topics).lower(),
                "group.initial.rebalance.delay.ms": 0,
                "log.cleaner.dedupe.buffer.size": 1 << 24,
                "log.cleaner.backoff.ms": 200,
                "transaction.abort.timed.out.transaction.cleanup.interval.ms": 200,
            }
            settings |= AUTHORIZER if copies == 1 else SESSIONS
            lines = "".join(f"{key}={value}\n" for key, value in settings.items())
            self._settings(broker).write_text(lines)
        tool = self._command("kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c")
        done = subprocess.run(
            [*tool, self._settings(0)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"Kafka could not make its log:\n{done.stdout}{done.stderr}")
        for broker in self._brokers[1:]:
            self._copy_log(broker)

    def _copy_log(self, broker: int) -> None:
        """Make a broker's log of the first one's: that takes no seconds of a Java process."""
        copy = Path(self._folder.name, str(broker))
        shutil.copytree(Path(self._folder.name, "0"), copy)
        about = copy / "meta.properties"
        own = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        text = re.sub("(?m)^node.id=.*", f"node.id={broker}", about.read_text())
        about.write_text(re.sub("(?m)^directory.id=.*", f"directory.id={own}", text))

    def _wait_for(self, broker: int) -> None:
        from confluent_kafka.admin import AdminClient

        deadline = time.monotonic() + PATIENCE
        address = f"127.0.0.1:{self._ports[broker]}"
        client = AdminClient({"bootstrap.servers": address, "log_level": 0})
        while True:
            with contextlib.suppress(Exception):
                if broker in client.list_topics(timeout=1).brokers:
                    return
            if self._running[broker].poll() is not None or time.monotonic() > deadline:
                text = self._log(broker).read_text()[-5000:]
                raise RuntimeError(f"Broker {broker} does not start:\n{text}")
            time.sleep(0.05)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as probes:
        ports = []
        for _ in range(count):
            probe = probes.enter_context(socket.socket())
            probe.bind(("127.0.0.1", 0))
            ports.append(probe.getsockname()[1])
        return ports
