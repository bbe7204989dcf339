"""Asynchronous calls for the rows of DataFrames."""

from __future__ import annotations

import asyncio
import datetime
import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql.types import LongType, StringType, StructType
from tests.executors.spark.conftest import StreamOf
from tests.servers.http_service import HttpService

from penstock.common import Row
from penstock.datastream import AsyncFunction, AsyncOptions, OnFailure, OutputTag, RuntimeContext
from penstock.errors import (
    FunctionNotSerializableError,
    InvalidArgumentError,
    InvalidFunctionError,
)
from penstock.spark import async_map

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


class Ask(AsyncFunction[Row, Any]):
    """Asks the HTTP service, and tells which client did."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def open(self, runtime_context: RuntimeContext) -> None:
        import aiohttp

        self._client = uuid.uuid4().hex
        self._session = aiohttp.ClientSession(raise_for_status=True)

    async def async_invoke(self, value: Row) -> list[Any]:
        async with self._session.get(f"{self._url}{value.id}") as response:
            answer = await response.json()
        return [
            {"client": self._client, "id": value.id, "call": answer["call"], "pid": os.getpid()}
        ]


ANSWER = "id long, call long, client string, pid long"


async def later(row: Row) -> list[tuple[Any, ...]]:
    await asyncio.sleep(0.001 * (7 - row.id % 7))
    return [(row.id, row.name)] * (row.id % 3)


def test_results_are_in_the_order_of_rows_and_of_the_schema(spark: SparkSession) -> None:
    frame = spark.range(0, 5_000, 1, 2).selectExpr("id", "concat('n', id) AS name")
    schema = StructType().add("number", LongType()).add("text", StringType())
    found = frame.transform(async_map, later, schema, capacity=500)
    assert found.schema == schema
    wanted = [(id_, f"n{id_}") for id_ in range(5_000) for _ in range(id_ % 3)]
    assert [tuple(row) for row in found.collect()] == wanted
    unordered = async_map(frame, later, schema, ordered=False, capacity=500)
    rows = [tuple(row) for row in unordered.collect()]
    assert rows != wanted
    assert sorted(rows) == wanted


def test_values_come_and_go_as_in_pyspark(spark: SparkSession) -> None:
    noon = datetime.datetime.fromisoformat("2024-07-01 12:30:00")
    schema = "at timestamp, tags array<string>, spot struct<x: int>"
    frame = spark.createDataFrame([(noon, ["a", None], Row(x=1).as_dict()), (None,) * 3], schema)

    async def same(row: Row) -> list[Row]:
        assert row.at in {noon, None}
        return [row]

    assert async_map(frame, same, schema).collect() == frame.collect()


def test_a_client_lives_as_long_as_its_worker(
    spark: SparkSession, stream_of: StreamOf, http_service: HttpService, tmp_path: Path
) -> None:
    # More than Spark may have idle workers from before, which take turns: some get several.
    epochs = [[{"id": 10 * epoch + number} for number in range(10)] for epoch in range(12)]
    answers = stream_of("id long", *epochs).transform(async_map, Ask(http_service.url), ANSWER)
    writer = answers.writeStream.format("parquet").option("checkpointLocation", f"{tmp_path}/c")
    writer.trigger(availableNow=True).start(f"{tmp_path}/answers").awaitTermination(60)
    rows = spark.read.parquet(f"{tmp_path}/answers").collect()
    assert sorted((row.id, row.call) for row in rows) == [(id_, 1) for id_ in range(120)]
    clients = {(row.client, row.pid) for row in rows}
    assert len(clients) == len({pid for _, pid in clients}) < len(epochs)


def test_rows_that_nobody_wants_are_given_up(
    spark: SparkSession, http_service: HttpService
) -> None:
    http_service.behave(delay=5)
    frame = spark.range(0, 100_000, 1, 1)
    first = async_map(frame, Ask(http_service.url), ANSWER, capacity=50)
    assert [row.id for row in first.limit(3).collect()] == [0, 1, 2]
    assert len(http_service.calls()) < 5_000


def test_what_the_function_raised_is_told(spark: SparkSession) -> None:
    async def refuse(row: Row) -> list[Any]:
        raise LookupError(f"nothing for {row.id}")

    with pytest.raises(PythonException, match="nothing for 0") as failure:
        async_map(spark.range(1), refuse, "id long").collect()
    assert "Operator 'async_map' failed on the record Row(id=0)" in str(failure.value)

    on_failure = OnFailure.fallback(lambda row, error: [(str(error),)])
    options = AsyncOptions(on_failure=on_failure)
    found = async_map(spark.range(1), refuse, "why string", options=options).collect()
    assert [row.why for row in found] == ["nothing for 0"]


def test_rows_of_another_schema_are_told(spark: SparkSession) -> None:
    async def two(row: Row) -> list[Any]:
        return [(1, 2)]

    with pytest.raises(PythonException, match="not of its schema"):
        async_map(spark.range(1), two, "id long").collect()


def test_what_cannot_be_done_is_said_at_once(spark: SparkSession) -> None:
    frame = spark.range(1)

    async def same(row: Row) -> list[Row]:
        return [row]

    with pytest.raises(InvalidArgumentError, match="no DataFrame"):
        async_map([1], same, "id long")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="capacity"):
        async_map(frame, same, "id long", capacity=0)
    with pytest.raises(InvalidArgumentError, match="timeout"):
        async_map(frame, same, "id long", timeout=-1)
    with pytest.raises(InvalidArgumentError, match="AsyncRetryStrategy"):
        async_map(frame, same, "id long", retry=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidFunctionError):
        async_map(frame, 3, "id long")  # type: ignore[arg-type]
    options = AsyncOptions(on_failure=OnFailure.side_output(OutputTag("failed")))
    with pytest.raises(InvalidArgumentError, match="side output"):
        async_map(frame, same, "id long", options=options)

    async def with_session(row: Row) -> list[Row]:
        return [row] if spark is not None else []

    with pytest.raises(FunctionNotSerializableError):
        async_map(frame, with_session, "id long")
