from __future__ import annotations

import socket
import subprocess
import sys
import time
from contextlib import closing

import pytest
from tests.servers.namespaces import Bridge, can_be_made

ANSWER = """
import socket, sys
server = socket.create_server((sys.argv[1], 8000))
print("ready", flush=True)
while True:
    server.accept()[0].close()
"""


@pytest.mark.skipif(not can_be_made(), reason="may not make networks")
def test_a_cable_that_is_pulled() -> None:
    with closing(Bridge()) as bridge:
        one, other = bridge.add(), bridge.add()
        command = [*one.prefix, sys.executable, "-I", "-S", "-c", ANSWER, one.address]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            server.stdout.readline()
            connect(one.address)
            ask = f"import socket; socket.create_connection(('{one.address}', 8000), 5)"
            subprocess.run([*other.prefix, sys.executable, "-I", "-S", "-c", ask], check=True)

            one.part(0.3)
            assert one.is_pulled
            with pytest.raises(TimeoutError):
                connect(one.address, 0.1)
            while one.is_pulled:
                time.sleep(0.01)

            connect(one.address)
            server.kill()


def connect(address: str, seconds: float = 5.0) -> None:
    socket.create_connection((address, 8000), seconds).close()
