"""The results of a bounded program as a DataFrame, which runs it when Spark runs that."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from penstock.errors import InvalidArgumentError
from penstock.executors.driver.planning import Planning
from penstock.executors.spark.frames.buffer_rows import from_batches
from penstock.executors.spark.page.names import named
from penstock.executors.spark.prepared_job import PreparedJob
from penstock.executors.spark.session import time_zone_of
from penstock.executors.spark.sinks import spark_schema
from penstock.executors.spark.versions.frames import arrow_schema
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.arrow_rows import results_to_table


def results_frame(job: PreparedJob, collect_id: str, schema: Any) -> DataFrame:
    """Return the results of a bounded program as a DataFrame.

    Args:
        job: The program.
        collect_id: The stream whose results are wanted.
        schema: Their columns.

    Raises:
        InvalidArgumentError: If the program is not bounded.
    """
    if job.compiled.has_epochs:
        raise InvalidArgumentError(
            "to_data_frame needs a bounded stream, but a source of this one does not end.",
            hint="Write a streaming result with a sink, or read the source as a batch.",
        )
    struct = spark_schema(schema)
    frames = job.frames()
    with closing(Planning(job.compiled.planned, job.compiled.program)) as planning:
        plans = planning.plans({})
    epoch = Epoch(
        job_id=job.job_id,
        finishing=plans.over | job.compiled.bounded.keys(),
        planned=plans.pieces,
        is_last=True,
    )
    messages = frames.frame(epoch, frames.rows(job.sources))
    columns = arrow_schema(struct, time_zone_of(job.spark))
    results = _results(collect_id, columns.serialize().to_pybytes())
    return messages.mapInArrow(named(results, "to_data_frame"), struct)


def _results(
    collect_id: str, arrow_schema: bytes
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def read_results(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = pa.ipc.read_schema(pa.py_buffer(arrow_schema))
        for buffer in from_batches(batches):
            kind, _, _, content = pickle.loads(buffer.payload)
            if kind == "error":
                raise content
            if kind == "collect" and content[0] == collect_id:
                table = results_to_table(content[1], schema, "to_data_frame()")
                yield from table.to_batches()

    return read_results
