"""An HTTP service that can be told to be slow, to refuse, to hang, and that counts; in its own process.

    python tests/servers/http_program.py PORT

It prints its port when it is ready, and ends when its standard input does. `GET /lookup/KEY` answers
`{"key": KEY, "call": N}`. `PUT /settings` takes the fields of `Settings` and begins to count anew,
`GET /counts` returns what was counted.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field

from aiohttp import web


@dataclass
class Settings:
    """How the service behaves.

    Attributes:
        delay: How long an answer takes, in milliseconds.
        slow_every: Every so many-th call is a slow one; 0 for none.
        slow_delay: How long the answer to a slow call takes, in milliseconds.
        trouble: What becomes of the first calls for each key, one after the other: a status such as
            "429", "reset" or "hang". Later calls are answered.
        retry_after: What refusals say in Retry-After, in seconds.
    """

    delay: float = 0
    slow_every: int = 0
    slow_delay: float = 0
    trouble: list[str] = field(default_factory=list)
    retry_after: str | None = None


class Service:
    """Answers, and counts what it is asked for."""

    def __init__(self) -> None:
        self.begin(Settings())

    def begin(self, settings: Settings) -> None:
        self.settings = settings
        self.calls: Counter[str] = Counter()
        self.at_once = 0
        self.most_at_once = 0

    async def lookup(self, request: web.Request) -> web.StreamResponse:
        key = request.match_info["key"]
        self.calls[key] += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return await self._answer(request, key, self.calls[key])
        finally:
            self.at_once -= 1

    async def _answer(self, request: web.Request, key: str, call: int) -> web.StreamResponse:
        settings = self.settings
        is_slow = settings.slow_every and self.calls.total() % settings.slow_every == 0
        delay = settings.slow_delay if is_slow else settings.delay
        if delay:
            await asyncio.sleep(delay / 1000)
        trouble = settings.trouble[call - 1] if call <= len(settings.trouble) else None
        if trouble is None:
            return web.json_response({"key": key, "call": call})
        if trouble == "hang":
            await asyncio.Event().wait()
        if trouble == "reset":
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        headers = {"Retry-After": settings.retry_after} if settings.retry_after else {}
        return web.Response(status=int(trouble), headers=headers)

    async def put_settings(self, request: web.Request) -> web.Response:
        self.begin(Settings(**await request.json()))
        return web.Response()

    async def counts(self, _: web.Request) -> web.Response:
        return web.json_response({"calls": self.calls, "most_at_once": self.most_at_once})


async def serve(port: int) -> None:
    service = Service()
    app = web.Application()
    app.router.add_get("/lookup/{key}", service.lookup)
    app.router.add_put("/settings", service.put_settings)
    app.router.add_get("/counts", service.counts)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=20_000)
    await site.start()
    (address,) = runner.addresses
    print(address[1], flush=True)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def await_end() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=await_end, daemon=True).start()
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
