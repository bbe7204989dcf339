"""Publishes what sinks prepared, in any of Spark's formats."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from penstock.graph.stream_graph import StreamGraph
from penstock.runtime.operators.prepared_sink import PreparedSinkOperator


def spark_schema(schema: Any) -> StructType:
    """Return a schema as Spark's own: a DDL string, a StructType, or penstock type information."""
    if isinstance(schema, StructType):
        return schema
    if isinstance(schema, str):
        parsed = StructType.fromDDL(schema)
        assert isinstance(parsed, StructType)
        return parsed
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema

    from penstock.common.arrow_types import to_arrow_schema as arrow_schema_of

    return from_arrow_schema(schema if isinstance(schema, pa.Schema) else arrow_schema_of(schema))


def resolve_sinks(graph: StreamGraph, time_zone: str) -> dict[str, Any]:
    """Give the sinks of a program their Arrow schemas, and return what they publish to, by id."""
    sinks = {}
    for node in graph.nodes.values():
        operator = node.operator
        if isinstance(operator, PreparedSinkOperator):
            operator.arrow_schema = to_arrow_schema(
                spark_schema(operator.schema), timezone=time_zone
            )
            sinks[operator.sink_id] = operator.sink
            operator.sink = None
    return sinks


class SparkPublisher:
    """Writes prepared files to where their sinks belong.

    At least once: where the driver dies between the write and Spark's own commit, the next start
    writes the epoch's rows again.

    Args:
        spark: The session.
        sinks: What each sink writes to, by its id.
    """

    def __init__(self, spark: SparkSession, sinks: dict[str, Any]) -> None:
        self._spark = spark
        self._sinks = sinks

    def __call__(self, prepared: list[tuple[str, str]]) -> None:
        paths: dict[str, list[str]] = defaultdict(list)
        for sink_id, path in prepared:
            paths[sink_id].append(path)
        for sink_id, files in paths.items():
            sink = self._sinks[sink_id]
            schema = spark_schema(sink.schema)
            frame = self._spark.read.schema(schema).parquet(*files)
            writer = frame.write.mode(sink.mode).options(**(sink.options or {}))
            if sink.format is not None:
                writer = writer.format(sink.format)
            if sink.table is not None:
                writer.saveAsTable(sink.table)
            else:
                writer.save(sink.path)
