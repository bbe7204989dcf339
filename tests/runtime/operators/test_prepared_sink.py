from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.runtime.programs import Harness, operator_id

from penstock.common.types import Row
from penstock.errors import InvalidArgumentError
from penstock.runtime.operators.prepared_sink import PreparedSinkOperator
from penstock.runtime.sinks import committable_from_plain

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


def prepared(tmp_path: Path, schema: pa.Schema = SCHEMA, **options: Any) -> Harness:
    operator = PreparedSinkOperator(None)
    operator.arrow_schema = schema
    harness = Harness(operator, name="Sink: orders", **options)
    harness.begin_epoch(3, location=str(tmp_path))
    return harness


def files(harness: Harness, folder: Path) -> list[str]:
    sink_id = operator_id("Sink: orders")
    assert all((kind, content[0]) == ("prepared", sink_id) for kind, content in harness.told)
    return [str(folder / committable_from_plain(content[1])) for _, content in harness.told]


def rows(harness: Harness, folder: Path) -> list[tuple[Any, ...]]:
    return [
        tuple(row.values())
        for path in files(harness, folder)
        for row in pq.read_table(path).to_pylist()
    ]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    blocks=st.lists(st.lists(st.integers(0, 99), max_size=7), max_size=4), size=st.integers(1, 5)
)
def test_the_files_hold_all_rows(tmp_path: Path, blocks: list[list[int]], size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PreparedSinkOperator, "rows_per_file", size)
        harness = prepared(tmp_path)
        for block in blocks:
            harness.process([(number, str(number)) for number in block])
        harness.operator.flush()

    assert rows(harness, tmp_path) == [
        (number, str(number)) for block in blocks for number in block
    ]
    found = files(harness, tmp_path)
    assert len(set(found)) == len(found)
    largest = max((pq.read_metadata(path).num_rows for path in found), default=0)
    assert largest < size + max(map(len, blocks), default=1)


def test_names_files_after_epoch_driver_subtask_and_sink(tmp_path: Path) -> None:
    harness = prepared(tmp_path, subtask=4)
    harness.process([(1, "a")])
    harness.operator.flush()

    [path] = map(Path, files(harness, tmp_path))
    assert path.parent == tmp_path / "prepared"
    assert path.name.startswith("00000003-00000001-")
    assert path.name.endswith(f"-{operator_id('Sink: orders')}-4-0.parquet")
    assert pq.read_schema(path) == SCHEMA


def test_an_epoch_without_records_prepares_no_file(tmp_path: Path) -> None:
    harness = prepared(tmp_path)
    harness.operator.flush()

    assert harness.told == []
    assert list(tmp_path.iterdir()) == []


def test_an_epoch_that_failed_leaves_no_rows_for_the_next(tmp_path: Path) -> None:
    harness = prepared(tmp_path)
    harness.process([(1, "left over")])
    harness.begin_epoch(3, attempt=1, location=str(tmp_path))
    harness.process([(2, "new")])
    harness.operator.flush()

    assert rows(harness, tmp_path) == [(2, "new")]
    assert len(files(harness, tmp_path)) == 1


def test_two_attempts_of_an_epoch_write_files_of_two_names(tmp_path: Path) -> None:
    harness = prepared(tmp_path)
    harness.process([(1, "a")])
    harness.operator.flush()
    harness.begin_epoch(3, attempt=1, location=str(tmp_path))
    harness.process([(1, "a")])
    harness.operator.flush()

    assert len(set(files(harness, tmp_path))) == 2


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(("no number", "a"), id="another type"),
        pytest.param((1,), id="too few fields"),
        pytest.param((1, "a", 2), id="too many fields"),
        pytest.param({"id": 1}, id="a field is missing"),
        pytest.param((2**70, "a"), id="too large"),
        pytest.param(Row(id=1, nom="a"), id="another name"),
        pytest.param(5, id="no row"),
    ],
)
def test_rows_that_are_not_of_the_schema_name_sink_and_columns(tmp_path: Path, row: Any) -> None:
    harness = prepared(tmp_path)
    harness.process([(1, "a"), row] if isinstance(row, tuple) else [row])

    with pytest.raises(InvalidArgumentError) as raised:
        harness.operator.flush()

    assert raised.value.message.startswith(
        "Sink 'Sink: orders' got rows that are not of its schema: "
    )
    assert "id: int64" in str(raised.value.hint)
    assert "name: string" in str(raised.value.hint)
