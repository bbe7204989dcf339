"""Asynchronous calls for the rows of a DataFrame, without a program around them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from penstock.common.rows.data_frame_row import row_factory
from penstock.errors import InvalidArgumentError
from penstock.executors.spark.connect import is_connect
from penstock.executors.spark.frames.open_functions import open_function
from penstock.executors.spark.hosted.code import with_its_code
from penstock.executors.spark.page.names import named, page_name
from penstock.executors.spark.session import time_zone_of
from penstock.executors.spark.shipping import ship_code
from penstock.executors.spark.sinks import spark_schema
from penstock.executors.spark.versions.frames import arrow_schema
from penstock.graph.unpicklable import pickle_by_value
from penstock.runtime.async_io.async_function import AnyAsyncFunction, check_async_function
from penstock.runtime.async_io.async_wait import AsyncWaitOperator
from penstock.runtime.async_io.function_life import AsyncSettings
from penstock.runtime.async_io.options import (
    AsyncOptions,
    FailureKind,
    TimeSpan,
    at_least,
    checked_options,
    milliseconds,
)
from penstock.runtime.async_io.retry_strategies import AsyncRetryStrategy, checked_strategy
from penstock.runtime.exchange.arrow_columns import column_values
from penstock.runtime.exchange.arrow_rows import results_to_table
from penstock.runtime.exchange.elements import BLOCK_SIZE, Block

_NAME: Final = "async_map"
_ADVICE: Final = " The function returns a list of rows, as it may have several for one."


def async_map(
    data_frame: DataFrame,
    function: AnyAsyncFunction,
    schema: str | StructType,
    *,
    ordered: bool = True,
    capacity: int = 100,
    timeout: TimeSpan = "1 min",
    retry: AsyncRetryStrategy[Any] | None = None,
    options: AsyncOptions | None = None,
) -> DataFrame:
    """Call an asynchronous function for each row of a DataFrame, many at once.

    The DataFrame form of `AsyncDataStream`, with the same functions, for those who want this and
    nothing else. It takes a batch or a streaming DataFrame, and fits `DataFrame.transform`:

        prices = orders.transform(async_map, ask_price, "item string, price double")

    The function gets a row, whose fields it reads as `row.item`, and returns a list of results: rows,
    tuples (by position) or dicts (by name). In each partition results are in the order of their rows, or
    come as they come. As with any function that Spark runs, a failed task calls it again; a micro-batch
    of a streaming query ends when all its calls have.

    Clients are best made in the `open` of an `AsyncFunction`, which runs once in each Python worker of
    Spark, not in each task. They live as long as the worker; `close` runs only where many other
    functions are used after this one.

    **Capacity** counts for each task that runs: on a cluster of 10 workers with 4 cores each, the default
    means up to 4,000 calls at once. `AsyncOptions.process_capacity` and `rate_limit` count for each
    Python worker, of which there are as many.

    Args:
        data_frame: The DataFrame.
        function: The function: see `AsyncDataStream`.
        schema: The schema of the results: a DDL string or a `StructType`.
        ordered: Whether results are in the order of their rows. Default: True.
        capacity: The most rows under way in each task. Default: 100.
        timeout: How long a call may take, all attempts together; 0 for no limit. Default: 1 minute.
        retry: How often a call is tried, and after which time. Default: once.
        options: All else, such as `AsyncOptions(on_failure=OnFailure.drop())`. Default: none of it.

    Returns:
        The results. As of any DataFrame, nothing runs before they are asked for.

    Raises:
        InvalidFunctionError: If the function cannot be called so.
        InvalidArgumentError: If the capacity is below 1 or the timeout below 0 (with `retry`: below 1),
            or failed calls are to go to a side output: a DataFrame has none.
        FunctionNotSerializableError: If the function cannot be pickled.
    """
    if not isinstance(data_frame, DataFrame):
        raise InvalidArgumentError(
            f"{_NAME}() was given {data_frame!r}, which is no DataFrame.",
            hint="For a stream of penstock, see AsyncDataStream.",
        )
    at_least(f"The capacity of {_NAME}()", capacity)
    settings = AsyncSettings(
        ordered=ordered,
        timeout=milliseconds(f"The timeout of {_NAME}()", timeout, 0 if retry is None else 1),
        capacity=capacity,
        retry=None if retry is None else checked_strategy(retry),
        options=_without_side_output(checked_options(options, capacity)),
    )
    operator = AsyncWaitOperator(check_async_function(function, f"{_NAME}()"), settings)
    prototype = pickle_by_value(operator, f"The function of {_NAME}()")
    spark = data_frame.sparkSession
    ship_code(spark)
    struct = spark_schema(schema)
    columns = arrow_schema(struct, time_zone_of(spark))
    call = _rows_caller(uuid.uuid4().hex, prototype, columns.serialize().to_pybytes())
    if is_connect(spark) and data_frame.isStreaming:
        call = with_its_code(call)
    name = page_name(f"{_NAME}({getattr(function, '__name__', type(function).__name__)})")
    return data_frame.mapInArrow(named(call, name), struct)


def _without_side_output(options: AsyncOptions) -> AsyncOptions:
    if options.on_failure.kind is FailureKind.SIDE_OUTPUT:
        raise InvalidArgumentError(
            f"{_NAME}() cannot send failed calls to a side output: a DataFrame has none.",
            hint="Emit other results with OnFailure.fallback(lambda row, error: ...), or use "
            "AsyncDataStream.",
        )
    return options


def _rows_caller(
    map_id: str, prototype: bytes, arrow_schema: bytes
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def call_for_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = pa.ipc.read_schema(pa.py_buffer(arrow_schema))
        with open_function(map_id, _NAME, prototype) as function:
            for results in function.run(_blocks(batches)):
                table = results_to_table(results, schema, f"{_NAME}()", _ADVICE)
                yield from table.to_batches()

    return call_for_rows


def _blocks(batches: Iterable[pa.RecordBatch]) -> Iterator[Block]:
    for batch in batches:
        rows = row_factory(batch.schema.names).rows(map(column_values, batch.columns))
        for start in range(0, len(rows), BLOCK_SIZE):
            yield Block(rows[start : start + BLOCK_SIZE])
