from __future__ import annotations

import datetime
import io
import time
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from penstock.common import Row, Types
from penstock.datastream.formats.column_reader import ColumnReader
from penstock.datastream.formats.orc import OrcColumnarRowInputFormat
from penstock.datastream.formats.parquet import ParquetColumnarRowInputFormat
from penstock.errors import InvalidArgumentError, SourceNotReadableError

NOON = datetime.datetime(2024, 5, 17, 12, tzinfo=datetime.UTC)


@pytest.fixture(params=[ParquetColumnarRowInputFormat, OrcColumnarRowInputFormat])
def kind(request: pytest.FixtureRequest) -> type[Any]:
    kind: type[Any] = request.param
    return kind


def read(reader: ColumnReader, table: pa.Table) -> list[list[Any]]:
    file = io.BytesIO()
    (pq if reader.kind == "Parquet" else orc).write_table(table, file)
    file.seek(0)
    return [block.values for block in reader.read(file, "a file")]


def rows_of(kind: type[Any], of_a: Any, **options: Any) -> ColumnReader:
    reader: ColumnReader = kind(Types.ROW_NAMED(["a", "b"], [of_a, Types.STRING()]), **options)
    return reader


def test_rows_come_in_batches_and_have_the_columns_that_are_wanted(kind: type[Any]) -> None:
    table = pa.table({"c": [0, 0, 0], "b": ["x", None, "y"], "a": [1, 2, None]})

    assert read(rows_of(kind, Types.LONG(), batch_size=2), table) == [
        [Row(a=1, b="x"), Row(a=2, b=None)],
        [Row(a=None, b="y")],
    ]


def test_a_column_that_is_not_there_is_none(kind: type[Any]) -> None:
    assert read(rows_of(kind, Types.LONG()), pa.table({"a": [1]})) == [[Row(a=1, b=None)]]
    assert read(rows_of(kind, Types.LONG()), pa.table({"c": [1]})) == [[Row(a=None, b=None)]]
    assert read(rows_of(kind, Types.LONG()), pa.table({"a": pa.array([], pa.int64())})) == []


def test_names_may_differ_in_case(kind: type[Any]) -> None:
    table = pa.table({"A": [1], "B": ["x"]})

    assert read(rows_of(kind, Types.LONG()), table) == [[Row(a=None, b=None)]]
    in_any_case = rows_of(kind, Types.LONG(), is_case_sensitive=False)
    assert read(in_any_case, table) == [[Row(a=1, b="x")]]
    assert read(in_any_case, pa.table({"A": [1], "a": [2], "B": ["x"]})) == [[Row(a=2, b="x")]]


def test_values_are_of_the_types_that_are_wanted(kind: type[Any]) -> None:
    table = pa.table({"a": pa.array([[1], None], pa.list_(pa.int8())), "b": ["x", "y"]})

    found = read(rows_of(kind, Types.LIST(Types.LONG())), table)

    assert found == [[Row(a=[1], b="x"), Row(a=None, b="y")]]


@pytest.mark.parametrize(("is_utc", "hour"), [(True, 12), (False, 14)])
def test_points_in_time_become_timestamps(
    monkeypatch: pytest.MonkeyPatch, kind: type[Any], hour: int, *, is_utc: bool
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    moments = pa.array([NOON, None], pa.timestamp("ms", "America/New_York"))
    plain = pa.array([NOON.replace(tzinfo=None), None], pa.timestamp("us"))
    reader = rows_of(kind, Types.SQL_TIMESTAMP(), is_utc_timestamp=is_utc)

    found = [
        [row.a for row in read(reader, pa.table({"a": column}))[0]] for column in (moments, plain)
    ]
    monkeypatch.undo()
    time.tzset()

    local = NOON.replace(tzinfo=None)
    assert found == [[local.replace(hour=hour), None], [local, None]]


def test_the_columns_may_be_those_of_arrow(kind: type[Any]) -> None:
    reader = kind(pa.schema({"b": pa.string()}))

    assert read(reader, pa.table({"a": [1], "b": ["x"]})) == [[Row(b="x")]]
    assert reader.produced_type == Types.ROW_NAMED(["b"], [Types.STRING()])


def test_what_cannot_be_read_so_is_told(kind: type[Any]) -> None:
    with pytest.raises(SourceNotReadableError, match=r"The file 'a file' cannot be read"):
        read(rows_of(kind, Types.LONG()), pa.table({"a": ["no number"]}))
    with pytest.raises(
        SourceNotReadableError, match=r"The file 'b' cannot be read as (Parquet|ORC)"
    ):
        list(rows_of(kind, Types.LONG()).read(io.BytesIO(b"no such file"), "b"))


def test_a_batch_has_rows(kind: type[Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="0 rows are no batch"):
        rows_of(kind, Types.LONG(), batch_size=0)
