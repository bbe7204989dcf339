"""Sessions and DataFrames that programs are given, recognised and described without pyspark."""

from __future__ import annotations

from typing import Any, Final

from penstock.common.typeinfo.types import Types
from penstock.graph.source_descriptions import ColumnKind, FrameDescription

_TYPES: Final = {
    "string": Types.STRING(),
    "boolean": Types.BOOLEAN(),
    "byte": Types.BYTE(),
    "short": Types.SHORT(),
    "integer": Types.INT(),
    "long": Types.LONG(),
    "float": Types.FLOAT(),
    "double": Types.DOUBLE(),
    "decimal": Types.BIG_DEC(),
    "date": Types.SQL_DATE(),
    "timestamp": Types.SQL_TIMESTAMP(),
    "timestamp_ntz": Types.SQL_TIMESTAMP(),
}
_KINDS: Final = {
    "tinyint": ColumnKind.WHOLE,
    "smallint": ColumnKind.WHOLE,
    "int": ColumnKind.WHOLE,
    "bigint": ColumnKind.WHOLE,
    "float": ColumnKind.REAL,
    "double": ColumnKind.REAL,
    "string": ColumnKind.TEXT,
    "boolean": ColumnKind.BOOLEAN,
    "date": ColumnKind.DATE,
    "timestamp": ColumnKind.INSTANT,
}
"""By the names that say all of a type: `string` is not one with a collation."""


def is_session(value: Any) -> bool:
    """Whether a value is a SparkSession, as far as its methods tell."""
    return hasattr(value, "createDataFrame")


def described_frame(value: Any) -> FrameDescription | None:
    """Return what a program has to know of a DataFrame; None if the value is none, as far as it tells.

    Raises:
        PenstockError: If Spark cannot read it. A classic session says so before; Spark Connect has not looked yet.
    """
    try:
        if not hasattr(value, "isStreaming") or not hasattr(value, "schema"):
            return None
    except Exception as error:
        from penstock.executors.spark.failures import as_penstock_error, is_of_spark

        if not is_of_spark(error):
            raise
        raise as_penstock_error(error, "from_data_frame()") from error
    fields = value.schema.fields
    anything = Types.PICKLED_BYTE_ARRAY()
    return FrameDescription(
        row_type=Types.ROW_NAMED(
            [field.name for field in fields],
            [_TYPES.get(field.dataType.typeName(), anything) for field in fields],
        ),
        kinds={
            field.name: _KINDS.get(field.dataType.simpleString(), ColumnKind.OTHER)
            for field in fields
        },
        is_bounded=not value.isStreaming,
    )
