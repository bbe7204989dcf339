"""Programs on Spark that ask real servers, in both modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.executors.spark.conftest import StreamOf
from tests.servers.clients import RETRIES, HttpLookup, PostgresLookup
from tests.servers.http_service import HttpService

from penstock.common import Time
from penstock.datastream import AsyncDataStream, AsyncOptions, StreamExecutionEnvironment
from penstock.datastream.async_retry_predicates import retry_after_header

if TYPE_CHECKING:
    from examples.postgres_server import PostgresServer

pytestmark = pytest.mark.spark

MINUTE = Time.minutes(1)


def test_a_bounded_program_asks_postgresql_in_order(
    env: StreamExecutionEnvironment, postgres: PostgresServer
) -> None:
    planes = [f"N{number % 1_000}" for number in range(5_000)]
    lookup = PostgresLookup(postgres.uri, "select seats from planes where tailnum = $1")
    stream = env.set_parallelism(1).from_collection(planes)
    with AsyncDataStream.ordered_wait(stream, lookup, MINUTE).execute_and_collect() as results:
        assert list(results) == [(plane, int(plane[1:]) % 400) for plane in planes]


def test_a_streaming_program_asks_a_server_that_refuses_again(
    env: StreamExecutionEnvironment, stream_of: StreamOf, http_service: HttpService
) -> None:
    http_service.behave(trouble=["503", "reset"], retry_after="0", delay=5)
    epochs = [[{"key": f"{epoch}-{number}"} for number in range(100)] for epoch in range(3)]
    rows = env.from_data_frame(stream_of("key string", *epochs))
    results = AsyncDataStream.unordered_wait_with_retry(
        rows.map(lambda row: row.key),
        HttpLookup(http_service.url),
        MINUTE,
        RETRIES,
        options=AsyncOptions(retry_after=retry_after_header),
    )
    with results.execute_and_collect() as found:
        answers = list(found)
    keys = [row["key"] for epoch in epochs for row in epoch]
    assert sorted(answers) == sorted((key, 3) for key in keys)
    assert http_service.calls() == dict.fromkeys(keys, 3)
