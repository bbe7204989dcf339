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


JOBS = """
import os, sys, urllib.request
from penstock.common import Configuration
from penstock.testing import local_environment

def environment():
    env = local_environment()
    env.configure(Configuration.from_dict({
        "rest.port": "0", "execution.progress": "on", "execution.progress.interval": "1 h",
        "metrics.reporter.log.factory.class": "org.apache.flink.metrics.slf4j.Slf4jReporterFactory",
    }))
    return env

def wait(value):
    os.write(begun[1], b"1")
    os.read(goes_on[0], 1)

def ask(value):
    from penstock.executors.driver.observation.running_jobs import JOBS
    from penstock.executors.driver.rest.serving import SERVING
    with urllib.request.urlopen(f"{SERVING.address}/config", timeout=60) as answer:
        return answer.status, [job.name for job in JOBS.jobs()]

begun, goes_on = os.pipe(), os.pipe()
env = environment()
env.from_collection([1]).map(wait).print()
client = env.execute_async("parent")
os.read(begun[0], 1)
child = os.fork()
if not child:
    env = environment()
    with env.from_collection([1]).map(ask).execute_and_collect("child") as found:
        print("child", *found, flush=True)
    sys.exit()
print("parent", os.waitpid(child, 0)[1], client.get_job_status().result().name, flush=True)
os.write(goes_on[1], b"1")
client.get_job_execution_result().result()
print(client.get_job_status().result().name)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="This system forks no processes.")
def test_a_forked_process_has_none_of_the_jobs_of_the_other_and_may_have_its_own() -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", JOBS]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert run.stdout.splitlines() == [
        "child (200, ['child'])",
        "parent 0 RUNNING",
        "None",
        "FINISHED",
    ]
    assert run.stderr.count("INFO penstock: child: finished") == 1
    assert run.stderr.count("INFO penstock: parent: finished") == 1
    for trouble in ("cancelled", "last report", "Traceback"):
        assert trouble not in run.stderr
