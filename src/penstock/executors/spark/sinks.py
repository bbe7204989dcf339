"""Publishes what sinks prepared, in any of Spark's formats."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from penstock.executors.driver.publishing import PublishedSink
from penstock.executors.spark.page.description import describe
from penstock.executors.spark.page.names import page_name
from penstock.executors.spark.session import time_zone_of
from penstock.executors.spark.versions.frames import arrow_schema, schema_of
from penstock.graph.job_graph import JobGraph
from penstock.runtime.operators.prepared_sink import PreparedSinkOperator
from penstock.runtime.sinks import CommitContext, Committer


def spark_schema(schema: Any) -> StructType:
    """Return a schema as Spark's own: a DDL string, a StructType, or penstock type information."""
    if isinstance(schema, StructType):
        return schema
    if isinstance(schema, str):
        return schema_of(schema)
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema

    from penstock.common.typeinfo.arrow_types import to_arrow_schema as arrow_schema_of

    return from_arrow_schema(schema if isinstance(schema, pa.Schema) else arrow_schema_of(schema))


def spark_sinks(graph: JobGraph, spark: SparkSession, job: str) -> dict[str, PublishedSink]:
    """Return the sinks of a job that Spark writes to, by their operators' ids.

    Their operators get their Arrow schemas instead of them; workers need no more.
    """
    found: dict[str, PublishedSink] = {}
    for node in graph.stream_graph.nodes.values():
        operator = node.operator
        if isinstance(operator, PreparedSinkOperator):
            found[graph.operator_ids[node.id]] = PublishedSink(
                node.name, SparkCommitter(spark, operator.sink, job), operator.delivers_to
            )
            operator.arrow_schema = arrow_schema(spark_schema(operator.schema), time_zone_of(spark))
            operator.sink = None
    return found


class SparkCommitter(Committer):
    """Writes prepared files to where a sink belongs.

    At least once: where the driver dies in Spark's write or after it, the next start writes the epoch's
    rows again.

    Args:
        spark: The session.
        sink: The sink.
        job: The name of the job.
    """

    def __init__(self, spark: SparkSession, sink: Any, job: str = "penstock") -> None:
        self._spark = spark
        self._sink = sink
        self._job = page_name(job)

    def commit(self, committables: list[str], context: CommitContext) -> None:
        sink = self._sink
        describe(self._spark, self._job, f"epoch {context.epoch}", page_name(context.name))
        frame = self._spark.read.schema(spark_schema(sink.schema)).parquet(
            *map(context.url, committables)
        )
        writer = frame.write.mode(sink.mode).options(**self._options(context))
        if sink.format is not None:
            writer = writer.format(sink.format)
        if sink.table is not None:
            writer.saveAsTable(sink.table)
        else:
            writer.save(sink.path)

    def _options(self, context: CommitContext) -> dict[str, str]:
        found = dict(self._sink.options or {})
        if self._sink.format == "delta":
            found.setdefault("txnAppId", f"{context.lineage}-{context.sink_id}")
            found.setdefault("txnVersion", str(context.epoch))
        return found
