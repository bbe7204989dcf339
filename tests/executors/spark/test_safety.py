"""What a session of this machine's own opens to other users of the machine, and to the network: nothing."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.executors.spark.versions.features import Feature, has

PROGRAM = """
import json
import os
import sys

from pyspark.sql import SparkSession

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment

configuration = Configuration().set_string("rest.bind-port", sys.argv[1])
configuration.set_string("spark.ui.enabled", "true").set_string("spark.ui.port", sys.argv[2])
configuration.set_string("spark.master", "local[1]")
env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)


def look(_):
    where = os.environ.get("PYTHON_WORKER_FACTORY_SOCK_DIR")
    if where is None:
        return [("secret", len(os.environ["PYTHON_WORKER_FACTORY_SECRET"]))]
    found = [where, *(os.path.join(where, name) for name in os.listdir(where))]
    return [(path, os.lstat(path).st_mode & 0o777) for path in found]


(seen,) = env.from_collection([1]).map(look).execute_and_collect()
conf = SparkSession.active().conf
listening = []
for table in ("/proc/net/tcp", "/proc/net/tcp6"):
    with open(table) as file:
        for line in list(file)[1:]:
            columns = line.split()
            if columns[3] == "0A":
                listening.append([columns[1], int(columns[9])])
print(json.dumps([seen, conf.get("spark.authenticate"), listening]))
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.spark
@pytest.mark.timeout(180)
@pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="reads the kernel's table of ports")
def test_sockets_and_ports_are_for_this_user_alone(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    ports = [free_port(), free_port()]
    environment = {key: value for key, value in os.environ.items() if key != "SPARK_LOCAL_IP"}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), *map(str, ports)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        umask=0,
    )
    seen, authenticate, listening = json.loads(run.stdout.splitlines()[-1])
    assert authenticate == "true"
    if has(Feature.UNIX_SOCKETS):
        assert seen[0][1] == 0o700, (
            "whatever the umask, nobody else comes into the folder of the sockets"
        )
    else:
        [(what, length)] = seen
        assert what == "secret"
        assert length >= 32, "who comes by a port has to know a secret"
    for port in ports:
        of_page = [address for address, _ in listening if address.endswith(f":{port:04X}")]
        assert of_page
        assert all(address.split(":")[0].endswith("0100007F") for address in of_page)
