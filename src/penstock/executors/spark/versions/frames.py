"""What is done with DataFrames in one way by newer versions of Spark, and in another by older ones."""

from __future__ import annotations

import json
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from penstock.executors.spark.versions.features import Feature, has
from penstock.executors.spark.versions.spark_hash import numbers_for

_NO_VARIABLE: Final = "$\ue000{"


def place(partitions: int, partition: str) -> Column:
    """Return the column by which `partitioned` moves rows.

    Args:
        partitions: How many partitions there are.
        partition: The SQL expression, an `int`, of the number of a row's partition.
    """
    if has(Feature.PARTITIONS_BY_ID):
        return sf.expr(partition)
    numbers = ", ".join(map(str, numbers_for(partitions)))
    return sf.expr(f"element_at(array({numbers}), ({partition}) + 1)")


def partitioned(frame: DataFrame, partitions: int, place: Column) -> DataFrame:
    """Return a frame each of whose rows lies in the partition that it names by its `place`."""
    if has(Feature.PARTITIONS_BY_ID):
        return frame.repartitionById(partitions, place)
    return frame.repartition(partitions, place)


def collected(frame: DataFrame, schema: pa.Schema) -> list[pa.RecordBatch]:
    """Run a frame, and return its rows.

    Args:
        frame: The frame.
        schema: Its columns.
    """
    if has(Feature.ARROW_RESULTS):
        batches: list[pa.RecordBatch] = frame.toArrow().to_batches()
        return batches
    rows = frame.collect()
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    pairs = zip(columns, schema, strict=True)
    arrays = [pa.array(column, field.type) for column, field in pairs]
    return [pa.RecordBatch.from_arrays(arrays, schema=schema)]


def schema_of(text: str) -> StructType:
    """Return the schema that a text such as 'item string, pieces int' describes."""
    # A server of Spark Connect would put the value of a variable in the place of it.
    text = text.replace("${", _NO_VARIABLE)
    if has(Feature.SCHEMAS_FROM_TEXT):
        parsed = StructType.fromDDL(text)
    else:
        from pyspark.sql.types import _parse_datatype_string

        parsed = _parse_datatype_string(text)
    assert isinstance(parsed, StructType)
    found = json.dumps(parsed.jsonValue(), ensure_ascii=False)
    return StructType.fromJson(json.loads(found.replace(_NO_VARIABLE, "${")))


def arrow_schema(schema: StructType, zone: str) -> pa.Schema:
    """Return a schema as Arrow's.

    Args:
        schema: The schema.
        zone: The time zone of the points in time in it.
    """
    if has(Feature.ARROW_TIME_ZONES):
        return to_arrow_schema(schema, timezone=zone)
    return pa.schema([_in_zone(field, zone) for field in to_arrow_schema(schema)])


def _in_zone(field: pa.Field, zone: str) -> pa.Field:
    return field.with_type(_type_in_zone(field.type, zone))


def _type_in_zone(kind: pa.DataType, zone: str) -> pa.DataType:
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, zone)
    if pa.types.is_struct(kind):
        return pa.struct([_in_zone(kind.field(place), zone) for place in range(kind.num_fields)])
    if pa.types.is_map(kind):
        return pa.map_(_in_zone(kind.key_field, zone), _in_zone(kind.item_field, zone))
    if pa.types.is_list(kind):
        return pa.list_(_in_zone(kind.value_field, zone))
    return kind
