"""The service that query 13 asks, and its client. Standard library only: PyFlink's worker imports it too.

A request is a number on a line of its own, and so is the answer. Many requests may be under way on one
connection; answers come in the order of the requests.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

ROOT = Path(__file__).resolve().parent.parent.parent
HOST = "127.0.0.1"
KEYS = 10_000
"""Requests from 0 up to here are different; beyond, they begin again."""
_GONE = "The service is gone."


def value_of(number: int) -> int:
    """What the service knows of a number."""
    return number % KEYS * 31 + 7


class LookupService:
    """The service in a process of its own.

    Attributes:
        port: Where it listens, while it runs.
    """

    port: int

    def __enter__(self) -> LookupService:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.nexmark.lookup"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()


class LookupClient(asyncio.Protocol):
    """One connection to the service, for the event loop that it is opened on."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[asyncio.Future[int]] = deque()
        self._to_send: list[bytes] = []
        self._rest = b""

    @classmethod
    async def connect(cls, port: int) -> LookupClient:
        """Opens a connection."""
        _, client = await asyncio.get_running_loop().create_connection(cls, HOST, port)
        return client

    def ask(self, number: int) -> asyncio.Future[int]:
        """Returns what the service knows of a number, when its answer is there.

        Raises:
            ConnectionResetError: The service is gone; of requests under way their answers raise it.
        """
        if self._transport.is_closing():
            raise ConnectionResetError(_GONE)
        answer: asyncio.Future[int] = self._loop.create_future()
        self._waiting.append(answer)
        if not self._to_send:
            # What is asked until the loop turns goes out in one piece.
            self._loop.call_soon(self._send)
        self._to_send.append(b"%d\n" % number)
        return answer

    def close(self) -> None:
        """Closes the connection, from whatever thread; its loop may have ended before."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._transport.close)

    def _send(self) -> None:
        self._transport.write(b"".join(self._to_send))
        self._to_send.clear()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            answer = self._waiting.popleft()
            if not answer.done():
                answer.set_result(int(line))

    def connection_lost(self, error: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        for answer in self._waiting:
            if not answer.done():
                answer.set_exception(error or ConnectionResetError(_GONE))


class _Server(asyncio.Protocol):
    def __init__(self) -> None:
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._transport.write(b"".join([b"%d\n" % value_of(int(line)) for line in lines]))


async def _serve() -> None:
    """Serves until the standard input ends, so never longer than whoever started it."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Server, HOST, 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(_serve())
