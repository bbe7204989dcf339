"""A process that a function forks keeps neither ports nor the checkpoint location of a driver that has died."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from penstock.checkpoint.generations import Generation
from penstock.checkpoint.storage import LocalStorage

PROGRAM = """
import os, socket, sys
from penstock.checkpoint.generations import Generation
from penstock.checkpoint.storage import LocalStorage
from penstock.executors.driver.reporters.prometheus import PrometheusReporter
from penstock.executors.driver.rest.access import Access
from penstock.executors.driver.rest.routes import Api
from penstock.executors.driver.rest.server import RestServer
from penstock.metrics import MetricConfig

claim = Generation(LocalStorage(sys.argv[1]))
server = RestServer(Api(lambda: ()), Access(), "127.0.0.1", [0])
reporter = PrometheusReporter()
reporter.open(MetricConfig({"port": "0", "host": "127.0.0.1"}))
if os.fork():
    client = socket.create_connection(("127.0.0.1", server.port))
    client.sendall(b"GET /jobs HTTP/1.0\\r\\n\\r\\n")
    answer = client.recv(12).decode()
    print(server.port, reporter.port, answer, flush=True)
    os._exit(0)
print("forked", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="This system forks no processes.")
def test_they_are_free_while_the_forked_process_lives(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROGRAM, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdout is not None
        said = sorted([driver.stdout.readline(), driver.stdout.readline()])
        driver.wait(60)
        *ports, answer = said[0].split(maxsplit=2)

        assert said[1] == "forked\n"
        assert answer == "HTTP/1.1 200\n"
        Generation(LocalStorage(str(tmp_path))).release()
        for port in ports:
            with closing(socket.socket()) as found:
                found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                found.bind(("127.0.0.1", int(port)))
                found.listen()
