"""A relay between clients and a server, which parts them."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from tests.crash.surroundings.network import Relay

PATIENCE = 5.0


@pytest.fixture
def relay() -> Iterator[Relay]:
    """A relay before a server that answers with what it is asked."""
    server = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=echo, args=(connection,), daemon=True).start()

    threading.Thread(target=answer, daemon=True).start()
    with contextlib.closing(Relay(server.getsockname()[1])) as relay:
        yield relay
    server.close()


def echo(connection: socket.socket) -> None:
    with connection:
        try:
            while data := connection.recv(100):
                connection.sendall(data)
        except OSError:
            return


def ask(relay: Relay) -> bytes:
    with socket.create_connection(("127.0.0.1", relay.port), PATIENCE) as connection:
        connection.sendall(b"hello")
        return connection.recv(100)


def test_all_is_passed_on(relay: Relay) -> None:
    assert ask(relay) == b"hello"


@pytest.mark.parametrize("mode", ["drop", "mute"])
def test_connections_break(relay: Relay, mode: str) -> None:
    relay.part(mode, PATIENCE)
    with contextlib.suppress(ConnectionError):
        assert ask(relay) == b""

    relay.mend()
    assert ask(relay) == b"hello"


def test_what_hangs_arrives_later(relay: Relay) -> None:
    began = time.monotonic()
    relay.part("hang", 0.1)

    assert ask(relay) == b"hello"
    assert time.monotonic() - began >= 0.1
