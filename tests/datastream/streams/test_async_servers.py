"""Asynchronous functions that ask real servers."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
import redis
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
    stream = local_environment().from_collection(keys(200))
    results = AsyncDataStream.ordered_wait(
        stream, HttpLookup(http_service.url), MINUTE, capacity=25
    )
    assert numbers_of(results) == [(key, 1) for key in keys(200)]
    assert 10 < http_service.most_at_once() <= 25
    assert http_service.calls() == dict.fromkeys(keys(200), 1)


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


def test_a_server_that_is_away_for_longer_than_an_attempt_loses_and_doubles_nothing(
    http_service: HttpService,
) -> None:
    http_service.behave(delay=20)
    count = 1_000
    stream = local_environment().from_collection(keys(count))
    results = AsyncDataStream.ordered_wait_with_retry(
        stream,
        HttpLookup(http_service.url),
        MINUTE,
        RETRIES,
        capacity=20,
        options=AsyncOptions(attempt_timeout="1 s"),
    )
    answered_before = []

    def go_away() -> None:
        while len(http_service.calls()) < count // 4:
            pass
        answered_before.append(len(http_service.calls()))
        http_service.kill()
        threading.Event().wait(2)
        http_service.start()
        http_service.behave(delay=1)

    outage = threading.Thread(target=go_away)
    outage.start()
    found = [key for key, _ in numbers_of(results)]
    outage.join()
    assert found == keys(count)
    assert answered_before[0] < count - 20


def test_records_are_looked_up_in_postgresql(postgres: PostgresServer) -> None:
    planes = [f"N{number % 1_100}" for number in range(3_000)]
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
