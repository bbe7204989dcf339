from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest
from examples import bank
from tests.examples.running import started

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.servers.kafka_server import KafkaCluster

PATIENCE = 100.0


@pytest.mark.kafka
@pytest.mark.spark
def test_counts_each_payment_once_though_it_is_killed_and_goes_on_with_spark(
    kafka: KafkaCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    servers = kafka.bootstrap_servers
    bank.make_topics(servers)
    with started("bank.py", "score", "--port", "0") as service:
        job = "kafka_payments.py", str(tmp_path), "--servers", servers, "--service", url_of(service)
        for options, begin, end in (["--local"], 0, 2), ([], 2, 4):
            bank.pay(servers, begin, end)
            with started(*job, *options) as run:  # which ends with SIGKILL
                wait_for(servers, end, run)

    *_, counts = capsys.readouterr().out.splitlines()
    assert counts == "18 counts, the right ones, and each once: yes"
    assert unreadable(servers) == 6


def url_of(service: subprocess.Popen[str]) -> str:
    assert service.stdout is not None
    for line in service.stdout:
        if found := re.search(r"http://\S+", line):
            return found[0]
    raise AssertionError("the service does not start")


def wait_for(servers: str, minutes: int, run: subprocess.Popen[str]) -> None:
    """Wait until both topics have what came so far; each is written in a transaction of its own."""
    deadline = time.monotonic() + PATIENCE
    while bank.check(servers, 0, minutes) or unreadable(servers) < expected_unreadable(minutes):
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < deadline


def unreadable(servers: str) -> int:
    return sum(1 for _ in bank.committed(servers, "unreadable-payments"))


def expected_unreadable(minutes: int) -> int:
    return minutes * bank.PER_MINUTE // bank.UNREADABLE
