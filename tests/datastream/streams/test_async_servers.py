"""Asynchronous functions that ask real servers."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest
import redis
from tests.runtime.programs import Journal
from tests.servers.clients import RETRIES, HttpLookup, PostgresLookup, RedisLookup
from tests.servers.http_service import HttpService
from tests.servers.redis_server import RedisServer

from penstock.common import Time
from penstock.datastream import (
    AsyncDataStream,
    AsyncOptions,
    Batching,
    OnFailure,
    OutputTag,
    ResultCache,
)
from penstock.datastream.async_retry_predicates import retry_after_header
from penstock.errors import AsyncTimeoutError, UserFunctionError
from penstock.testing import local_environment

if TYPE_CHECKING:
    from examples.postgres_server import PostgresServer

MINUTE = Time.minutes(1)


def keys(count: int) -> list[str]:
    return [f"k{number}" for number in range(count)]


def numbers_of(stream: Any) -> list[Any]:
    with stream.execute_and_collect() as results:
        return list(results)


def test_many_calls_are_under_way_at_once_but_no_more_than_the_capacity(
    http_service: HttpService,
) -> None:
    http_service.behave(delay=20, slow_every=10, slow_delay=60)
    stream = local_environment().from_collection(keys(100))
    results = AsyncDataStream.ordered_wait(
        stream, HttpLookup(http_service.url), MINUTE, capacity=25
    )
    assert numbers_of(results) == [(key, 1) for key in keys(100)]
    assert 10 < http_service.most_at_once() <= 25
    assert http_service.calls() == dict.fromkeys(keys(100), 1)


def test_a_server_that_refuses_resets_and_hangs_is_asked_again(http_service: HttpService) -> None:
    http_service.behave(trouble=["429", "reset", "hang", "503"], retry_after="0")
    stream = local_environment().from_collection(keys(50))
    options = AsyncOptions(attempt_timeout="300 ms", retry_after=retry_after_header)
    results = AsyncDataStream.unordered_wait_with_retry(
        stream, HttpLookup(http_service.url), MINUTE, RETRIES, options=options
    )
    assert sorted(numbers_of(results)) == sorted((key, 5) for key in keys(50))
    assert http_service.calls() == dict.fromkeys(keys(50), 5)


def test_a_server_is_left_alone_for_as_long_as_it_wishes(http_service: HttpService) -> None:
    http_service.behave(trouble=["429"], retry_after="1")
    stream = local_environment().from_collection(keys(3))
    results = AsyncDataStream.ordered_wait_with_retry(
        stream,
        HttpLookup(http_service.url),
        Time.milliseconds(700),
        RETRIES,
        options=AsyncOptions(
            retry_after=retry_after_header,
            on_failure=OnFailure.fallback(lambda key, error: [(key, type(error))]),
        ),
    )
    # The second attempt comes after a second: too late for the time that all attempts have.
    assert numbers_of(results) == [(key, AsyncTimeoutError) for key in keys(3)]
    assert http_service.calls() == dict.fromkeys(keys(3), 1)


def test_without_retries_the_job_fails_with_what_the_client_raised(
    http_service: HttpService,
) -> None:
    http_service.behave(trouble=["503"])
    stream = local_environment().from_collection(keys(1))
    results = AsyncDataStream.ordered_wait(stream, HttpLookup(http_service.url), MINUTE)
    with pytest.raises(UserFunctionError, match="503") as failure:
        numbers_of(results)
    assert "async_invoke" in str(failure.value)


def test_calls_that_hang_go_to_a_side_output(http_service: HttpService) -> None:
    http_service.behave(trouble=["hang"])
    stream = local_environment().from_collection(keys(30))
    tag = OutputTag("failed")
    results = AsyncDataStream.ordered_wait(
        stream,
        HttpLookup(http_service.url),
        Time.milliseconds(200),
        options=AsyncOptions(on_failure=OnFailure.side_output(tag)),
    )
    failed = numbers_of(results.get_side_output(tag))
    assert [(key, type(error)) for key, error in failed] == [
        (key, AsyncTimeoutError) for key in keys(30)
    ]


class Outage:
    """Lets a server go away once, and come back after some seconds."""

    def __init__(self, server: HttpService, seconds: float) -> None:
        self._server, self._seconds = server, seconds
        self._lock = threading.Lock()
        self._return: threading.Thread | None = None

    def begin(self) -> None:
        """Return when the server is gone; do nothing at any later call."""
        with self._lock:
            if self._return is None:
                self._server.kill()
                self._return = threading.Thread(target=self._come_back)
                self._return.start()

    def _come_back(self) -> None:
        threading.Event().wait(self._seconds)
        self._server.start()

    def end(self) -> None:
        assert self._return is not None
        self._return.join()


class Interrupted(HttpLookup):
    """Lets an outage begin before a key is asked for."""

    def __init__(self, url: str, key: str, outage: Outage) -> None:
        super().__init__(url)
        self._key, self._outages = key, Journal([outage])

    async def async_invoke(self, value: Any) -> list[Any]:
        if value == self._key:
            await asyncio.to_thread(self._outages[0].begin)
        return await super().async_invoke(value)


def test_a_server_that_is_away_for_longer_than_an_attempt_loses_and_doubles_nothing(
    http_service: HttpService,
) -> None:
    http_service.behave(delay=20)
    outage = Outage(http_service, seconds=0.5)
    stream = local_environment().from_collection(keys(200))
    results = AsyncDataStream.ordered_wait_with_retry(
        stream,
        Interrupted(http_service.url, "k50", outage),
        MINUTE,
        RETRIES,
        capacity=20,
        options=AsyncOptions(attempt_timeout="300 ms"),
    )
    found = [key for key, _ in numbers_of(results)]
    outage.end()
    assert found == keys(200)
    # The server that came back was asked for all that was under way or not begun, and for nothing else.
    assert set(keys(200)[50:]) <= set(http_service.calls()) <= set(keys(200)[30:])


def test_records_are_looked_up_in_postgresql(postgres: PostgresServer) -> None:
    planes = [f"N{number}" for number in range(1_100)]
    lookup = PostgresLookup(postgres.uri, "select seats from planes where tailnum = $1")
    stream = local_environment().from_collection(planes)
    results = AsyncDataStream.ordered_wait(stream, lookup, MINUTE)
    assert numbers_of(results) == [
        (plane, int(plane[1:]) % 400) for plane in planes if int(plane[1:]) < 1_000
    ]


def test_what_postgresql_refuses_is_told(postgres: PostgresServer) -> None:
    lookup = PostgresLookup(postgres.uri, "select wings from planes where tailnum = $1")
    stream = local_environment().from_collection(["N1"])
    with pytest.raises(UserFunctionError, match='column "wings" does not exist'):
        numbers_of(AsyncDataStream.ordered_wait(stream, lookup, MINUTE))


def test_batches_of_records_are_looked_up_in_redis(redis_server: RedisServer) -> None:
    with redis.Redis(port=redis_server.port) as client:
        client.flushall()
        client.mset({key: f"value of {key}" for key in keys(2_000)})
        before = client.info("commandstats").get("cmdstat_mget", {}).get("calls", 0)
        stream = local_environment().from_collection(keys(2_100))
        results = AsyncDataStream.ordered_wait(
            stream,
            RedisLookup(redis_server.port),
            MINUTE,
            capacity=500,
            options=AsyncOptions(batching=Batching(100)),
        )
        found = dict(numbers_of(results))
        commands = client.info("commandstats")["cmdstat_mget"]["calls"] - before
    assert list(found) == keys(2_100)
    assert found == {
        key: f"value of {key}" if number < 2_000 else None for number, key in enumerate(keys(2_100))
    }
    assert commands <= 100


def test_a_cache_spares_the_server(http_service: HttpService) -> None:
    asked = [f"k{number % 10}" for number in range(500)]
    stream = local_environment().from_collection(asked)
    results = AsyncDataStream.ordered_wait(
        stream,
        HttpLookup(http_service.url),
        MINUTE,
        options=AsyncOptions(cache=ResultCache(100)),
    )
    assert numbers_of(results) == [(key, 1) for key in asked]
    assert http_service.calls() == dict.fromkeys(keys(10), 1)
