"""A network that parts a server from its clients for a while: a relay between them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from typing import Final

MODES: Final = ("hang", "drop", "mute")
"""`hang`: nothing arrives, and all of it later. `drop`: connections break, and none can be made. `mute`:
what clients ask still arrives, but no answer, and then their connections break."""
_PIECE: Final = 1 << 16
_POLL: Final = 0.01


class Relay:
    """Listens on a port, and passes on what comes to another port of the loopback interface.

    Args:
        port: The port of the server.
        host: The address that it listens on.

    Attributes:
        target: The port of the server.
        port: Its own port.
        mode: How it parts the two; empty: not at all.
    """

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.target = port
        self.host = host
        self.mode = ""
        self.port = 0
        self._timer: threading.Timer | None = None
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        ready.wait()

    def part(self, mode: str, seconds: float) -> None:
        """Part clients and server for some seconds."""
        self.mend()
        self.mode = mode
        self._timer = threading.Timer(seconds, self.mend)
        self._timer.daemon = True
        self._timer.start()

    def mend(self) -> None:
        """Pass everything on again."""
        self.mode = ""
        if self._timer is not None:
            self._timer.cancel()

    def close(self) -> None:
        """End it, and all connections."""
        self.mend()
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()

    def _run(self, ready: threading.Event) -> None:
        self._loop.run_until_complete(self._serve(ready))

    async def _serve(self, ready: threading.Event) -> None:
        server = await asyncio.start_server(self._connect, self.host, 0)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stop.wait()
        server.close()
        running = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers = [writer]
        with contextlib.suppress(OSError, asyncio.CancelledError):
            if self.mode != "drop":
                back, out = await asyncio.open_connection("127.0.0.1", self.target)
                writers.append(out)
                pumps = [
                    asyncio.create_task(self._pump(reader, out, answers=False)),
                    asyncio.create_task(self._pump(back, writer, answers=True)),
                ]
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
                for pump in pumps:
                    pump.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)
        for one in writers:
            _break(one)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool
    ) -> None:
        coming = asyncio.ensure_future(reader.read(_PIECE))
        try:
            while True:
                done, _ = await asyncio.wait([coming], timeout=_POLL)
                if self.mode == "drop":
                    return
                if not done or self.mode == "hang":
                    await asyncio.sleep(_POLL if done else 0)
                    continue
                data = coming.result()
                if not data or (answers and self.mode == "mute"):
                    return
                writer.write(data)
                await writer.drain()
                coming = asyncio.ensure_future(reader.read(_PIECE))
        finally:
            coming.cancel()


def _break(writer: asyncio.StreamWriter) -> None:
    """Reset a connection, so that the other side hears of it at once."""
    with contextlib.suppress(OSError):
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.close()
