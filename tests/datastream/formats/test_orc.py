from __future__ import annotations

import io
import pickle
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from penstock.common import BulkWriterFactory, Configuration, Row, Types
from penstock.datastream.formats.orc import OrcBulkWriters
from penstock.errors import InvalidArgumentError

ROWS = Types.ROW_NAMED(["id", "names"], [Types.LONG(), Types.LIST(Types.STRING())])


def written(factory: BulkWriterFactory, rows: list[Any]) -> orc.ORCFile:
    file = io.BytesIO()
    writer = pickle.loads(pickle.dumps(factory)).create(file)
    for row in rows:
        writer.add_element(row)
    writer.finish()
    return orc.ORCFile(file)


def test_rows_are_taken_by_name_or_by_position() -> None:
    rows = [(1, ["a"]), Row(f0=1, f1=["a"]), {"names": ["a"], "id": 1}, Row(names=["a"], id=1)]
    factory = OrcBulkWriters.for_row_type(ROWS)
    assert written(factory, rows * 5_000).read().to_pylist() == [{"id": 1, "names": ["a"]}] * 20_000
    assert factory.get_row_type() == ROWS


@pytest.mark.parametrize(
    ("properties", "hadoop", "expected"),
    [
        (None, None, "ZLIB"),
        ("SNAPPY", None, "SNAPPY"),
        (None, "zstd", "ZSTD"),
        ("NONE", "ZSTD", "UNCOMPRESSED"),
    ],
)
def test_settings_choose_the_compression(
    properties: str | None, hadoop: str | None, expected: str
) -> None:
    settings = [
        None if value is None else Configuration().set_string("orc.compress", value)
        for value in (properties, hadoop)
    ]
    found = written(OrcBulkWriters.for_row_type(ROWS, *settings), [(1, None)])
    assert found.compression == expected


def test_columns_may_be_arrows() -> None:
    factory = OrcBulkWriters.for_row_type(pa.schema([("id", pa.int32())]))
    assert written(factory, [5, (6,)]).read().to_pylist() == [{"id": 5}, {"id": 6}]


def test_a_mistake_is_named() -> None:
    with pytest.raises(InvalidArgumentError, match="'id' is no row type"):
        OrcBulkWriters.for_row_type("id")
    with pytest.raises(InvalidArgumentError, match=r"'fast' is no value for 'orc.compress'"):
        OrcBulkWriters.for_row_type(ROWS, Configuration().set_string("orc.compress", "fast"))
    with pytest.raises(InvalidArgumentError, match="The writer of an ORC file got rows"):
        written(OrcBulkWriters.for_row_type(ROWS), [("a", None)])
