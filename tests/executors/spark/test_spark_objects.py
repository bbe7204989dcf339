"""DataFrames are described without pyspark, so these tests need none."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from penstock.common import Types
from penstock.executors.spark.spark_objects import described_frame, is_session
from penstock.graph.source_descriptions import ColumnKind


def frame(*types: tuple[str, str], is_streaming: bool = False) -> Any:
    """Return as much of a DataFrame as is asked for, by the two names of each column's type."""
    fields = [
        SimpleNamespace(
            name=f"c{number}",
            dataType=SimpleNamespace(
                typeName=lambda name=name: name, simpleString=lambda simple=simple: simple
            ),
        )
        for number, (name, simple) in enumerate(types)
    ]
    return SimpleNamespace(isStreaming=is_streaming, schema=SimpleNamespace(fields=fields))


@pytest.mark.parametrize(
    ("names", "expected", "kind"),
    [
        (("byte", "tinyint"), Types.BYTE(), ColumnKind.WHOLE),
        (("short", "smallint"), Types.SHORT(), ColumnKind.WHOLE),
        (("integer", "int"), Types.INT(), ColumnKind.WHOLE),
        (("long", "bigint"), Types.LONG(), ColumnKind.WHOLE),
        (("float", "float"), Types.FLOAT(), ColumnKind.REAL),
        (("double", "double"), Types.DOUBLE(), ColumnKind.REAL),
        (("decimal", "decimal(10,2)"), Types.BIG_DEC(), ColumnKind.OTHER),
        (("string", "string"), Types.STRING(), ColumnKind.TEXT),
        (("string", "string collate UTF8_LCASE"), Types.STRING(), ColumnKind.OTHER),
        (("boolean", "boolean"), Types.BOOLEAN(), ColumnKind.BOOLEAN),
        (("date", "date"), Types.SQL_DATE(), ColumnKind.DATE),
        (("timestamp", "timestamp"), Types.SQL_TIMESTAMP(), ColumnKind.INSTANT),
        (("timestamp_ntz", "timestamp_ntz"), Types.SQL_TIMESTAMP(), ColumnKind.OTHER),
        (("array", "array<int>"), Types.PICKLED_BYTE_ARRAY(), ColumnKind.OTHER),
    ],
)
def test_a_column_is_described(names: tuple[str, str], expected: Any, kind: ColumnKind) -> None:
    found = described_frame(frame(names))
    assert found is not None
    assert found.row_type == Types.ROW_NAMED(["c0"], [expected])
    assert found.kinds == {"c0": kind}


@pytest.mark.parametrize("is_streaming", [True, False])
def test_a_frame_ends_unless_it_streams(*, is_streaming: bool) -> None:
    found = described_frame(frame(is_streaming=is_streaming))
    assert found is not None
    assert found.is_bounded is not is_streaming


@pytest.mark.parametrize(
    "value", [None, [1], SimpleNamespace(isStreaming=True), SimpleNamespace(schema=None)]
)
def test_what_is_no_frame_is_told(value: Any) -> None:
    assert described_frame(value) is None


def test_a_session_makes_frames() -> None:
    assert is_session(SimpleNamespace(createDataFrame=None))
    assert not is_session("local[2]")
