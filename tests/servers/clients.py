"""Asynchronous functions that ask the servers, as users would write them."""

from __future__ import annotations

from typing import Any

import aiohttp
import asyncpg
import redis.asyncio

from penstock.datastream import AsyncFunction, AsyncRetryStrategy, RuntimeContext
from penstock.datastream.async_retry_predicates import has_exception_predicate

RETRIES: AsyncRetryStrategy[Any] = AsyncRetryStrategy.fixed_delay(
    200, 50, None, has_exception_predicate
)


class HttpLookup(AsyncFunction[Any, Any]):
    """Gives each key with the number of the call that was answered."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def open(self, runtime_context: RuntimeContext) -> None:
        connector = aiohttp.TCPConnector(limit=0)
        self._session = aiohttp.ClientSession(connector=connector, raise_for_status=True)

    async def close(self) -> None:
        await self._session.close()

    async def async_invoke(self, value: Any) -> list[Any]:
        async with self._session.get(f"{self._url}{value}") as response:
            answer = await response.json()
        return [(value, answer["call"])]


class PostgresLookup(AsyncFunction[Any, Any]):
    """Gives each key with what a table has for it."""

    def __init__(self, uri: str, query: str) -> None:
        self._uri = uri
        self._query = query

    async def open(self, runtime_context: RuntimeContext) -> None:
        self._pool = await asyncpg.create_pool(self._uri, min_size=1, max_size=5)

    async def close(self) -> None:
        await self._pool.close()

    async def async_invoke(self, value: Any) -> list[Any]:
        rows = await self._pool.fetch(self._query, value)
        return [(value, *row) for row in rows]


class RedisLookup(AsyncFunction[Any, Any]):
    """Gives the keys of a batch, each with what Redis has for it, by one command."""

    def __init__(self, port: int) -> None:
        self._port = port

    def open(self, runtime_context: RuntimeContext) -> None:
        self._redis = redis.asyncio.Redis(port=self._port, decode_responses=True)

    async def close(self) -> None:
        await self._redis.aclose()

    async def async_invoke(self, value: list[str]) -> list[list[Any]]:
        found = await self._redis.mget(value)
        return [[(key, each)] for key, each in zip(value, found, strict=True)]
