from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import pytest
from benchmarks.nexmark.answers import Record, settled, wanted
from benchmarks.nexmark.events import Nexmark
from benchmarks.nexmark.lookup import LookupService
from benchmarks.nexmark.penstock_job import environment, results
from benchmarks.nexmark.queries import QUERIES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.datastream import StreamExecutionEnvironment

EVENTS = 4_000
RATE = 100  # in event time: they fill five windows, and some bidders have two sessions
STATELESS = {"q0", "q1", "q2", "q13"}


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with LookupService() as service:
        yield service.port


@cache
def right(query: str) -> list[Record]:
    return wanted(query, Nexmark(EVENTS, events_per_second=RATE))


def given(query: str, env: StreamExecutionEnvironment, nexmark: Nexmark, port: int) -> list[Record]:
    return settled(query, results(query, env, nexmark, port).execute_and_collect())


@pytest.mark.parametrize(
    ("query", "backend", "parallelism"),
    [
        (query, backend, parallelism)
        for query in QUERIES
        for backend, parallelism in [("hashmap", 1), ("hashmap", 2), ("rocksdb", 2)]
        if query not in STATELESS or backend == "hashmap"
    ],
)
def test_a_query_gives_what_sql_finds(
    query: str, backend: str, parallelism: int, port: int
) -> None:
    env = environment(None, parallelism, **{"state.backend.type": backend})
    # The events are the same, however many readers share their chunks.
    found = given(query, env, Nexmark(EVENTS, events_per_second=RATE, readers=parallelism), port)
    assert found == right(query)
    assert found


@pytest.mark.spark
@pytest.mark.parametrize("query", ["q3", "q4", "q5", "q13"])
def test_a_query_gives_the_same_on_spark(query: str, spark: SparkSession, port: int) -> None:
    assert given(query, environment(spark), Nexmark(EVENTS, events_per_second=RATE), port) == right(
        query
    )
